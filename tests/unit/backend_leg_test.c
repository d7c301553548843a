/* backend_leg_test.c - start, accept, end: who has the last word, and that it is the last */
#include "tests/unit/backend_leg_world.h"

static void start_is_said_at_once_and_accept_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    assert_int_equal(frame.session, ID);
    assert_int_equal(frame.flags, BACKEND_FLAG_LAST);
    outbox_frames_assert_holds(&frame, "\"call_id\":\"rtc_x\"");
    outbox_frames_assert_holds(&frame, "\"restarted\":false");
    assert_true(w.leg.deadline_us == BEGIN_US + 2 * US_PER_S);
    close_world(&w);
}

static void a_start_that_is_too_long_is_refused_and_not_said(void **state)
{
    (void)state;
    static char json[BACKEND_MESSAGE_BYTES_MAX + 1];
    struct world w;
    struct backend_start start = start_of("rtc_x");
    memset(json, ' ', sizeof(json));
    start.session_json = bytes_view_of(json, sizeof(json));
    assert_false(open_world_with(&w, &start));
    close_world(&w);
}

/* So that no session's long START stands in the way of another's audio. */
static void a_long_start_comes_in_chunks(void **state)
{
    (void)state;
    static char json[3 * BACKEND_CHUNK_BYTES];
    static char text[BACKEND_MESSAGE_BYTES_MAX];
    struct world w;
    struct backend_frame frame;
    struct backend_start_request request;
    struct backend_start start = start_of("rtc_x");
    size_t len = 0;
    memset(json, ' ', sizeof(json));
    json[0] = '{';
    json[sizeof(json) - 1] = '}';
    start.session_json = bytes_view_of(json, sizeof(json));
    assert_true(open_world_with(&w, &start));
    for (int chunk = 0; chunk < 4; chunk++) {
        frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        assert_in_range(frame.payload.len, 1, BACKEND_CHUNK_BYTES);
        assert_int_equal(frame.flags, chunk == 3 ? BACKEND_FLAG_LAST : 0);
        memcpy(text + len, frame.payload.data, frame.payload.len);
        len += frame.payload.len;
    }
    assert_true(backend_start_decode(bytes_view_of(text, len), &request));
    assert_string_equal(request.call_id, "rtc_x");
    close_world(&w);
}

static void an_accept_is_taken_once(void **state)
{
    (void)state;
    struct world w;
    enter(&w, STARTING);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT,
                          "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/24000\",\"prebuffer_ms\":7}"),
                     BACKEND_LEG_GOT_ACCEPT);
    assert_int_equal(w.leg.accept.in.rate_khz, 16);
    assert_int_equal(w.leg.accept.out.rate_khz, 24);
    assert_int_equal(w.leg.accept.prebuffer_ms, 7);
    assert_true(w.leg.deadline_us == TIME_NEVER);
    assert_true(backend_leg_is_attached(&w.leg));
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{\"prebuffer_ms\":9}"), BACKEND_LEG_NOTHING);
    assert_int_equal(w.leg.accept.prebuffer_ms, 7);
    close_world(&w);
}

static void an_accept_of_what_was_not_offered_is_an_error_and_the_end(void **state)
{
    (void)state;
    static const char *const accept[] = {"{\"in\":\"pcm16/48000\"}", "{\"out\":\"pcm16/16000\"}",
                                         "{\"in\":\"mp3/44100\"}"};
    for (size_t i = 0; i < COUNT_OF(accept); i++) {
        struct world w;
        enter(&w, STARTING);
        assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, accept[i]), BACKEND_LEG_GOT_REJECT);
        const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
        outbox_frames_assert_holds(&error, "\"code\":\"codec\",\"fatal\":false");
        backend_leg_end(&w.leg, "backend_unavailable", &no_totals, w.now_us);
        outbox_frames_expect(&w.frames, BACKEND_SESSION_END);
        close_world(&w);
    }
}

