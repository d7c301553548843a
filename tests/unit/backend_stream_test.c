/* backend_stream_test.c - greeting, numbering, heartbeat, errors, and going away */
#include "tests/unit/backend_stream_world.h"

/* --- greeting --------------------------------------------------------------------------------- */

static void hello_comes_first_and_nothing_before_the_answer(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    assert_false(backend_stream_is_up(w.stream));
    assert_string_equal(backend_stream_peer_name(w.stream), "");
    start(&w, ID(0)); /* too early: dropped */
    send_frame(&w, BACKEND_AUDIO_IN, ID(0), 10);
    const struct backend_frame hello = expect_heard(&w, BACKEND_HELLO, 0, 0);
    assert_holds(&hello, "\"name\":\"tester\"");
    assert_holds(&hello, "\"instance\":\"00001234\"");
    assert_holds(&hello, "\"max_sessions\":4");
    assert_silent(&w);
    say(&w, BACKEND_HELLO, 0, "{\"name\":\"far end\"}");
    settle(&w);
    assert_true(backend_stream_is_up(w.stream));
    assert_true(backend_stream_is_greeted(w.stream));
    assert_string_equal(backend_stream_peer_name(w.stream), "far end");
    assert_null(backend_stream_failure(w.stream));
    send_frame(&w, BACKEND_AUDIO_IN, ID(0), 10); /* its START was dropped: so is this */
    assert_silent(&w);
    close_world(&w);
}

static void a_wrong_greeting_fails_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        unsigned type;
        uint32_t session;
        const char *payload;
        const char *code;
    } c[] = {
        {BACKEND_PING, 0, "12345678", "bad_frame"},
        {BACKEND_HELLO, ID(1), "{}", "bad_frame"},
        {BACKEND_HELLO, 0, "hello", "bad_frame"},
        {BACKEND_HELLO, 0, "{\"versions\":1}", "bad_frame"},
        {BACKEND_HELLO, 0, "{\"versions\":[2,3]}", "version"},
        {BACKEND_HELLO, 0, "{\"versions\":[]}", "version"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        expect_heard(&w, BACKEND_HELLO, 0, 0);
        say(&w, c[i].type, c[i].session, c[i].payload);
        settle(&w);
        assert_failed(&w, c[i].code, 1);
        close_world(&w);
    }
}

static void bytes_that_are_no_frame_fail_at_once(void **state)
{
    (void)state;
    static const char *const text[] = {"GET / HTTP/1.1\r\n\r\n", "\x1b\0\0\0\xa1", "\x1c\0\0\0\xa2",
                                       "\x01\0\x01\0\xa1"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct world w;
        open_world(&w);
        greet(&w);
        feed(&w, (const uint8_t *)text[i], 5);
        settle(&w);
        assert_failed(&w, "bad_frame", 1);
        close_world(&w);
    }
}

static void without_an_answer_it_fails_after_two_seconds(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    expect_heard(&w, BACKEND_HELLO, 0, 0);
    assert_true(backend_stream_next_timeout(w.stream) == BEGIN_US + 2 * US_PER_S);
    backend_stream_tick(w.stream, BEGIN_US + 2 * US_PER_S - 1);
    assert_null(backend_stream_failure(w.stream));
    backend_stream_tick(w.stream, BEGIN_US + 2 * US_PER_S);
    assert_failed(&w, "timeout", 1);
    close_world(&w);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void frames_come_out_whole_however_they_are_split(void **state)
{
    (void)state;
    enum { FRAMES = 7 };
    uint8_t bytes[FRAMES * 64];
    size_t len = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct backend_frame frame = {.type = BACKEND_AUDIO_OUT,
                                            .session = ID(2),
                                            .sequence = i,
                                            .utterance = 100 + i,
                                            .payload = bytes_view_of("abcdef", i)};
        len += encode(&frame, bytes + len);
    }
    for (size_t step = 1; step <= len; step++) {
        struct world w;
        struct backend_frame out;
        uint32_t count = 0;
        open_world(&w);
        greet(&w);
        start(&w, ID(2));
        for (size_t at = 0; at < len; at += step) {
            feed(&w, bytes + at, len - at < step ? len - at : step);
            while (poll_frame(&w, &out)) {
                assert_int_equal(out.session, ID(2));
                assert_int_equal(out.utterance, 100 + count);
                assert_int_equal(out.payload.len, count);
                assert_memory_equal(out.payload.data, "abcdef", count);
                count++;
            }
        }
        assert_int_equal(count, FRAMES);
        assert_int_equal(metric_get(&w.counters.frames_received), FRAMES + 1);
        close_world(&w);
    }
}

