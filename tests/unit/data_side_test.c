/* data_side_test.c - what passes between a client's channels and a backend, and what waits */
#include "tests/unit/backend_leg_world.h"

#include "services/transceiver/core/session/data_side.h"
#include "tests/fake_sctp.h"

#define MESSAGE_BYTES_MAX 65536

struct call {
    struct world w;
    struct data_channels *channels;
    struct sideband_outbox *heard; /* by side-bands */
    size_t heard_cursor;
    struct sidebands sidebands;
    struct data_side side;
};

static void init_side(struct call *c)
{
    const struct data_side_config config = {
        .channels = c->channels,
        .backend = &c->w.leg,
        .sidebands = &c->sidebands,
        .message_bytes_max = MESSAGE_BYTES_MAX,
    };
    c->heard = sideband_outbox_create(1 << 20);
    sidebands_init(&c->sidebands, "rtc_x", c->heard);
    data_side_init(&c->side, &config);
}

/* A call whose backend is in this state, and whose client has connected SCTP. */
static void open_call(struct call *c, enum backend_leg_state state)
{
    *c = (struct call){0};
    enter(&c->w, state);
    const struct data_channels_config config = {.event_label = "oai-events",
                                                .packet_bytes_max = 1163,
                                                .random = random_seeded(&c->w.random)};
    c->channels = data_channels_create(&config, c->w.now_us);
    data_channels_start(c->channels, c->w.now_us);
    init_side(c);
    outbox_frames_end(&c->w.frames);
}

static void close_call(struct call *c)
{
    data_side_deinit(&c->side);
    sideband_outbox_destroy(c->heard);
    data_channels_destroy(c->channels);
    outbox_clear(c->w.outbox);
    c->w.frames.cursor = 0;
    close_world(&c->w);
}

static enum data_side_event run(struct call *c)
{
    data_channels_tick(c->channels, c->w.now_us);
    return data_side_run(&c->side, c->w.now_us);
}

static void open_channel(struct call *c, uint16_t stream, const char *label)
{
    uint8_t bytes[FAKE_SCTP_TEXT];
    const struct dcep_open open = {.label = bytes_view_of_text(label)};
    fake_sctp_message(stream, DCEP_PPID, bytes, dcep_write_open(&open, bytes, sizeof(bytes)));
    assert_int_equal(run(c), DATA_SIDE_NOTHING);
}

static void say(struct call *c, const struct backend_message *message)
{
    data_side_take_backend_message(&c->side, message, c->w.now_us);
}

static void say_event(struct call *c, const void *text, size_t len)
{
    say(c, &(struct backend_message){.is_event = true, .data = bytes_view_of(text, len)});
}

static void assert_sent(size_t index, const char *text)
{
    assert_true(index < fake_sctp.sent_count);
    assert_true(bytes_equal(bytes_view_of(fake_sctp.sent[index].text, fake_sctp.sent[index].len),
                            bytes_view_of_text(text)));
}

static void expect_event(struct call *c, const char *text)
{
    const struct backend_frame frame = outbox_frames_expect(&c->w.frames, BACKEND_EVENT);
    assert_true(bytes_equal(frame.payload, bytes_view_of_text(text)));
}

/* --- from the client -------------------------------------------------------------------------- */

static void events_go_to_the_backend_in_order(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    fake_sctp_message(1, DCEP_PPID_TEXT, "{1}", 3);
    fake_sctp_message(1, DCEP_PPID_TEXT, "{2}", 3);
    assert_int_equal(run(&c), DATA_SIDE_NOTHING);
    expect_event(&c, "{1}");
    expect_event(&c, "{2}");
    outbox_frames_end(&c.w.frames);
    assert_int_equal(c.side.stats.events_in, 2);
    close_call(&c);
}

static void what_the_client_says_waits_until_a_backend_listens(void **state)
{
    static const enum backend_leg_state before[] = {STARTING, AWAY, RESUMING};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        struct call c;
        open_call(&c, before[i]);
        open_channel(&c, 1, "oai-events");
        assert_int_equal(fake_sctp.sent_count, 1); /* the channel opens all the same */
        fake_sctp_message(1, DCEP_PPID_TEXT, "{}", 2);
        (void)run(&c);
        outbox_frames_end(&c.w.frames);
        assert_true(data_side_next_timeout(&c.side) == TIME_NEVER);
        if (before[i] == AWAY) {
            reconnect(&c.w, true);
            (void)expect_resume(&c.w);
        }
        (void)hear(&c.w, BACKEND_SESSION_ACCEPT, "{}");
        (void)run(&c);
        expect_event(&c, "{}");
        close_call(&c);
    }
}