/* Each frame in each state, and what it means. */
static void every_frame_in_every_state(void **state)
{
    (void)state;
    static const struct {
        enum backend_leg_state before;
        unsigned type;
        const char *json;
        enum backend_leg_event event;
        enum backend_leg_state after;
    } c[] = {
        {STARTING, BACKEND_SESSION_ACCEPT, "nonsense", BACKEND_LEG_GOT_NONSENSE, STARTING},
        {STARTING, BACKEND_SESSION_REJECT, "{}", BACKEND_LEG_GOT_REJECT, OVER},
        {STARTING, BACKEND_SESSION_REJECT, "nonsense", BACKEND_LEG_GOT_NONSENSE, STARTING},
        {STARTING, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED},
        {STARTING, BACKEND_SESSION_END, "{\"when\":\"drained\"}", BACKEND_LEG_GOT_END, ASKED},
        {STARTING, BACKEND_SESSION_ENDED, "{}", BACKEND_LEG_GOT_END, OVER},
        {ACCEPTED, BACKEND_SESSION_REJECT, "{}", BACKEND_LEG_GOT_REJECT, OVER},
        {ACCEPTED, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED},
        {ACCEPTED, BACKEND_SESSION_END, "{\"when\":\"drained\"}", BACKEND_LEG_GOT_END_DRAINED,
         ASKED},
        {ACCEPTED, BACKEND_SESSION_END, "{\"when\":1}", BACKEND_LEG_GOT_NONSENSE, ACCEPTED},
        {ACCEPTED, BACKEND_SESSION_ENDED, "", BACKEND_LEG_GOT_END, OVER},
        {ACCEPTED, BACKEND_ERROR, "{\"fatal\":false}", BACKEND_LEG_NOTHING, ACCEPTED},
        {ACCEPTED, BACKEND_ERROR, "nonsense", BACKEND_LEG_GOT_NONSENSE, ACCEPTED},
        {ACCEPTED, BACKEND_ERROR, "{\"fatal\":true}", BACKEND_LEG_GOT_END, ACCEPTED},
        {ACCEPTED, BACKEND_AUDIO_OUT, "", BACKEND_LEG_NOTHING, ACCEPTED},
        {ACCEPTED, BACKEND_EVENT, "{}", BACKEND_LEG_GOT_MESSAGE, ACCEPTED},
        {ACCEPTED, 0xff, "", BACKEND_LEG_NOTHING, ACCEPTED},
        {ASKED, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED},
        {ASKED, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, ASKED},
        {AWAY, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, AWAY},
        {AWAY, BACKEND_SESSION_END, "{}", BACKEND_LEG_NOTHING, AWAY},
        {RESUMING, BACKEND_SESSION_ACCEPT, "nonsense", BACKEND_LEG_GOT_NONSENSE, RESUMING},
        {RESUMING, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_GOT_RESUMED, ACCEPTED},
        {RESUMING, BACKEND_SESSION_REJECT, "{\"code\":\"overload\"}", BACKEND_LEG_NOTHING, AWAY},
        {OVER, BACKEND_SESSION_END, "{}", BACKEND_LEG_NOTHING, OVER},
        {OVER, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, OVER},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        enter(&w, c[i].before);
        assert_int_equal(hear(&w, c[i].type, c[i].json), c[i].event);
        assert_int_equal(w.leg.state, c[i].after);
        close_world(&w);
    }
}

static void the_last_word_is_said_once_and_answers_what_was_asked(void **state)
{
    (void)state;
    static const struct {
        enum backend_leg_state before;
        unsigned said; /* 0 = nothing */
    } c[] = {
        {STARTING, BACKEND_SESSION_END},
        {ACCEPTED, BACKEND_SESSION_END},
        {ASKED, BACKEND_SESSION_ENDED},
        {RESUMING, BACKEND_SESSION_END},
        {AWAY, 0},
        {OVER, 0},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        enter(&w, c[i].before);
        backend_leg_end(&w.leg, "duration", &no_totals, BEGIN_US + 3000);
        if (c[i].said != 0) {
            const struct backend_frame frame = outbox_frames_expect(&w.frames, c[i].said);
            assert_int_equal(frame.time_us, 3000);
            outbox_frames_assert_holds(&frame, "\"reason\":\"duration\"");
        }
        assert_int_equal(w.leg.state, OVER);
        assert_true(w.leg.deadline_us == TIME_NEVER);
        backend_leg_end(&w.leg, "again", &no_totals, BEGIN_US + 4000);
        backend_leg_connected(&w.leg, false, BEGIN_US + 5000);
        close_world(&w);
    }
}