static void each_session_and_the_connection_have_numbers_of_their_own(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    start(&w, ID(3));
    for (uint32_t i = 1; i < 4; i++) {
        send_frame(&w, BACKEND_AUDIO_IN, ID(0), 8);
        say(&w, BACKEND_AUDIO_OUT, ID(3), "ab");
        assert_true(poll_frame(&w, &out));
        assert_int_equal(out.session, ID(3));
    }
    send_frame(&w, BACKEND_CONNECTED, ID(3), 8);
    say(&w, BACKEND_PING, 0, "12345678");
    settle(&w);
    const struct backend_frame pong = expect_heard(&w, BACKEND_PONG, 0, 1);
    assert_int_equal(pong.time_us, w.now_us);
    assert_true(bytes_equal(pong.payload, bytes_view_of_text("12345678")));
    expect_heard(&w, BACKEND_SESSION_START, ID(0), 0);
    expect_heard(&w, BACKEND_SESSION_START, ID(3), 0);
    expect_heard(&w, BACKEND_CONNECTED, ID(3), 1);
    for (uint32_t i = 1; i < 4; i++) {
        expect_heard(&w, BACKEND_AUDIO_IN, ID(0), i);
    }
    assert_silent(&w);
    assert_int_equal(metric_get(&w.counters.frames_sent), 8);
    close_world(&w);
}

static void a_gap_or_a_repeat_in_the_numbers_fails(void **state)
{
    (void)state;
    static const struct {
        uint32_t session;
        int step;
    } c[] = {{0, 1}, {0, -1}, {ID(1), 1}, {ID(1), -1}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        struct backend_frame out;
        open_world(&w);
        greet(&w);
        start(&w, ID(1));
        say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
        assert_true(poll_frame(&w, &out));
        expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
        w.next_out[c[i].session == 0 ? 0 : 2] += (uint32_t)c[i].step;
        say(&w, BACKEND_PONG, c[i].session, "");
        settle(&w);
        assert_failed(&w, "sequence", 1);
        close_world(&w);
    }
}

static void frames_of_nobodys_sessions_are_ignored_in_both_directions(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    static const uint32_t unknown[] = {ID(1) + 1, ID(0), ID(SESSIONS), 0x00ffff01, 0xffffffff, 1};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        uint8_t bytes[64];
        const struct backend_frame frame = {
            .type = BACKEND_AUDIO_OUT, .session = unknown[i], .sequence = 77};
        feed(&w, bytes, encode(&frame, bytes));
        send_frame(&w, BACKEND_AUDIO_IN, unknown[i], 8);
    }
    settle(&w);
    assert_null(backend_stream_failure(w.stream));
    assert_silent(&w);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    close_world(&w);
}

static void a_slot_that_is_used_again_begins_anew_and_its_old_id_is_nobody(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    send_frame(&w, BACKEND_AUDIO_IN, ID(1), 8);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    const uint32_t old_number = w.next_out[2];
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_AUDIO_IN, ID(1), 1);
    start(&w, ID(1) + 1);
    send_frame(&w, BACKEND_SESSION_END, ID(1), 0); /* the old one has nothing more to say */
    expect_heard(&w, BACKEND_SESSION_START, ID(1) + 1, 0);
    assert_silent(&w);
    say(&w, BACKEND_SESSION_ACCEPT, ID(1) + 1, "{}");
    assert_true(poll_frame(&w, &out));
    assert_int_equal(out.session, ID(1) + 1);
    w.next_out[2] = old_number;
    say(&w, BACKEND_SESSION_ENDED, ID(1), "{}");
    settle(&w);
    assert_null(backend_stream_failure(w.stream));
    close_world(&w);
}

static void a_slot_whose_last_word_still_waits_is_no_place_for_a_new_session(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    send_frame(&w, BACKEND_SESSION_END, ID(1), 8);
    start(&w, ID(1) + 1);
    assert_false(backend_stream_has_session(w.stream, ID(1) + 1));
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_SESSION_END, ID(1), 1);
    start(&w, ID(1) + 1);
    assert_true(backend_stream_has_session(w.stream, ID(1) + 1));
    expect_heard(&w, BACKEND_SESSION_START, ID(1) + 1, 0);
    close_world(&w);
}

static const unsigned known_of_session[] = {
    BACKEND_SESSION_ACCEPT, BACKEND_SESSION_REJECT, BACKEND_SESSION_END, BACKEND_SESSION_ENDED,
    BACKEND_ERROR,          BACKEND_AUDIO_OUT,      BACKEND_FLUSH,       BACKEND_PAUSE,
    BACKEND_RESUME,         BACKEND_EVENT,          BACKEND_CHANNEL_DATA};

