/* data_channels_test.c - which channels there are, and what passes through them */
#include "tests/unit/data_channels_world.h"

/* --- opening ---------------------------------------------------------------------------------- */

static void an_open_is_acknowledged_in_its_stream(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    assert_int_equal(fake_sctp.sent_count, 1);
    assert_int_equal(fake_sctp.sent[0].message.stream, 1);
    assert_int_equal(fake_sctp.sent[0].message.ppid, DCEP_PPID);
    assert_false(fake_sctp.sent[0].message.is_unordered);
    assert_int_equal(fake_sctp.sent[0].text[0], 0x02);
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    assert_no_event(&w);
    close_world(&w);
}

static void the_first_of_its_label_is_the_event_channel(void **state)
{
    struct world w;
    struct data_message m;
    static const struct {
        uint16_t stream;
        const char *label;
        bool is_event;
    } table[] = {{8, "chat", false}, {1, "oai-events", true}, {3, "oai-events", false}};
    (void)state;
    open_world(&w);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        open_channel(&w, table[i].stream, table[i].label);
        fake_sctp_message(table[i].stream, DCEP_PPID_TEXT, "{}", 2);
    }
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_true(take(&w, &m));
        assert_int_equal(m.stream, table[i].stream);
        assert_int_equal(m.is_event, table[i].is_event);
        assert_string_equal(m.label, table[i].label);
        assert_int_equal(data_channels_find(w.d, table[i].stream, table[i].label),
                         !table[i].is_event);
        assert_false(data_channels_find(w.d, table[i].stream, "other"));
    }
    close_world(&w);
}

static void the_seventeenth_is_reset_without_an_answer(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    for (uint16_t i = 0; i < DATA_CHANNELS_MAX; i++) {
        open_channel(&w, (uint16_t)(2 * i), "x");
    }
    assert_int_equal(fake_sctp.sent_count, DATA_CHANNELS_MAX);
    assert_int_equal(fake_sctp.reset_count, 0);
    open_channel(&w, 99, "x");
    assert_int_equal(fake_sctp.sent_count, DATA_CHANNELS_MAX);
    assert_int_equal(fake_sctp.reset_count, 1);
    assert_int_equal(fake_sctp.reset[0], 99);
    /* Its own reset follows, and needs no answer. */
    fake_sctp_event(SCTP_EVENT_RESET_DONE, 99);
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 99);
    tick(&w);
    assert_int_equal(fake_sctp.reset_count, 1);
    /* With one closed there is room again. */
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 4);
    open_channel(&w, 99, "x");
    assert_int_equal(fake_sctp.sent_count, DATA_CHANNELS_MAX + 1);
    assert_int_equal(data_channels_stats(w.d).refused, 1);
    assert_int_equal(data_channels_stats(w.d).opened, DATA_CHANNELS_MAX + 1);
    close_world(&w);
}

static void an_open_that_is_none_is_refused(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    fake_sctp_message(5, DCEP_PPID, "\x03", 1);
    fake_sctp_message(7, DCEP_PPID, "\x02", 1); /* an ACK of nothing */
    tick(&w);
    assert_int_equal(fake_sctp.sent_count, 0);
    assert_int_equal(fake_sctp.reset_count, 1);
    assert_int_equal(fake_sctp.reset[0], 5);
    close_world(&w);
}

static void an_open_in_a_stream_that_is_open_closes_it(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    open_channel(&w, 1, "oai-events");
    assert_int_equal(fake_sctp.reset_count, 1);
    assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
    close_world(&w);
}

static void an_acknowledgement_waits_for_the_reset_before_it(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 1);
    tick(&w);
    assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
    fake_sctp.send_result = SCTP_SEND_NO_STREAM;
    open_channel(&w, 1, "chat");
    assert_int_equal(data_channels_send(w.d, 1, true, bytes_view_of_text("x"), w.now_us),
                     DATA_SEND_CLOSED);
    fake_sctp.send_result = SCTP_SEND_OK;
    fake_sctp_event(SCTP_EVENT_RESET_DONE, 1);
    tick(&w);
    assert_int_equal(fake_sctp.sent_count, 2);
    assert_int_equal(data_channels_send(w.d, 1, true, bytes_view_of_text("x"), w.now_us),
                     DATA_SEND_OK);
    close_world(&w);
}