static void what_the_client_says_waits_for_room(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    outbox_set_message_room(c.w.outbox, 1);
    fake_sctp_message(1, DCEP_PPID_TEXT, "{}", 2);
    (void)run(&c);
    outbox_frames_end(&c.w.frames);
    const uint64_t again_us = data_side_next_timeout(&c.side);
    assert_true(again_us > c.w.now_us && again_us <= c.w.now_us + 10000);
    outbox_set_message_room(c.w.outbox, 100);
    c.w.now_us = again_us;
    (void)run(&c);
    expect_event(&c, "{}");
    assert_true(data_side_next_timeout(&c.side) == TIME_NEVER);
    close_call(&c);
}

static void other_channels_go_to_the_backend_by_label(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 5, "chat");
    fake_sctp_message(5, DCEP_PPID_BINARY, "\x00\x01", 2);
    (void)run(&c);
    struct backend_frame frame = outbox_frames_expect(&c.w.frames, BACKEND_CHANNEL_DATA);
    outbox_frames_assert_holds(&frame,
                               "\"channel\":5,\"label\":\"chat\",\"binary\":true,\"ordered\":true");
    frame = outbox_frames_expect(&c.w.frames, BACKEND_CHANNEL_DATA);
    assert_int_equal(frame.payload.len, 2);
    assert_true(frame.flags & BACKEND_FLAG_LAST);
    close_call(&c);
}

static void a_client_that_closes_its_events_or_sctp_ends_it(void **state)
{
    static const enum sctp_event_kind kind[] = {SCTP_EVENT_STREAM_RESET_BY_PEER, SCTP_EVENT_CLOSED,
                                                SCTP_EVENT_FAILED};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kind); i++) {
        struct call c;
        open_call(&c, ACCEPTED);
        open_channel(&c, 1, "oai-events");
        fake_sctp_event(kind[i], 1);
        assert_int_equal(run(&c), DATA_SIDE_CLOSED);
        assert_int_equal(run(&c), DATA_SIDE_NOTHING);
        say_event(&c, "{}", 2);
        assert_int_equal(c.side.stats.dropped_to_client, 1);
        close_call(&c);
    }
}

static void who_leaves_behind_messages_that_wait_is_not_waited_for(void **state)
{
    static const struct {
        enum backend_leg_state state;
        bool has_room;
        enum sctp_event_kind kind;
        uint16_t stream;
        enum data_side_event event;
    } table[] = {
        {AWAY, true, SCTP_EVENT_CLOSED, 0, DATA_SIDE_CLOSED},
        {AWAY, true, SCTP_EVENT_FAILED, 0, DATA_SIDE_CLOSED},
        {AWAY, true, SCTP_EVENT_STREAM_RESET_BY_PEER, 1, DATA_SIDE_CLOSED},
        {AWAY, true, SCTP_EVENT_STREAM_RESET_BY_PEER, 3, DATA_SIDE_NOTHING},
        {STARTING, true, SCTP_EVENT_STREAM_RESET_BY_PEER, 1, DATA_SIDE_CLOSED},
        {ACCEPTED, false, SCTP_EVENT_CLOSED, 0, DATA_SIDE_CLOSED},
        /* It will hear the last words: in some milliseconds, or it breaks. */
        {ACCEPTED, false, SCTP_EVENT_STREAM_RESET_BY_PEER, 1, DATA_SIDE_NOTHING},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct call c;
        open_call(&c, table[i].state);
        open_channel(&c, 1, "oai-events");
        open_channel(&c, 3, "chat");
        outbox_set_message_room(c.w.outbox, table[i].has_room ? 100 : 1);
        fake_sctp_message(1, DCEP_PPID_TEXT, "{1}", 3);
        fake_sctp_message(1, DCEP_PPID_TEXT, "{2}", 3);
        assert_int_equal(run(&c), DATA_SIDE_NOTHING);
        fake_sctp_event(table[i].kind, table[i].stream);
        assert_int_equal(run(&c), table[i].event);
        close_call(&c);
    }
}

static void a_client_that_closes_another_channel_goes_on(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    open_channel(&c, 3, "chat");
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 3);
    assert_int_equal(run(&c), DATA_SIDE_NOTHING);
    close_call(&c);
}

