/* sideband_listener_test.c - attached, renewed, heard; and every way to the last word */
#include "tests/unit/sideband_listener_world.h"

/* --- attachment ------------------------------------------------------------------------------- */

static void it_asks_with_its_call_its_tenant_its_id_and_a_lease(void **state)
{
    (void)state;
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    const struct control_attach_sideband *a = &w.request.body.attach_sideband;
    assert_string_equal(a->call.call_id, CALL);
    assert_int_equal(a->call.tenant[0], 9);
    assert_false(a->call.is_operator);
    assert_int_equal(a->sideband_id, ID);
    assert_int_equal(a->lease_ms, 15000);
    assert_true(asks_nothing(START_US)); /* one at a time */
    attach_reply(0, true, START_US);
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_OPENED);
}

static void it_renews_each_five_seconds(void **state)
{
    (void)state;
    uint64_t now_us = START_US;
    attach(0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sideband_listener_next_timeout(&w.listener), now_us + 5 * US_PER_S);
        assert_true(asks_nothing(now_us + 5 * US_PER_S - 1));
        now_us += 5 * US_PER_S;
        assert_true(asks(CONTROL_ATTACH_SIDEBAND, now_us));
        attach_reply(0, false, now_us);
        assert_false(has_news());
    }
}

static void an_attachment_without_an_answer_is_tried_for_ten_seconds(void **state)
{
    (void)state;
    uint64_t now_us = START_US;
    while (now_us < START_US + 10 * US_PER_S) {
        assert_true(asks(CONTROL_ATTACH_SIDEBAND, now_us));
        no_reply(CONTROL_ATTACH_SIDEBAND, SESSION_SILENT, now_us);
        now_us = sideband_listener_next_timeout(&w.listener);
        sideband_listener_tick(&w.listener, now_us);
    }
    expect_last(SIDEBAND_LOST);
}

static void a_refusal_is_the_last_word(void **state)
{
    (void)state;
    static const struct {
        enum control_refusal refusal;
        enum sideband_news_kind kind;
    } c[] = {
        {CONTROL_NOT_FOUND, SIDEBAND_NOT_FOUND},
        {CONTROL_FULL, SIDEBAND_FULL},
        {CONTROL_NOT_IMPLEMENTED, SIDEBAND_LOST},
        {CONTROL_INTERNAL, SIDEBAND_LOST},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        (void)open_listener(state);
        assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
        refuse(CONTROL_ATTACH_SIDEBAND, c[i].refusal, START_US);
        expect_last(c[i].kind);
        sideband_listener_close(&w.listener, START_US);
        assert_true(asks_nothing(START_US)); /* there is nothing to detach */
        assert_true(sideband_listener_is_over(&w.listener));
        (void)close_listener(state);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void events_come_in_order_and_only_those_for_all_or_for_it(void **state)
{
    (void)state;
    attach(3);
    hear(4, ID, "created");
    hear(5, 8, "for another");
    hear(6, 0, "for all");
    expect_event("created");
    expect_event("for all");
    assert_false(has_news());
    const struct control_sideband_event waiting = {
        .call_id = CALL, .sequence = 7, .waiting = {1, ID}, .waiting_count = 2};
    sideband_listener_hear(&w.listener, &waiting);
    assert_false(has_news());
    hear(8, 0, "next");
    expect_event("next");
}

static void what_came_before_the_reply_waits_for_it(void **state)
{
    (void)state;
    hear(1, 0, "before it was asked for");
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    hear(2, 0, "of the time before");
    hear(3, ID, "created");
    assert_false(has_news());
    attach_reply(2, true, START_US);
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_OPENED);
    expect_event("created");
    assert_false(has_news());
}

static void an_event_that_comes_again_is_not_told_again(void **state)
{
    (void)state;
    attach(0);
    hear(1, 0, "one");
    expect_event("one");
    hear(1, 0, "one");
    assert_false(has_news());
    hear(2, 0, "two");
    expect_event("two");
}

static void a_number_that_is_missing_is_a_gap(void **state)
{
    (void)state;
    attach(0);
    hear(1, 0, "one");
    hear(3, 0, "three");
    hear(4, 0, "four");
    expect_event("one");
    expect_last(SIDEBAND_GAP);
    sideband_listener_close(&w.listener, START_US);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    assert_int_equal(w.request.body.attach_sideband.lease_ms, 0);
    assert_true(sideband_listener_is_over(&w.listener));
}

static void an_event_that_a_renewal_knows_of_must_come_within_a_second(void **state)
{
    (void)state;
    const uint64_t renewed_us = START_US + 5 * US_PER_S;
    for (int comes = 0; comes < 2; comes++) {
        (void)open_listener(state);
        attach(0);
        assert_true(asks(CONTROL_ATTACH_SIDEBAND, renewed_us));
        attach_reply(2, false, renewed_us);
        assert_int_equal(sideband_listener_next_timeout(&w.listener), renewed_us + US_PER_S);
        hear(1, 0, "one");
        expect_event("one");
        if (comes != 0) {
            hear(2, 0, "two");
            expect_event("two");
        }
        sideband_listener_tick(&w.listener, renewed_us + US_PER_S - 1);
        assert_false(has_news());
        sideband_listener_tick(&w.listener, renewed_us + US_PER_S);
        if (comes != 0) {
            assert_false(has_news());
        } else {
            expect_last(SIDEBAND_GAP);
        }
        (void)close_listener(state);
    }
}

static void a_lease_that_had_ended_is_a_gap(void **state)
{
    (void)state;
    attach(0);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US + 20 * US_PER_S));
    attach_reply(0, true, START_US + 20 * US_PER_S);
    expect_last(SIDEBAND_GAP);
}

