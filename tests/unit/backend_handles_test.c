/* backend_handles_test.c - who has a handle on a stream, for how long, and when it goes away */
#include "tests/unit/backend_stream_world.h"

/* --- going away ------------------------------------------------------------------------------- */

static void going_away_takes_no_new_calls_and_lets_the_others_go_on(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    say(&w, BACKEND_GOAWAY, 0, "{}");
    settle(&w);
    assert_false(backend_stream_is_up(w.stream));
    assert_true(backend_stream_is_leaving(w.stream));
    assert_null(backend_stream_failure(w.stream));
    start(&w, ID(2));
    send_frame(&w, BACKEND_AUDIO_IN, ID(1), 8);
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_AUDIO_IN, ID(1), 1);
    assert_silent(&w);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    close_world(&w);
}

static void at_the_deadline_of_going_away_the_stream_ends(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    say(&w, BACKEND_GOAWAY, 0, "{\"reason\":\"deploy\",\"deadline_ms\":700}");
    settle(&w);
    assert_true(backend_stream_next_timeout(w.stream) == BEGIN_US + 700 * US_PER_MS);
    backend_stream_tick(w.stream, BEGIN_US + 700 * US_PER_MS - 1);
    assert_null(backend_stream_failure(w.stream));
    backend_stream_tick(w.stream, BEGIN_US + 700 * US_PER_MS);
    assert_string_equal(backend_stream_failure(w.stream), "goaway");
    assert_silent(&w);
    close_world(&w);
}

static void our_own_going_away_is_said_with_its_deadline(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    backend_stream_go_away(w.stream, BEGIN_US + 30 * US_PER_S, BEGIN_US);
    const struct backend_frame frame = expect_heard(&w, BACKEND_GOAWAY, 0, 1);
    assert_holds(&frame, "\"deadline_ms\":30000");
    close_world(&w);
}

static void a_full_backend_gets_no_new_session(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    expect_heard(&w, BACKEND_HELLO, 0, 0);
    say(&w, BACKEND_HELLO, 0, "{\"max_sessions\":2}");
    settle(&w);
    start(&w, ID(0));
    assert_true(backend_stream_is_up(w.stream));
    start(&w, ID(1));
    assert_false(backend_stream_is_up(w.stream));
    start(&w, ID(2));
    assert_false(backend_stream_has_session(w.stream, ID(2)));
    expect_heard(&w, BACKEND_SESSION_START, ID(0), 0);
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    assert_silent(&w);
    send_frame(&w, BACKEND_SESSION_END, ID(0), 0);
    assert_false(backend_stream_is_up(w.stream)); /* the backend still has it */
    say(&w, BACKEND_SESSION_ENDED, ID(0), "{}");
    settle(&w);
    assert_true(backend_stream_is_up(w.stream));
    close_world(&w);
}

static void an_end_that_is_not_answered_frees_its_handle_after_two_seconds(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    expect_heard(&w, BACKEND_HELLO, 0, 0);
    say(&w, BACKEND_HELLO, 0, "{\"max_sessions\":1}");
    settle(&w);
    start(&w, ID(0));
    send_frame(&w, BACKEND_SESSION_END, ID(0), 0);
    while (!backend_stream_is_up(w.stream)) {
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        read_output(&w);
        say(&w, BACKEND_PONG, 0, "12345678");
        settle(&w);
    }
    assert_in_range(w.now_us, BEGIN_US + 2 * US_PER_S, BEGIN_US + 3 * US_PER_S);
    close_world(&w);
}

