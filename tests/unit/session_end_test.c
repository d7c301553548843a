/* session_end_test.c - how a call ends: by its backend, by its client, by us */
#include "tests/unit/session_world.h"

/* --- the backend ends it ---------------------------------------------------------------------- */

static void what_the_backend_says_ends_the_call_for_its_reason(void **state)
{
    (void)state;
    static const struct {
        bool is_accepted;
        enum backend_frame_type type;
        const char *json;
        enum session_end_reason reason;
        unsigned last_word; /* 0 = nothing more is said */
    } c[] = {
        {false, BACKEND_SESSION_REJECT, "{}", SESSION_END_BACKEND_UNAVAILABLE, 0},
        {false, BACKEND_SESSION_ACCEPT, "{\"in\":\"pcmu/8000\"}", SESSION_END_BACKEND_UNAVAILABLE,
         BACKEND_SESSION_END},
        {false, BACKEND_SESSION_ACCEPT, "{\"out\":\"pcma/8000\"}", SESSION_END_BACKEND_UNAVAILABLE,
         BACKEND_SESSION_END},
        {false, BACKEND_SESSION_END, "{}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED},
        {false, BACKEND_SESSION_ENDED, "{}", SESSION_END_BACKEND_ENDED, 0},
        {true, BACKEND_SESSION_END, "{}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED},
        {true, BACKEND_ERROR, "{\"fatal\":true}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_END},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &plain);
        if (c[i].is_accepted) {
            accept(&w);
        }
        hear(&w, c[i].type, c[i].json);
        assert_ended(&w, c[i].reason, c[i].last_word);
        run_for(&w, 3 * US_PER_S);
        assert_true(session_is_over(w.session));
        assert_int_equal(w.event_count, 1);
        close_world(&w);
    }
}

static void done_is_said_before_ended_and_nothing_after_it(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    hear_audio(&w, 1, 1000, true);
    run_for(&w, 100000);
    hear_audio(&w, 2, 100, false);
    const size_t before = w.said_count;
    hear(&w, BACKEND_SESSION_END, "{\"reason\":\"bye\"}");
    assert_said(&w, before, BACKEND_PLAYBACK, "session_end");
    assert_said(&w, before + 1, BACKEND_PLAYBACK, "session_end");
    assert_said(&w, before + 2, BACKEND_SESSION_ENDED, "backend_ended");
    const size_t audio_before = w.audio_in_count;
    hear_audio(&w, 3, 100, true);
    hear(&w, BACKEND_FLUSH, "");
    hear(&w, BACKEND_SESSION_END, "{}");
    run_for(&w, US_PER_S);
    assert_int_equal(w.said_count, before + 3);
    assert_int_equal(w.audio_in_count, audio_before);
    assert_true(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

static void an_end_when_drained_plays_the_rest_and_lets_it_reach_the_ear(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    hear_audio(&w, 1, 500, true);
    const uint64_t said_us = w.now_us;
    hear(&w, BACKEND_SESSION_END, "{\"when\":\"drained\"}");
    run_to(&w, said_us + 480000 + 200000 - 1);
    assert_int_equal(w.event_count, 1);
    assert_said(&w, w.said_count - 1, BACKEND_PLAYBACK, "played");
    run_to(&w, said_us + 500000 + 200000); /* the slot it began in, and the last word's way */
    assert_ended(&w, SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED);
    close_world(&w);
}

static void an_end_when_drained_waits_for_nobody_who_does_not_listen(void **state)
{
    (void)state;
    static const struct {
        struct wanted wanted;
        size_t ms; /* of speech that waits */
    } c[] = {{{.stays_away = true}, 0}, {{.direction = "sendonly"}, 500}, {{0}, 0}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &c[i].wanted);
        accept(&w);
        run_for(&w, 300000);
        hear_audio(&w, 1, c[i].ms, true);
        const uint64_t said_us = w.now_us;
        hear(&w, BACKEND_SESSION_END, "{\"when\":\"drained\"}");
        run_to(&w, said_us + 199999);
        assert_true(session_timeline(w.session)->ended_us == 0);
        run_for(&w, 1 + 20000); /* an empty utterance is done in its slot */
        assert_ended(&w, SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED);
        close_world(&w);
    }
}

static void a_backend_that_stays_away_ends_the_call_after_five_seconds(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const size_t before = w.said_count;
    session_backend_lost(w.session, w.now_us);
    const uint64_t lost_us = w.now_us;
    drain(&w);
    assert_int_equal(w.event[1].kind, SESSION_EVENT_BACKEND_LOST);
    assert_true(session_wants_backend(w.session));
    run_to(&w, lost_us + 5 * US_PER_S - 1);
    assert_true(session_timeline(w.session)->ended_us == 0);
    run_for(&w, 1);
    assert_int_equal(w.said_count, before); /* nobody would hear it */
    assert_int_equal(w.event[2].reason, SESSION_END_BACKEND_LOST);
    assert_false(session_wants_backend(w.session));
    run_for(&w, US_PER_S);
    assert_true(session_is_over(w.session));
    assert_true(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

static void a_payload_that_is_no_json_is_the_connections_fault_and_the_call_lives(void **state)
{
    (void)state;
    struct world w;
    const struct backend_frame nonsense = {
        .type = BACKEND_SESSION_END, .session = ID, .payload = bytes_view_of_text("now")};
    open_running(&w);
    assert_false(session_input_frame(w.session, &nonsense, w.now_us));
    session_backend_lost(w.session, w.now_us);
    drain(&w);
    assert_true(session_wants_backend(w.session));
    assert_true(session_timeline(w.session)->ended_us == 0);
    close_world(&w);
}

/* --- our end ---------------------------------------------------------------------------------- */

static void a_hang_up_tells_both_ends_once(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const size_t rtcp_before = w.rtcp_count;
    session_end(w.session, SESSION_END_HANGUP, w.now_us);
    session_end(w.session, SESSION_END_SHUTDOWN, w.now_us);
    session_backend_lost(w.session, w.now_us);
    drain(&w);
    assert_ended(&w, SESSION_END_HANGUP, BACKEND_SESSION_END);
    assert_int_equal(w.rtcp_count, rtcp_before + 1); /* BYE */
    assert_false(session_is_over(w.session));
    assert_false(session_is_connected(w.session));
    run_for(&w, 149999);
    assert_false(session_is_over(w.session));
    run_for(&w, 1);
    assert_true(session_is_over(w.session));
    assert_true(sim_client_heard(w.client)->was_closed);
    assert_int_equal(w.rtcp_count, rtcp_before + 1);
    close_world(&w);
}

static void an_end_before_there_is_a_client_is_over_at_once(void **state)
{
    (void)state;
    struct world w;
    const struct wanted wanted = {.stays_away = true};
    open_world(&w, &wanted);
    session_end(w.session, SESSION_END_SHUTDOWN, w.now_us);
    drain(&w);
    assert_ended(&w, SESSION_END_SHUTDOWN, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    assert_true(session_next_timeout(w.session) == TIME_NEVER);
    close_world(&w);
}

static void a_client_that_hangs_up_ends_the_call(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    sim_client_close(w.client, w.now_us);
    run_for(&w, 100000);
    assert_ended(&w, SESSION_END_CLIENT_CLOSED, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_backend_says_ends_the_call_for_its_reason),
        cmocka_unit_test(done_is_said_before_ended_and_nothing_after_it),
        cmocka_unit_test(an_end_when_drained_plays_the_rest_and_lets_it_reach_the_ear),
        cmocka_unit_test(an_end_when_drained_waits_for_nobody_who_does_not_listen),
        cmocka_unit_test(a_backend_that_stays_away_ends_the_call_after_five_seconds),
        cmocka_unit_test(a_payload_that_is_no_json_is_the_connections_fault_and_the_call_lives),
        cmocka_unit_test(a_hang_up_tells_both_ends_once),
        cmocka_unit_test(an_end_before_there_is_a_client_is_over_at_once),
        cmocka_unit_test(a_client_that_hangs_up_ends_the_call),
    };
    return cmocka_run_group_tests(tests, start_libraries, NULL);
}
