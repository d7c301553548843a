/* shard_calls_test.c - requests of signaling, whose call is whose, and that all is counted */
#include "tests/unit/shard_calls_world.h"

static void a_call_is_made_counted_and_planned(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    const struct session *s = session_registry_find(w.calls.registry, id);
    assert_non_null(s);
    assert_int_equal(metric_get(&w.calls.counters.sessions_created), 1);
    assert_int_equal(metric_get(&w.calls.counters.sessions_active), 1);
    assert_int_equal(metric_get(&w.calls.counters.sessions_pending), 1);
    assert_true(session_registry_next_deadline(w.calls.registry) == session_next_timeout(s));
    close_world(&w);
}

/* wire-formats.md, "Placement and session messages": a mismatch is not_found. */
static void a_call_is_ended_by_its_tenant_or_by_an_operator_only(void **state)
{
    (void)state;
    static const struct {
        const char *call_id;
        uint8_t tenant;
        bool is_operator;
        bool is_ended;
    } c[] = {
        {"rtc_b", 1, false, true},  {"rtc_b", 2, false, false}, {"rtc_b", 2, true, true},
        {"rtc_c", 1, false, false}, {"rtc_c", 1, true, false},  {"", 1, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        (void)place(&w, "rtc_a", 1);
        const uint32_t id = place(&w, "rtc_b", 1);
        const struct control_request request =
            end_request(c[i].call_id, c[i].tenant, c[i].is_operator);
        assert_int_equal(ask(&w, &request),
                         c[i].is_ended ? CONTROL_REFUSAL_NONE : CONTROL_NOT_FOUND);
        assert_int_equal(session_registry_find(w.calls.registry, id) == NULL, c[i].is_ended);
        assert_int_equal(metric_get(&w.calls.counters.sessions_ended[SESSION_END_HANGUP]),
                         c[i].is_ended);
        assert_int_equal(metric_get(&w.calls.counters.sessions_active), c[i].is_ended ? 1 : 2);
        assert_int_equal(metric_get(&w.calls.counters.sessions_pending), c[i].is_ended ? 1 : 2);
        if (c[i].is_ended) {
            assert_int_equal(w.reply.kind, CONTROL_END_SESSION);
            const struct backend_frame end = outbox_frames_expect(&w.frames, BACKEND_SESSION_END);
            assert_int_equal(end.session, id);
        }
        outbox_frames_end(&w.frames);
        close_world(&w);
    }
}

static void an_ended_call_is_not_found_again(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    const struct control_request request = end_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &request), CONTROL_REFUSAL_NONE);
    assert_int_equal(ask(&w, &request), CONTROL_NOT_FOUND);
    close_world(&w);
}

static void a_request_from_the_future_is_told_so(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct control_request request = {.request_id = {1}, .kind = CONTROL_REQUEST_UNKNOWN};
    assert_int_equal(ask(&w, &request), CONTROL_NOT_IMPLEMENTED);
    close_world(&w);
}

static void a_draining_shard_takes_no_call_and_still_ends_them(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    w.calls.is_draining = true;
    const struct control_request create = create_request("rtc_b", 1);
    assert_int_equal(ask(&w, &create), CONTROL_DRAINING);
    const struct control_request end = end_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &end), CONTROL_REFUSAL_NONE);
    close_world(&w);
}

static void a_refused_call_is_not_counted_as_one(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct control_request request = create_request("rtc_a", 1);
    request.body.create_session.offer_sdp = bytes_view_of_text("nonsense");
    assert_int_equal(ask(&w, &request), CONTROL_BAD_OFFER);
    assert_int_equal(metric_get(&w.calls.counters.sessions_created), 0);
    assert_int_equal(w.calls.setup.pending_count, 0);
    assert_int_equal(session_registry_count(w.calls.registry), 0);
    close_world(&w);
}

/* Ends by time: the session is freed, its reason counted, its pending place given back. */
static void a_call_that_ends_by_itself_gives_everything_back(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (int round = 0; round < 100; round++) {
        const uint32_t id = place(&w, "rtc_a", 1);
        const uint64_t due_us = session_registry_next_deadline(w.calls.registry);
        assert_true(due_us == NOW_US + 2 * US_PER_S); /* no ACCEPT */
        assert_int_equal(session_registry_take_due(w.calls.registry, due_us), id);
        struct session *s = session_registry_find(w.calls.registry, id);
        session_tick(s, due_us);
        shard_calls_settle(&w.calls, s, due_us);
        assert_null(session_registry_find(w.calls.registry, id));
        outbox_frames_expect(&w.frames, BACKEND_SESSION_END);
        outbox_frames_end(&w.frames);
    }
    assert_int_equal(metric_get(&w.calls.counters.sessions_ended[SESSION_END_BACKEND_UNAVAILABLE]),
                     100);
    assert_int_equal(metric_get(&w.calls.counters.sessions_active), 0);
    assert_int_equal(w.calls.setup.pending_count, 0);
    assert_true(session_registry_next_deadline(w.calls.registry) == TIME_NEVER);
    close_world(&w);
}

static void the_next_turn_of_a_session_is_later_than_now(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    struct session *s = session_registry_find(w.calls.registry, id);
    const uint64_t late_us = session_next_timeout(s) + 5 * US_PER_S; /* it was not ticked */
    shard_calls_settle(&w.calls, s, late_us);
    assert_true(session_registry_next_deadline(w.calls.registry) == late_us + 1);
    close_world(&w);
}

/* The connection broke, or was full, when its START was to leave. */
static void a_call_that_could_not_begin_tries_again_in_a_while(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    outbox_frames_end(&w.frames);
    assert_true(shard_calls_next_move(&w.calls) == TIME_NEVER);
    shard_calls_backend_refused(&w.calls, id, NOW_US);
    const uint64_t again_us = NOW_US + 200 * US_PER_MS;
    assert_true(shard_calls_next_move(&w.calls) == again_us);
    shard_calls_backend_refused(&w.calls, id, NOW_US); /* of each frame that was to begin it */
    shard_calls_backend_found(&w.calls, false, 10, again_us);
    const struct backend_frame start = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    assert_int_equal(start.session, id);
    shard_calls_backend_found(&w.calls, false, 10, again_us);
    assert_true(shard_calls_next_move(&w.calls) == TIME_NEVER);
    shard_calls_backend_lost(&w.calls, id, again_us); /* this time at once */
    assert_true(shard_calls_next_move(&w.calls) == again_us);
    shard_calls_backend_refused(&w.calls, id + 1, again_us); /* it has ended meanwhile */
    close_world(&w);
}

static void a_half_made_shard_can_be_taken_apart(void **state)
{
    (void)state;
    struct shard_calls calls = {0};
    shard_calls_deinit(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_made_counted_and_planned),
        cmocka_unit_test(a_call_is_ended_by_its_tenant_or_by_an_operator_only),
        cmocka_unit_test(an_ended_call_is_not_found_again),
        cmocka_unit_test(a_request_from_the_future_is_told_so),
        cmocka_unit_test(a_draining_shard_takes_no_call_and_still_ends_them),
        cmocka_unit_test(a_refused_call_is_not_counted_as_one),
        cmocka_unit_test(a_call_that_ends_by_itself_gives_everything_back),
        cmocka_unit_test(the_next_turn_of_a_session_is_later_than_now),
        cmocka_unit_test(a_call_that_could_not_begin_tries_again_in_a_while),
        cmocka_unit_test(a_half_made_shard_can_be_taken_apart),
    };
    return cmocka_run_group_tests(tests, make_identity, drop_identity);
}