static void too_much_before_the_reply_is_a_gap(void **state)
{
    (void)state;
    static char event[CONTROL_EVENT_BYTES_MAX];
    memset(event, 'x', sizeof(event) - 1);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    for (uint64_t i = 1; i <= 5; i++) {
        hear(i, 0, event);
    }
    expect_last(SIDEBAND_GAP);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void the_end_of_the_call_has_its_reason(void **state)
{
    (void)state;
    const struct control_sideband_event end = {
        .call_id = CALL, .sequence = 2, .is_end = true, .text = bytes_view_of_text("hangup")};
    attach(0);
    hear(1, 0, "one");
    sideband_listener_hear(&w.listener, &end);
    expect_event("one");
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_CALL_ENDED);
    assert_true(bytes_equal(w.text, bytes_view_of_text("hangup")));
    assert_false(has_news());
    assert_true(asks_nothing(START_US + 5 * US_PER_S));
    sideband_listener_close(&w.listener, START_US);
    assert_true(asks_nothing(START_US));
    assert_true(sideband_listener_is_over(&w.listener));
}

static void a_call_that_a_renewal_does_not_find_has_ended(void **state)
{
    (void)state;
    const uint64_t renewed_us = START_US + 5 * US_PER_S;
    attach(0);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, renewed_us));
    refuse(CONTROL_ATTACH_SIDEBAND, CONTROL_NOT_FOUND, renewed_us);
    assert_false(has_news()); /* why it ended may still come */
    sideband_listener_tick(&w.listener, renewed_us + US_PER_S);
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_CALL_ENDED);
    assert_int_equal(w.text.len, 0);
    assert_false(has_news());
}

static void a_lost_route_is_told_behind_what_came(void **state)
{
    (void)state;
    attach(0);
    hear(1, 0, "one");
    sideband_listener_lose(&w.listener);
    expect_event("one");
    expect_last(SIDEBAND_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LISTENING(it_asks_with_its_call_its_tenant_its_id_and_a_lease),
        LISTENING(it_renews_each_five_seconds),
        LISTENING(an_attachment_without_an_answer_is_tried_for_ten_seconds),
        cmocka_unit_test(a_refusal_is_the_last_word),
        LISTENING(events_come_in_order_and_only_those_for_all_or_for_it),
        LISTENING(what_came_before_the_reply_waits_for_it),
        LISTENING(an_event_that_comes_again_is_not_told_again),
        LISTENING(a_number_that_is_missing_is_a_gap),
        cmocka_unit_test(an_event_that_a_renewal_knows_of_must_come_within_a_second),
        LISTENING(a_lease_that_had_ended_is_a_gap),
        LISTENING(too_much_before_the_reply_is_a_gap),
        LISTENING(the_end_of_the_call_has_its_reason),
        LISTENING(a_call_that_a_renewal_does_not_find_has_ended),
        LISTENING(a_lost_route_is_told_behind_what_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