static void open_agreed_world(struct world *w)
{
    *w = (struct world){.now_us = BEGIN_US};
    random_generator_init(&w->random, 1);
    const struct data_channels_config config = {.event_label = "oai-events",
                                                .has_event_stream = true,
                                                .event_stream = 9,
                                                .packet_bytes_max = 1163,
                                                .random = random_seeded(&w->random)};
    w->d = data_channels_create(&config, w->now_us);
    data_channels_start(w->d, w->now_us);
    tick(w);
}

static void a_stream_that_was_agreed_is_open_from_the_start(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_agreed_world(&w);
    assert_no_event(&w);
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    fake_sctp_message(9, DCEP_PPID_TEXT, "{}", 2);
    tick(&w);
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    assert_true(take(&w, &m));
    assert_true(m.is_event);
    assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                     DATA_SEND_OK);
    assert_int_equal(fake_sctp.sent[0].message.stream, 9);
    /* One who opens it in-band all the same is told that it is open. */
    open_channel(&w, 9, "oai-events");
    assert_int_equal(fake_sctp.sent[1].message.ppid, DCEP_PPID);
    assert_int_equal(fake_sctp.reset_count, 0);
    open_channel(&w, 1, "oai-events");
    assert_true(data_channels_find(w.d, 1, "oai-events"));
    close_world(&w);
}

/* As in the packet of a COOKIE ECHO: before anybody knows that there is an association. */
static void opens_before_everything_leave_the_agreed_channel_its_slot(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_agreed_world(&w);
    for (uint16_t i = 0; i < DATA_CHANNELS_MAX; i++) {
        ask_open((uint16_t)(20 + i), &(struct dcep_open){.label = bytes_view_of_text("x")});
    }
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    tick(&w);
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    assert_int_equal(data_channels_stats(w.d).opened, DATA_CHANNELS_MAX);
    assert_int_equal(data_channels_stats(w.d).refused, 1);
    fake_sctp_message(9, DCEP_PPID_TEXT, "{}", 2);
    assert_true(take(&w, &m));
    assert_true(m.is_event);
    close_world(&w);
}

static void the_agreed_channel_keeps_its_role(void **state)
{
    static const uint16_t stream[] = {9, 1}; /* its own, and one with its label */
    (void)state;
    for (size_t i = 0; i < COUNT_OF(stream); i++) {
        struct world w;
        struct data_message m;
        open_agreed_world(&w);
        ask_open(stream[i], &(struct dcep_open){.label = bytes_view_of_text("oai-events")});
        fake_sctp_message(9, DCEP_PPID_TEXT, "{}", 2);
        fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
        assert_true(take(&w, &m));
        assert_int_equal(m.stream, 9);
        assert_true(m.is_event);
        tick(&w);
        assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
        assert_no_event(&w);
        assert_int_equal(data_channels_stats(w.d).opened, 1 + i);
        assert_int_equal(data_channels_find(w.d, 1, "oai-events"), i == 1);
        close_world(&w);
    }
}

static void an_agreed_channel_that_was_reset_first_does_not_open(void **state)
{
    struct world w;
    (void)state;
    open_agreed_world(&w);
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 9);
    tick(&w);
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    tick(&w);
    assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
    assert_no_event(&w);
    close_world(&w);
}

