/* session_facts_test.c - what an operator is told about calls, one and all of them */
#include "tests/unit/shard_calls_world.h"

static struct control_request get_request(const char *call_id, uint8_t tenant, bool is_operator)
{
    struct control_request request = {.kind = CONTROL_GET_SESSION};
    struct control_call *call = &request.body.get_session.call;
    (void)snprintf(call->call_id, sizeof(call->call_id), "%s", call_id);
    call->tenant[0] = tenant;
    call->is_operator = is_operator;
    return request;
}

static struct control_request list_request(uint8_t tenant, bool is_operator, uint32_t from)
{
    return (struct control_request){.kind = CONTROL_LIST_SESSIONS,
                                    .body.list_sessions = {.tenant = {tenant},
                                                           .is_operator = is_operator,
                                                           .from_session_id = from}};
}

/* The value of that name; absent: UINT64_MAX. */
static uint64_t fact(const struct control_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->count; i++) {
        if (strcmp(facts->fact[i].name, name) == 0) {
            return facts->fact[i].value;
        }
    }
    return UINT64_MAX;
}

static void a_call_tells_its_state_and_when_it_came_to_it(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct control_request create = create_request("rtc_a", 1);
    create.body.create_session.offer_unix_us = UNIX_OFFSET_US + NOW_US - 3000;
    assert_int_equal(ask(&w, &create), CONTROL_REFUSAL_NONE);
    const uint32_t id = w.reply.session_id;
    const struct control_request get = get_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &get), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.kind, CONTROL_GET_SESSION);
    assert_string_equal(w.reply.row.call_id, "rtc_a");
    assert_int_equal(w.reply.row.session_id, id);
    assert_int_equal(w.reply.row.state, CONTROL_SESSION_CHECKING);
    assert_true(w.reply.row.offer_unix_us == UNIX_OFFSET_US + NOW_US - 3000);
    assert_int_equal(w.reply.end_reason.len, 0);
    assert_int_equal(w.reply.timeline.count, 1);
    assert_int_equal(fact(&w.reply.timeline, "answer"), 3000);
    assert_int_equal(fact(&w.reply.counters, "ice_generation"), 0);
    assert_int_equal(fact(&w.reply.counters, "in_taken"), 0);
    close_world(&w);
}

static void every_counter_has_a_name_of_its_own_and_all_fit(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "rtt_us",   "in_jitter_us",  "in_lost",         "in_concealed", "in_fec_us", "out_packets",
        "out_lost", "out_jitter_us", "channels_opened", "events_in",    "sidebands"};
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    const struct control_request get = get_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &get), CONTROL_REFUSAL_NONE);
    const struct control_facts *counters = &w.reply.counters;
    assert_in_range(counters->count, COUNT_OF(wanted), CONTROL_FACTS_MAX);
    for (size_t i = 0; i < counters->count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(counters->fact[i].name, counters->fact[k].name);
        }
    }
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_int_equal(fact(counters, wanted[i]), 0);
    }
    close_world(&w);
}

/* A clock that is ahead of ours tells nothing about time. */
static void an_offer_from_the_future_came_just_now(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    static const uint64_t unix_us[] = {UNIX_OFFSET_US + NOW_US + 1, UINT64_MAX, 0, 1};
    for (size_t i = 0; i < COUNT_OF(unix_us); i++) {
        struct control_request create = create_request("rtc_a", 1);
        create.body.create_session.offer_unix_us = unix_us[i];
        assert_int_equal(ask(&w, &create), CONTROL_REFUSAL_NONE);
        const struct control_request get = get_request("rtc_a", 1, false);
        assert_int_equal(ask(&w, &get), CONTROL_REFUSAL_NONE);
        assert_int_equal(fact(&w.reply.timeline, "answer"), 0);
        const struct control_request end = end_request("rtc_a", 1, false);
        assert_int_equal(ask(&w, &end), CONTROL_REFUSAL_NONE);
    }
    close_world(&w);
}

static void an_ended_call_tells_why_until_it_is_freed(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    session_end(session_registry_find(w.calls.registry, id), SESSION_END_DURATION, NOW_US);
    const struct control_request get = get_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &get), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row.state, CONTROL_SESSION_ENDED);
    assert_true(bytes_equal(w.reply.end_reason, bytes_view_of_text("duration")));
    assert_int_equal(fact(&w.reply.timeline, "ended"), 0);
    close_world(&w);
}

static void a_call_is_told_to_its_tenant_and_to_an_operator(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    static const struct {
        uint8_t tenant;
        bool is_operator;
        enum control_refusal refusal;
    } c[] = {{1, false, CONTROL_REFUSAL_NONE},
             {2, false, CONTROL_NOT_FOUND},
             {2, true, CONTROL_REFUSAL_NONE}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        const struct control_request get = get_request("rtc_a", c[i].tenant, c[i].is_operator);
        assert_int_equal(ask(&w, &get), c[i].refusal);
    }
    close_world(&w);
}

static void a_list_has_the_callers_calls_and_an_operators_has_all(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    (void)place(&w, "rtc_b", 2);
    struct control_request list = list_request(2, false, 0);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.kind, CONTROL_LIST_SESSIONS);
    assert_int_equal(w.reply.row_count, 1);
    assert_string_equal(w.reply.rows[0].call_id, "rtc_b");
    assert_int_equal(w.reply.next_session_id, 0);
    list = list_request(0, true, 0);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row_count, 2);
    list = list_request(3, false, 0);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row_count, 0);
    close_world(&w);
}

/* 501 calls: a page of 500, and one more; other tenants' calls make no page. */
static void a_list_goes_on_where_the_page_ended(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    uint32_t id[CONTROL_ROWS_MAX + 1];
    for (size_t i = 0; i < COUNT_OF(id); i++) {
        char call_id[16];
        (void)snprintf(call_id, sizeof(call_id), "rtc_%zu", i);
        id[i] = place(&w, call_id, 1);
        outbox_frames_end(&w.frames);
    }
    (void)place(&w, "rtc_other", 2);
    struct control_request list = list_request(1, false, 0);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row_count, CONTROL_ROWS_MAX);
    assert_int_equal(w.reply.rows[0].session_id, id[0]);
    assert_int_equal(w.reply.next_session_id, id[CONTROL_ROWS_MAX]);
    list = list_request(1, false, w.reply.next_session_id);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row_count, 1);
    assert_int_equal(w.reply.rows[0].session_id, id[CONTROL_ROWS_MAX]);
    assert_int_equal(w.reply.next_session_id, 0);
    list = list_request(1, false, UINT32_MAX);
    assert_int_equal(ask(&w, &list), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.row_count, 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_tells_its_state_and_when_it_came_to_it),
        cmocka_unit_test(every_counter_has_a_name_of_its_own_and_all_fit),
        cmocka_unit_test(an_offer_from_the_future_came_just_now),
        cmocka_unit_test(an_ended_call_tells_why_until_it_is_freed),
        cmocka_unit_test(a_call_is_told_to_its_tenant_and_to_an_operator),
        cmocka_unit_test(a_list_has_the_callers_calls_and_an_operators_has_all),
        cmocka_unit_test(a_list_goes_on_where_the_page_ended),
    };
    return cmocka_run_group_tests(tests, make_identity, drop_identity);
}