/* --- to the client ---------------------------------------------------------------------------- */

static void events_wait_for_the_channel_and_then_come_in_order(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    say_event(&c, "{1}", 3);
    say_event(&c, "{2}", 3);
    (void)run(&c);
    assert_int_equal(fake_sctp.sent_count, 0);
    open_channel(&c, 1, "oai-events"); /* the ACK is the first */
    say_event(&c, "{3}", 3);
    assert_sent(1, "{1}");
    assert_sent(2, "{2}");
    assert_sent(3, "{3}");
    assert_int_equal(c.side.stats.events_out, 3);
    close_call(&c);
}

static void before_it_opens_the_newest_beyond_a_megabyte_is_dropped(void **state)
{
    static const uint8_t text[MESSAGE_BYTES_MAX];
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    for (int i = 0; i < 17; i++) {
        say_event(&c, text, sizeof(text));
    }
    assert_int_equal(c.side.stats.dropped_to_client, 1);
    open_channel(&c, 1, "oai-events");
    assert_int_equal(fake_sctp.sent_count, 1 + 16);
    assert_int_equal(run(&c), DATA_SIDE_NOTHING);
    close_call(&c);
}

static void no_event_is_longer_than_the_client_takes(void **state)
{
    static const uint8_t text[MESSAGE_BYTES_MAX + 1];
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    say_event(&c, text, sizeof(text));
    assert_int_equal(fake_sctp.sent_count, 1);
    assert_int_equal(c.side.stats.dropped_to_client, 1);
    say_event(&c, text, sizeof(text) - 1);
    assert_int_equal(fake_sctp.sent[1].len, MESSAGE_BYTES_MAX);
    close_call(&c);
}

static void a_client_that_lets_a_megabyte_pile_up_is_too_slow(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    say_event(&c, "{}", 2);
    assert_int_equal(run(&c), DATA_SIDE_NOTHING);
    fake_sctp.send_result = SCTP_SEND_FULL;
    say_event(&c, "{}", 2);
    assert_int_equal(run(&c), DATA_SIDE_SLOW_READER);
    close_call(&c);
}

static void what_waited_for_the_channel_has_its_time(void **state)
{
    static const uint8_t text[MESSAGE_BYTES_MAX];
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    for (int i = 0; i < 15; i++) {
        say_event(&c, text, sizeof(text));
    }
    open_channel(&c, 1, "oai-events");
    fake_sctp.sent_count = 0;
    for (int i = 0; i < 15; i++) {
        assert_true(client_queue_put(&c.side.queue, bytes_view_of(text, sizeof(text))));
    }
    fake_sctp.send_result = SCTP_SEND_FULL;
    say_event(&c, text, sizeof(text)); /* behind the others */
    assert_int_equal(run(&c), DATA_SIDE_NOTHING);
    say_event(&c, text, 1);
    assert_int_equal(run(&c), DATA_SIDE_SLOW_READER);
    close_call(&c);
}

static void channel_data_goes_to_the_channel_it_names(void **state)
{
    static const struct {
        struct backend_channel channel;
        bool is_sent;
    } table[] = {
        {{.channel = 5, .label = "chat"}, true},
        {{.channel = 5, .label = "chat", .is_binary = true}, true},
        {{.channel = 5, .label = "other"}, false},
        {{.channel = 7, .label = "chat"}, false},
        {{.channel = 65536 + 5, .label = "chat"}, false},
        {{.channel = 1, .label = "oai-events"}, false}, /* that is for EVENT */
    };
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    open_channel(&c, 5, "chat");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const size_t before = fake_sctp.sent_count;
        const uint64_t dropped = c.side.stats.dropped_to_client;
        say(&c, &(struct backend_message){.channel = &table[i].channel,
                                          .data = bytes_view_of_text("x")});
        assert_int_equal(fake_sctp.sent_count - before, table[i].is_sent);
        assert_int_equal(c.side.stats.dropped_to_client - dropped, !table[i].is_sent);
        if (table[i].is_sent) {
            assert_int_equal(fake_sctp.sent[before].message.ppid,
                             table[i].channel.is_binary ? DCEP_PPID_BINARY : DCEP_PPID_TEXT);
        }
    }
    close_call(&c);
}