static void an_agreed_channel_stays_open_while_its_acknowledgement_waits(void **state)
{
    struct world w;
    (void)state;
    open_agreed_world(&w);
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    tick(&w);
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    fake_sctp.send_result = SCTP_SEND_FULL;
    open_channel(&w, 9, "oai-events");
    assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                     DATA_SEND_FULL);
    fake_sctp.send_result = SCTP_SEND_OK;
    tick(&w);
    assert_int_equal(fake_sctp.sent[0].message.ppid, DCEP_PPID);
    assert_no_event(&w);
    assert_int_equal(data_channels_stats(w.d).opened, 1);
    close_world(&w);
}

/* --- messages --------------------------------------------------------------------------------- */

static void identifiers_tell_text_from_binary_and_empty_from_one_byte(void **state)
{
    static const struct {
        uint32_t ppid;
        bool is_given;
        bool is_text;
        size_t len;
    } table[] = {
        {DCEP_PPID_TEXT, true, true, 1},
        {DCEP_PPID_BINARY, true, false, 1},
        {DCEP_PPID_TEXT_EMPTY, true, true, 0},
        {DCEP_PPID_BINARY_EMPTY, true, false, 0},
        {52, false, false, 0},
        {54, false, false, 0},
        {0, false, false, 0},
    };
    struct data_message m;
    struct world w;
    uint64_t dropped = 0;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "chat");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        fake_sctp_message(1, table[i].ppid, "", 1);
        assert_int_equal(take(&w, &m), table[i].is_given);
        dropped += !table[i].is_given;
        if (table[i].is_given) {
            assert_int_equal(m.is_text, table[i].is_text);
            assert_int_equal(m.data.len, table[i].len);
        }
    }
    assert_int_equal(data_channels_stats(w.d).messages_dropped, dropped);
    close_world(&w);
}

static void the_event_channel_takes_no_binary_messages(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    fake_sctp_message(1, DCEP_PPID_BINARY, "x", 1);
    fake_sctp_message(1, DCEP_PPID_BINARY_EMPTY, "", 1);
    assert_false(take(&w, &m));
    assert_int_equal(data_channels_stats(w.d).messages_dropped, 2);
    close_world(&w);
}

static void a_message_of_no_channel_is_dropped(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_world(&w);
    fake_sctp_message(1, DCEP_PPID_TEXT, "x", 1);
    assert_false(take(&w, &m));
    assert_int_equal(data_channels_stats(w.d).messages_dropped, 1);
    close_world(&w);
}

static void a_message_stays_until_it_is_taken_and_all_behind_it(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    fake_sctp_message(1, DCEP_PPID_TEXT, "1", 1);
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 1);
    fake_sctp_message(1, DCEP_PPID_TEXT, "2", 1);
    assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
    for (int i = 0; i < 3; i++) {
        tick(&w);
        assert_true(data_channels_peek_message(w.d, &m, w.now_us));
        assert_int_equal(m.data.data[0], '1');
        assert_no_event(&w);
    }
    data_channels_take_message(w.d, w.now_us);
    assert_false(take(&w, &m)); /* the second came after the end of its channel */
    assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
    close_world(&w);
}

static void who_says_too_much_waits(void **state)
{
    struct world w;
    struct data_message m;
    size_t count = 0;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    for (int i = 0; i < 4010; i++) {
        fake_sctp_message(1, DCEP_PPID_TEXT, "x", 1);
    }
    assert_true(data_channels_next_timeout(w.d) == TIME_NEVER);
    while (take(&w, &m)) {
        count++;
    }
    assert_int_equal(count, 4001);
    const uint64_t next_us = data_channels_next_timeout(w.d);
    assert_true(next_us > w.now_us && next_us <= w.now_us + 500);
    w.now_us = next_us;
    tick(&w);
    assert_true(data_channels_next_timeout(w.d) == TIME_NEVER);
    assert_true(take(&w, &m));
    assert_false(take(&w, &m));
    close_world(&w);
}

static void messages_that_are_too_long_are_told_once(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    assert_int_equal(fake_sctp.config.message_bytes_max, 262144);
    for (int i = 0; i < 9; i++) {
        fake_sctp_event(SCTP_EVENT_MESSAGE_DROPPED, 1);
    }
    tick(&w);
    assert_event(&w, DATA_CHANNELS_TOO_LONG);
    assert_no_event(&w);
    assert_int_equal(data_channels_stats(w.d).messages_dropped, 9);
    close_world(&w);
}