/* A call that speaks leaves no heartbeat in which nothing is sent. */
static void an_end_that_is_not_answered_frees_its_handle_while_others_talk(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    expect_heard(&w, BACKEND_HELLO, 0, 0);
    say(&w, BACKEND_HELLO, 0, "{\"max_sessions\":2}");
    settle(&w);
    start(&w, ID(0));
    start(&w, ID(1));
    send_frame(&w, BACKEND_SESSION_END, ID(0), 0);
    while (!backend_stream_is_up(w.stream) && w.now_us < BEGIN_US + 5 * US_PER_S) {
        struct backend_frame heard;
        w.now_us = time_earlier(w.now_us + 20 * US_PER_MS, backend_stream_next_timeout(w.stream));
        backend_stream_tick(w.stream, w.now_us);
        send_frame(&w, BACKEND_AUDIO_IN, ID(1), 960);
        read_output(&w);
        while (backend_frame_reader_poll(w.heard, &heard) == BACKEND_FRAME_OK) {
            assert_int_not_equal(heard.type, BACKEND_PING);
        }
        say(&w, BACKEND_PONG, 0, "12345678");
        settle(&w);
    }
    assert_true(w.now_us == BEGIN_US + 2 * US_PER_S);
    assert_true(backend_stream_next_timeout(w.stream) > w.now_us);
    assert_true(backend_stream_has_session(w.stream, ID(1)));
    close_world(&w);
}

/* Both ENDs at once: each is answered, and then the handle is nobody's. */
static void an_end_that_meets_ours_is_answered(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    send_frame(&w, BACKEND_SESSION_END, ID(1), 0);
    say(&w, BACKEND_SESSION_END, ID(1), "{}");
    settle(&w);
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_SESSION_END, ID(1), 1);
    expect_heard(&w, BACKEND_SESSION_ENDED, ID(1), 2);
    say(&w, BACKEND_SESSION_ENDED, ID(1), "{}");
    settle(&w);
    assert_false(backend_stream_has_session(w.stream, ID(1)));
    assert_silent(&w);
    close_world(&w);
}

static void the_sessions_of_a_stream_are_those_that_have_not_ended(void **state)
{
    (void)state;
    struct world w;
    size_t cursor = 0;
    uint32_t id = 0;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    start(&w, ID(1));
    start(&w, ID(3));
    send_frame(&w, BACKEND_SESSION_END, ID(1), 0);
    assert_true(backend_stream_next_session(w.stream, &cursor, &id));
    assert_int_equal(id, ID(0));
    assert_true(backend_stream_next_session(w.stream, &cursor, &id));
    assert_int_equal(id, ID(3));
    assert_false(backend_stream_next_session(w.stream, &cursor, &id));
    close_world(&w);
}

/* Its REJECT said nothing: it has not ended there, and is told that the connection broke. */
static void a_session_whose_reject_could_not_be_read_is_one_of_the_stream(void **state)
{
    (void)state;
    for (int is_read = 0; is_read <= 1; is_read++) {
        struct world w;
        struct backend_frame frame;
        size_t cursor = 0;
        uint32_t id = 0;
        open_world(&w);
        greet(&w);
        start(&w, ID(2));
        say(&w, BACKEND_SESSION_REJECT, ID(2), is_read == 1 ? "{}" : "reject");
        assert_true(poll_frame(&w, &frame));
        assert_false(backend_stream_has_session(w.stream, ID(2)));
        if (is_read == 0) {
            backend_stream_refuse(w.stream, &frame, w.now_us);
            assert_true(backend_stream_next_session(w.stream, &cursor, &id));
            assert_int_equal(id, ID(2));
        }
        assert_false(backend_stream_next_session(w.stream, &cursor, &id));
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(going_away_takes_no_new_calls_and_lets_the_others_go_on),
        cmocka_unit_test(at_the_deadline_of_going_away_the_stream_ends),
        cmocka_unit_test(our_own_going_away_is_said_with_its_deadline),
        cmocka_unit_test(a_full_backend_gets_no_new_session),
        cmocka_unit_test(an_end_that_is_not_answered_frees_its_handle_after_two_seconds),
        cmocka_unit_test(an_end_that_is_not_answered_frees_its_handle_while_others_talk),
        cmocka_unit_test(an_end_that_meets_ours_is_answered),
        cmocka_unit_test(the_sessions_of_a_stream_are_those_that_have_not_ended),
        cmocka_unit_test(a_session_whose_reject_could_not_be_read_is_one_of_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