static void ended_tells_the_totals(void **state)
{
    (void)state;
    struct world w;
    const struct backend_ended totals = {.audio_in_frames = 3000, .audio_out_us = 40000000};
    enter(&w, ASKED);
    backend_leg_end(&w.leg, "backend_ended", &totals, w.now_us);
    const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_ENDED);
    outbox_frames_assert_holds(&frame,
                               "\"totals\":{\"audio_in_frames\":3000,\"audio_out_us\":40000000}");
    close_world(&w);
}

static void connected_tells_the_transport_and_how_long_it_took(void **state)
{
    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        struct world w;
        enter(&w, STARTING);
        backend_leg_connected(&w.leg, tcp == 1, BEGIN_US + 184999);
        const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_CONNECTED);
        outbox_frames_assert_holds(&frame, tcp == 1 ? "\"tcp\"" : "\"udp\"");
        outbox_frames_assert_holds(&frame, "\"setup_ms\":184");
        assert_int_equal(frame.time_us, 184999);
        close_world(&w);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

static enum backend_leg_event hear_chunk(struct world *w, unsigned type, uint16_t flags, size_t len)
{
    static char text[BACKEND_CHUNK_BYTES];
    const struct backend_frame frame = {
        .type = (uint8_t)type, .flags = flags, .session = ID, .payload = bytes_view_of(text, len)};
    return backend_leg_input(&w->leg, &frame, w->now_us);
}

static void an_event_in_chunks_is_given_whole(void **state)
{
    (void)state;
    struct world w;
    enter(&w, ACCEPTED);
    for (int message = 0; message < 3; message++) {
        assert_int_equal(hear_chunk(&w, BACKEND_EVENT, 0, 100), BACKEND_LEG_NOTHING);
        assert_int_equal(hear_chunk(&w, BACKEND_EVENT, BACKEND_FLAG_LAST, 0),
                         BACKEND_LEG_GOT_MESSAGE);
        assert_true(w.leg.message.is_event);
        assert_int_equal(w.leg.message.data.len, 100);
    }
    close_world(&w);
}

static void an_event_of_more_than_256_kilobytes_is_an_error_and_the_call_goes_on(void **state)
{
    (void)state;
    struct world w;
    enter(&w, ACCEPTED);
    for (size_t sent = 0; sent < BACKEND_MESSAGE_BYTES_MAX; sent += BACKEND_CHUNK_BYTES) {
        hear_chunk(&w, BACKEND_EVENT, 0, BACKEND_CHUNK_BYTES);
    }
    outbox_frames_end(&w.frames);
    assert_int_equal(hear_chunk(&w, BACKEND_EVENT, 0, 1), BACKEND_LEG_NOTHING);
    const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
    outbox_frames_assert_holds(&error, "\"code\":\"overload\",\"fatal\":false");
    assert_int_equal(hear_chunk(&w, BACKEND_EVENT, BACKEND_FLAG_LAST, 1), BACKEND_LEG_NOTHING);
    assert_int_equal(hear_chunk(&w, BACKEND_EVENT, BACKEND_FLAG_LAST, 1), BACKEND_LEG_GOT_MESSAGE);
    assert_int_equal(w.leg.message.data.len, 1);
    close_world(&w);
}

static void channel_data_begins_with_its_header(void **state)
{
    (void)state;
    struct world w;
    enter(&w, ACCEPTED);
    const struct backend_frame header = {
        .type = BACKEND_CHANNEL_DATA,
        .session = ID,
        .payload = bytes_view_of_text("{\"channel\":3,\"label\":\"chat\",\"binary\":true}")};
    assert_int_equal(backend_leg_input(&w.leg, &header, w.now_us), BACKEND_LEG_NOTHING);
    assert_int_equal(hear_chunk(&w, BACKEND_CHANNEL_DATA, BACKEND_FLAG_LAST, 9),
                     BACKEND_LEG_GOT_MESSAGE);
    assert_false(w.leg.message.is_event);
    assert_int_equal(w.leg.message.channel->channel, 3);
    assert_string_equal(w.leg.message.channel->label, "chat");
    assert_true(w.leg.message.channel->is_binary);
    assert_int_equal(w.leg.message.data.len, 9);
    assert_int_equal(hear_chunk(&w, BACKEND_CHANNEL_DATA, 0, 9), BACKEND_LEG_GOT_NONSENSE);
    close_world(&w);
}