static bool is_known_of_session(unsigned type)
{
    for (size_t i = 0; i < COUNT_OF(known_of_session); i++) {
        if (known_of_session[i] == type) {
            return true;
        }
    }
    return false;
}

static void each_type_of_a_session_is_passed_on_or_unsupported_or_skipped(void **state)
{
    (void)state;
    for (unsigned type = 0; type <= 0xff; type++) {
        struct world w;
        struct backend_frame out;
        open_world(&w);
        greet(&w);
        start(&w, ID(1));
        expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
        say(&w, type, ID(1), "{}");
        assert_int_equal(poll_frame(&w, &out), is_known_of_session(type));
        if (!is_known_of_session(type) && type < 0x80) {
            const struct backend_frame error = expect_heard(&w, BACKEND_ERROR, ID(1), 1);
            assert_holds(&error, "\"code\":\"unsupported\",\"fatal\":false");
        }
        assert_silent(&w);
        assert_null(backend_stream_failure(w.stream));
        close_world(&w);
    }
}

static void each_type_of_the_connection_is_taken_or_unsupported_or_skipped(void **state)
{
    (void)state;
    for (unsigned type = 0; type <= 0xff; type++) {
        struct world w;
        const bool is_known = type == BACKEND_PING || type == BACKEND_PONG ||
                              type == BACKEND_GOAWAY || type == BACKEND_ERROR;
        open_world(&w);
        greet(&w);
        say(&w, type, 0, type == BACKEND_PING ? "12345678" : "{}");
        settle(&w);
        if (type == BACKEND_PING) {
            expect_heard(&w, BACKEND_PONG, 0, 1);
        } else if (!is_known && type < 0x80) {
            const struct backend_frame error = expect_heard(&w, BACKEND_ERROR, 0, 1);
            assert_holds(&error, "\"code\":\"unsupported\",\"fatal\":false");
        }
        assert_silent(&w);
        assert_null(backend_stream_failure(w.stream));
        close_world(&w);
    }
}

/* Of the connection, and of each session, whoever found the fault. */
static void at_most_one_error_a_session_and_second_is_said(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    start(&w, ID(2));
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_SESSION_START, ID(2), 0);
    for (uint32_t second = 0; second < 3; second++) {
        for (int i = 0; i < 4; i++) {
            w.now_us = BEGIN_US + second * US_PER_S + (uint64_t)i * 333333;
            send_text(&w, BACKEND_ERROR, ID(1), "{\"code\":\"credit\"}");
            say(&w, 0x7f, ID(1), "");
            say(&w, 0x7f, ID(2), "");
            say(&w, 0x7f, 0, "");
            assert_false(poll_frame(&w, &out));
        }
        const struct backend_frame error = expect_heard(&w, BACKEND_ERROR, ID(1), 1 + second);
        assert_holds(&error, "credit");
        expect_heard(&w, BACKEND_ERROR, ID(2), 1 + second);
        expect_heard(&w, BACKEND_ERROR, 0, 1 + second);
        assert_silent(&w);
    }
    assert_int_equal(metric_get(&w.counters.errors_sent[BACKEND_STREAM_CREDIT]), 3);
    assert_int_equal(metric_get(&w.counters.errors_sent[BACKEND_STREAM_UNSUPPORTED]), 6);
    close_world(&w);
}

/* --- broken payloads ------------------------------------------------------------------------- */

static void broken_payloads_of_the_connection_fail(void **state)
{
    (void)state;
    static const struct {
        unsigned type;
        const char *payload;
    } c[] = {{BACKEND_PING, "1234567"}, {BACKEND_PING, ""}, {BACKEND_GOAWAY, "now"}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        greet(&w);
        say(&w, c[i].type, 0, c[i].payload);
        settle(&w);
        assert_failed(&w, "bad_frame", 1);
        close_world(&w);
    }
}

static void a_payload_that_the_session_could_not_read_fails_the_stream(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    say(&w, BACKEND_SESSION_ACCEPT, ID(1), "accept");
    assert_true(poll_frame(&w, &frame));
    backend_stream_refuse(w.stream, &frame, w.now_us);
    assert_failed(&w, "bad_frame", 1);
    close_world(&w);
}

/* --- errors of the backend -------------------------------------------------------------------- */