static void what_is_sent_is_as_its_channel_was_opened(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    ask_open(3, &(struct dcep_open){.is_unordered = true,
                                    .reliability = DCEP_LIFETIME,
                                    .reliability_parameter = 250,
                                    .label = bytes_view_of_text("pings")});
    tick(&w);
    fake_sctp.sent_count = 0;
    assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                     DATA_SEND_OK);
    assert_int_equal(data_channels_send(w.d, 3, false, bytes_view_of(NULL, 0), w.now_us),
                     DATA_SEND_OK);
    assert_int_equal(data_channels_send(w.d, 5, false, bytes_view_of(NULL, 0), w.now_us),
                     DATA_SEND_CLOSED);
    assert_int_equal(fake_sctp.sent[0].message.stream, 1);
    assert_int_equal(fake_sctp.sent[0].message.ppid, DCEP_PPID_TEXT);
    assert_int_equal(fake_sctp.sent[0].reliability.kind, SCTP_RELIABLE);
    assert_int_equal(fake_sctp.sent[1].message.ppid, DCEP_PPID_BINARY_EMPTY);
    assert_int_equal(fake_sctp.sent[1].len, 1);
    assert_true(fake_sctp.sent[1].message.is_unordered);
    assert_int_equal(fake_sctp.sent[1].reliability.kind, SCTP_LIFETIME);
    assert_int_equal(fake_sctp.sent[1].reliability.limit, 250);
    close_world(&w);
}

static void why_nothing_was_sent_is_told(void **state)
{
    static const struct {
        enum sctp_send_result sctp;
        enum data_send_result result;
    } table[] = {{SCTP_SEND_FULL, DATA_SEND_FULL},
                 {SCTP_SEND_TOO_LONG, DATA_SEND_TOO_LONG},
                 {SCTP_SEND_NO_STREAM, DATA_SEND_CLOSED},
                 {SCTP_SEND_NOT_CONNECTED, DATA_SEND_CLOSED}};
    struct world w;
    (void)state;
    open_world(&w);
    assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                     DATA_SEND_CLOSED);
    open_channel(&w, 1, "oai-events");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        fake_sctp.send_result = table[i].sctp;
        assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                         table[i].result);
    }
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_is_acknowledged_in_its_stream),
        cmocka_unit_test(the_first_of_its_label_is_the_event_channel),
        cmocka_unit_test(the_seventeenth_is_reset_without_an_answer),
        cmocka_unit_test(an_open_that_is_none_is_refused),
        cmocka_unit_test(an_open_in_a_stream_that_is_open_closes_it),
        cmocka_unit_test(an_acknowledgement_waits_for_the_reset_before_it),
        cmocka_unit_test(a_stream_that_was_agreed_is_open_from_the_start),
        cmocka_unit_test(opens_before_everything_leave_the_agreed_channel_its_slot),
        cmocka_unit_test(the_agreed_channel_keeps_its_role),
        cmocka_unit_test(an_agreed_channel_that_was_reset_first_does_not_open),
        cmocka_unit_test(an_agreed_channel_stays_open_while_its_acknowledgement_waits),
        cmocka_unit_test(identifiers_tell_text_from_binary_and_empty_from_one_byte),
        cmocka_unit_test(the_event_channel_takes_no_binary_messages),
        cmocka_unit_test(a_message_of_no_channel_is_dropped),
        cmocka_unit_test(a_message_stays_until_it_is_taken_and_all_behind_it),
        cmocka_unit_test(who_says_too_much_waits),
        cmocka_unit_test(messages_that_are_too_long_are_told_once),
        cmocka_unit_test(what_is_sent_is_as_its_channel_was_opened),
        cmocka_unit_test(why_nothing_was_sent_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