static void what_a_client_says_goes_out_in_chunks_of_16_kilobytes(void **state)
{
    static const uint8_t text[2 * BACKEND_CHUNK_BYTES + 1] = {'{'};
    static const struct {
        size_t len;
        size_t frames;
    } table[] = {
        {0, 1}, {1, 1}, {BACKEND_CHUNK_BYTES, 1}, {BACKEND_CHUNK_BYTES + 1, 2}, {sizeof(text), 3}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct world w;
        struct backend_frame frame = {0};
        size_t len = 0;
        enter(&w, ACCEPTED);
        backend_leg_event(&w.leg, bytes_view_of(text, table[i].len), w.now_us);
        for (size_t n = 0; n < table[i].frames; n++) {
            assert_false(frame.flags & BACKEND_FLAG_LAST);
            frame = outbox_frames_expect(&w.frames, BACKEND_EVENT);
            len += frame.payload.len;
        }
        assert_true(frame.flags & BACKEND_FLAG_LAST);
        assert_int_equal(len, table[i].len);
        outbox_frames_end(&w.frames);
        close_world(&w);
    }
}

static void data_of_a_channel_goes_out_behind_its_header(void **state)
{
    const struct backend_channel channel = {.channel = 7, .label = "a\"b", .is_ordered = true};
    struct world w;
    (void)state;
    enter(&w, ACCEPTED);
    backend_leg_channel_data(&w.leg, &channel, bytes_view_of_text(""), w.now_us);
    struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_CHANNEL_DATA);
    assert_false(frame.flags & BACKEND_FLAG_LAST);
    outbox_frames_assert_holds(&frame, "\"channel\":7,\"label\":\"a\\\"b\"");
    frame = outbox_frames_expect(&w.frames, BACKEND_CHANNEL_DATA);
    assert_true(frame.flags & BACKEND_FLAG_LAST);
    assert_int_equal(frame.payload.len, 0);
    close_world(&w);
}

static void a_label_of_the_worst_has_room_on_both_ways(void **state)
{
    static const char letter[] = {'\x01', '"', 'a'};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(letter); i++) {
        struct backend_channel channel = {.channel = UINT32_MAX};
        struct world w;
        memset(channel.label, letter[i], sizeof(channel.label) - 1);
        enter(&w, ACCEPTED);
        backend_leg_channel_data(&w.leg, &channel, bytes_view_of_text("x"), w.now_us);
        const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_CHANNEL_DATA);
        struct backend_channel heard;
        assert_true(backend_channel_decode(frame.payload, &heard));
        assert_string_equal(heard.label, channel.label);
        (void)outbox_frames_expect(&w.frames, BACKEND_CHANNEL_DATA);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_said_at_once_and_accept_is_waited_for),
        cmocka_unit_test(a_start_that_is_too_long_is_refused_and_not_said),
        cmocka_unit_test(a_long_start_comes_in_chunks),
        cmocka_unit_test(an_accept_is_taken_once),
        cmocka_unit_test(an_accept_of_what_was_not_offered_is_an_error_and_the_end),
        cmocka_unit_test(every_frame_in_every_state),
        cmocka_unit_test(the_last_word_is_said_once_and_answers_what_was_asked),
        cmocka_unit_test(ended_tells_the_totals),
        cmocka_unit_test(connected_tells_the_transport_and_how_long_it_took),
        cmocka_unit_test(an_event_in_chunks_is_given_whole),
        cmocka_unit_test(a_label_of_the_worst_has_room_on_both_ways),
        cmocka_unit_test(an_event_of_more_than_256_kilobytes_is_an_error_and_the_call_goes_on),
        cmocka_unit_test(channel_data_begins_with_its_header),
        cmocka_unit_test(what_a_client_says_goes_out_in_chunks_of_16_kilobytes),
        cmocka_unit_test(data_of_a_channel_goes_out_behind_its_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