static void an_error_of_the_backend_ends_the_stream_if_it_is_fatal(void **state)
{
    (void)state;
    static const struct {
        const char *payload;
        const char *failure; /* NULL: it goes on */
    } c[] = {
        {"{\"code\":\"overload\",\"fatal\":true}", "overload"},
        {"{\"fatal\":true}", "internal"},
        {"{\"code\":\"codec\"}", NULL},
        {"nonsense", "bad_frame"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        greet(&w);
        say(&w, BACKEND_ERROR, 0, c[i].payload);
        settle(&w);
        const char *failure = backend_stream_failure(w.stream);
        assert_int_equal(failure == NULL, c[i].failure == NULL);
        if (failure != NULL) {
            assert_string_equal(failure, c[i].failure);
        }
        assert_silent(&w); /* an ERROR is not answered with an ERROR */
        close_world(&w);
    }
}

/* --- heartbeat -------------------------------------------------------------------------------- */

static void the_smaller_heartbeat_counts_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *hello;
        uint64_t heartbeat_us;
    } c[] = {
        {"{}", 1000000},
        {"{\"heartbeat_ms\":1001}", 1000000},
        {"{\"heartbeat_ms\":4294967295}", 1000000},
        {"{\"heartbeat_ms\":300}", 300000},
        {"{\"heartbeat_ms\":50}", 50000},
        {"{\"heartbeat_ms\":49}", 50000},
        {"{\"heartbeat_ms\":0}", 50000},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        expect_heard(&w, BACKEND_HELLO, 0, 0);
        say(&w, BACKEND_HELLO, 0, c[i].hello);
        settle(&w);
        const uint64_t due_us = BEGIN_US + c[i].heartbeat_us;
        assert_true(backend_stream_next_timeout(w.stream) == due_us);
        backend_stream_tick(w.stream, due_us - 1);
        assert_silent(&w);
        w.now_us = due_us;
        backend_stream_tick(w.stream, due_us);
        assert_true(backend_stream_next_timeout(w.stream) > due_us);
        assert_int_equal(expect_heard(&w, BACKEND_PING, 0, 1).payload.len, 8);
        close_world(&w);
    }
}

static void three_heartbeats_without_a_word_are_the_end(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    uint32_t pings = 0;
    while (w.now_us < BEGIN_US + 10 * US_PER_S) { /* any word will do */
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        expect_heard(&w, BACKEND_PING, 0, ++pings);
        say(&w, BACKEND_PONG, 0, "12345678");
        settle(&w);
    }
    const uint64_t last_us = w.now_us;
    while (backend_stream_next_timeout(w.stream) < last_us + 3 * US_PER_S) {
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        expect_heard(&w, BACKEND_PING, 0, ++pings);
        assert_null(backend_stream_failure(w.stream));
    }
    backend_stream_tick(w.stream, last_us + 3 * US_PER_S - 1);
    assert_null(backend_stream_failure(w.stream));
    backend_stream_tick(w.stream, last_us + 3 * US_PER_S);
    assert_failed(&w, "timeout", pings + 1);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_comes_first_and_nothing_before_the_answer),
        cmocka_unit_test(a_wrong_greeting_fails_with_its_reason),
        cmocka_unit_test(bytes_that_are_no_frame_fail_at_once),
        cmocka_unit_test(without_an_answer_it_fails_after_two_seconds),
        cmocka_unit_test(frames_come_out_whole_however_they_are_split),
        cmocka_unit_test(each_session_and_the_connection_have_numbers_of_their_own),
        cmocka_unit_test(a_gap_or_a_repeat_in_the_numbers_fails),
        cmocka_unit_test(frames_of_nobodys_sessions_are_ignored_in_both_directions),
        cmocka_unit_test(a_slot_that_is_used_again_begins_anew_and_its_old_id_is_nobody),
        cmocka_unit_test(a_slot_whose_last_word_still_waits_is_no_place_for_a_new_session),
        cmocka_unit_test(each_type_of_a_session_is_passed_on_or_unsupported_or_skipped),
        cmocka_unit_test(each_type_of_the_connection_is_taken_or_unsupported_or_skipped),
        cmocka_unit_test(at_most_one_error_a_session_and_second_is_said),
        cmocka_unit_test(broken_payloads_of_the_connection_fail),
        cmocka_unit_test(a_payload_that_the_session_could_not_read_fails_the_stream),
        cmocka_unit_test(an_error_of_the_backend_ends_the_stream_if_it_is_fatal),
        cmocka_unit_test(the_smaller_heartbeat_counts_within_its_bounds),
        cmocka_unit_test(three_heartbeats_without_a_word_are_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