static void a_message_that_is_too_long_is_told_once_a_second(void **state)
{
    struct call c;
    (void)state;
    open_call(&c, ACCEPTED);
    open_channel(&c, 1, "oai-events");
    for (int i = 0; i < 21; i++) {
        fake_sctp_event(SCTP_EVENT_MESSAGE_DROPPED, 1);
        (void)run(&c);
        c.w.now_us += US_PER_S / 10;
    }
    assert_int_equal(fake_sctp.sent_count, 1 + 3);
    fake_sctp.sent[1].text[FAKE_SCTP_TEXT - 1] = '\0';
    assert_non_null(strstr((const char *)fake_sctp.sent[1].text, "{\"type\":\"error\""));
    outbox_frames_end(&c.w.frames); /* the backend hears nothing of it */
    close_call(&c);
}

/* --- side-bands ------------------------------------------------------------------------------- */

static size_t heard(struct call *c)
{
    struct sideband_message m;
    size_t count = 0;
    while (sideband_outbox_next(c->heard, &c->heard_cursor, &m)) {
        count++;
    }
    return count;
}

static void sidebands_hear_what_the_client_hears_and_one_what_is_for_it(void **state)
{
    struct call c;
    struct backend_sideband change;
    (void)state;
    open_call(&c, ACCEPTED);
    assert_int_equal(sidebands_attach(&c.sidebands, 9, US_PER_S, c.w.now_us), SIDEBANDS_ATTACHED);
    assert_true(sidebands_poll_change(&c.sidebands, &change, c.w.now_us));
    say(&c, &(struct backend_message){.is_event = true,
                                      .flags = BACKEND_FLAG_LAST | BACKEND_EVENT_SIDEBAND,
                                      .utterance = 9,
                                      .data = bytes_view_of_text("{}")});
    assert_int_equal(heard(&c), 1);
    assert_int_equal(c.side.queue.count, 0); /* that was not for the client */
    say_event(&c, "{}", 2);
    data_side_say(&c.side, SERVER_ERROR_BACKEND_LOST, c.w.now_us);
    assert_int_equal(heard(&c), 2);
    assert_int_equal(c.side.queue.count, 2);
    close_call(&c);
}

static void without_channels_events_are_for_sidebands_alone(void **state)
{
    struct call c = {0};
    struct backend_sideband change;
    (void)state;
    enter(&c.w, ACCEPTED);
    init_side(&c);
    (void)sidebands_attach(&c.sidebands, 9, US_PER_S, c.w.now_us);
    assert_true(sidebands_poll_change(&c.sidebands, &change, c.w.now_us));
    sidebands_tell_one(&c.sidebands, 9, bytes_view_of_text("{}"));
    say_event(&c, "{}", 2);
    say(&c, &(struct backend_message){.channel = &(struct backend_channel){.label = "chat"},
                                      .data = bytes_view_of_text("x")});
    assert_int_equal(data_side_run(&c.side, c.w.now_us), DATA_SIDE_NOTHING);
    assert_int_equal(heard(&c), 2);
    assert_int_equal(c.side.stats.ignored, 2);
    assert_int_equal(c.side.queue.count, 0);
    assert_int_equal(c.side.stats.dropped_to_client, 0);
    close_call(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_go_to_the_backend_in_order),
        cmocka_unit_test(what_the_client_says_waits_until_a_backend_listens),
        cmocka_unit_test(what_the_client_says_waits_for_room),
        cmocka_unit_test(other_channels_go_to_the_backend_by_label),
        cmocka_unit_test(a_client_that_closes_its_events_or_sctp_ends_it),
        cmocka_unit_test(who_leaves_behind_messages_that_wait_is_not_waited_for),
        cmocka_unit_test(a_client_that_closes_another_channel_goes_on),
        cmocka_unit_test(events_wait_for_the_channel_and_then_come_in_order),
        cmocka_unit_test(before_it_opens_the_newest_beyond_a_megabyte_is_dropped),
        cmocka_unit_test(no_event_is_longer_than_the_client_takes),
        cmocka_unit_test(a_client_that_lets_a_megabyte_pile_up_is_too_slow),
        cmocka_unit_test(what_waited_for_the_channel_has_its_time),
        cmocka_unit_test(channel_data_goes_to_the_channel_it_names),
        cmocka_unit_test(a_message_that_is_too_long_is_told_once_a_second),
        cmocka_unit_test(sidebands_hear_what_the_client_hears_and_one_what_is_for_it),
        cmocka_unit_test(without_channels_events_are_for_sidebands_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
