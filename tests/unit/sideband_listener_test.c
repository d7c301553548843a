/* sideband_listener_test.c - attached, renewed, heard and said; and every way to the last word */
#include "tests/testing.h"

#include "services/signaling/sideband_listener.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL     "rtc_Aone"
#define ID       7
#define START_US (100 * US_PER_S)

static struct {
    struct random_generator random;
    struct sideband_listener listener;
    struct control_request request; /* the last one */
    enum sideband_news_kind kind;   /* the last news */
    struct bytes_view text;
} w;

static int open_listener(void **state)
{
    (void)state;
    const struct control_call call = {.call_id = CALL, .tenant = {9}};
    random_generator_init(&w.random, 18);
    sideband_listener_init(&w.listener, &call, ID, random_seeded(&w.random), START_US);
    return 0;
}

static int close_listener(void **state)
{
    (void)state;
    sideband_listener_deinit(&w.listener);
    return 0;
}

static bool asks(enum control_request_kind kind, uint64_t now_us)
{
    return sideband_listener_poll_request(&w.listener, &w.request, now_us) &&
           w.request.kind == kind;
}

static bool asks_nothing(uint64_t now_us)
{
    return !sideband_listener_poll_request(&w.listener, &w.request, now_us);
}

static void reply(enum control_request_kind kind, struct control_reply reply, uint64_t now_us)
{
    const struct session_outcome outcome = {.kind = SESSION_REPLIED, .reply = reply};
    sideband_listener_take_outcome(&w.listener, kind, &outcome, now_us);
}

static void attach_reply(uint64_t sequence, bool is_new, uint64_t now_us)
{
    reply(CONTROL_ATTACH_SIDEBAND,
          (struct control_reply){.kind = CONTROL_ATTACH_SIDEBAND,
                                 .sideband_sequence = sequence,
                                 .is_new_sideband = is_new},
          now_us);
}

static void refuse(enum control_request_kind kind, enum control_refusal refusal, uint64_t now_us)
{
    reply(kind, (struct control_reply){.refusal = refusal}, now_us);
}

static void no_reply(enum control_request_kind kind, enum session_outcome_kind how, uint64_t now_us)
{
    const struct session_outcome outcome = {.kind = how};
    sideband_listener_take_outcome(&w.listener, kind, &outcome, now_us);
}

static void hear(uint64_t sequence, uint32_t sideband_id, const char *text)
{
    const struct control_sideband_event event = {.call_id = CALL,
                                                 .sideband_id = sideband_id,
                                                 .sequence = sequence,
                                                 .text = bytes_view_of_text(text)};
    sideband_listener_hear(&w.listener, &event);
}

static bool has_news(void)
{
    return sideband_listener_poll_news(&w.listener, &w.kind, &w.text);
}

static void expect_event(const char *text)
{
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_EVENT);
    assert_true(bytes_equal(w.text, bytes_view_of_text(text)));
}

static void expect_last(enum sideband_news_kind kind)
{
    assert_true(has_news());
    assert_int_equal(w.kind, kind);
    assert_false(has_news());
    hear(99, 0, "late");
    assert_false(has_news());
}

/* Attached when the call had had that many events. */
static void attach(uint64_t sequence)
{
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    attach_reply(sequence, true, START_US);
    assert_true(has_news());
    assert_int_equal(w.kind, SIDEBAND_OPENED);
    assert_false(has_news());
}

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

/* --- what it says ----------------------------------------------------------------------------- */

static bool say(const char *event)
{
    return sideband_listener_send(&w.listener, bytes_view_of_text(event));
}

static void expect_inject(const char *event, uint64_t now_us)
{
    assert_true(asks(CONTROL_INJECT_EVENT, now_us));
    assert_true(bytes_equal(w.request.body.inject_event.event, bytes_view_of_text(event)));
    assert_int_equal(w.request.body.inject_event.sideband_id, ID);
    assert_true(asks_nothing(now_us)); /* one at a time, so they stay in order */
}

static void events_go_one_after_the_other_once_it_is_attached(void **state)
{
    (void)state;
    assert_true(say("one"));
    assert_true(say("two"));
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    assert_true(asks_nothing(START_US));
    attach_reply(0, true, START_US);
    expect_inject("one", START_US);
    reply(CONTROL_INJECT_EVENT, (struct control_reply){.kind = CONTROL_INJECT_EVENT}, START_US);
    expect_inject("two", START_US);
    reply(CONTROL_INJECT_EVENT, (struct control_reply){.kind = CONTROL_INJECT_EVENT}, START_US);
    assert_true(asks_nothing(START_US));
}

/* An answer that was lost: the transceiver knows the request by its id. */
static void a_request_without_an_answer_is_the_same_when_it_is_made_again(void **state)
{
    (void)state;
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES];
    attach(0);
    assert_true(say("one"));
    expect_inject("one", START_US);
    memcpy(request_id, w.request.request_id, sizeof(request_id));
    no_reply(CONTROL_INJECT_EVENT, SESSION_SILENT, START_US);
    const uint64_t again_us = sideband_listener_next_timeout(&w.listener);
    assert_in_range(again_us, START_US + 1, START_US + US_PER_S);
    expect_inject("one", again_us);
    assert_memory_equal(w.request.request_id, request_id, sizeof(request_id));
}

/* That refusal is stored under its request id. */
static void an_event_waits_for_a_backend_and_asks_as_if_for_the_first_time(void **state)
{
    (void)state;
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES];
    attach(0);
    assert_true(say("one"));
    expect_inject("one", START_US);
    memcpy(request_id, w.request.request_id, sizeof(request_id));
    reply(CONTROL_INJECT_EVENT,
          (struct control_reply){.refusal = CONTROL_BACKEND_UNAVAILABLE, .retry_after_ms = 200},
          START_US);
    assert_true(asks_nothing(START_US + 199 * US_PER_MS));
    expect_inject("one", START_US + 200 * US_PER_MS);
    assert_memory_not_equal(w.request.request_id, request_id, sizeof(request_id));
}

static void an_event_that_is_not_taken_asks_what_became_of_the_call(void **state)
{
    (void)state;
    attach(0);
    assert_true(say("one"));
    expect_inject("one", START_US);
    refuse(CONTROL_INJECT_EVENT, CONTROL_NOT_FOUND, START_US);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    refuse(CONTROL_ATTACH_SIDEBAND, CONTROL_NOT_FOUND, START_US);
    assert_true(asks_nothing(START_US + US_PER_S));
    sideband_listener_tick(&w.listener, START_US + US_PER_S);
    expect_last(SIDEBAND_CALL_ENDED);
}

static void what_is_too_long_or_too_much_is_refused(void **state)
{
    (void)state;
    static uint8_t event[CONTROL_EVENT_BYTES_MAX + 1];
    attach(0);
    assert_false(sideband_listener_send(&w.listener, bytes_view_of(event, sizeof(event))));
    for (size_t i = 0; i < SIDEBAND_QUEUE_BYTES_MAX / CONTROL_EVENT_BYTES_MAX; i++) {
        assert_true(
            sideband_listener_send(&w.listener, bytes_view_of(event, CONTROL_EVENT_BYTES_MAX)));
    }
    assert_false(say("one more"));
    (void)close_listener(state);
    (void)open_listener(state);
    for (size_t i = 0; i < SIDEBAND_QUEUE_COUNT_MAX; i++) {
        assert_true(say(""));
    }
    assert_false(say(""));
}

static void who_closes_says_the_rest_and_leaves(void **state)
{
    (void)state;
    attach(0);
    assert_true(say("one"));
    hear(1, 0, "unheard");
    sideband_listener_close(&w.listener, START_US);
    assert_false(has_news());
    assert_true(say("too late"));
    expect_inject("one", START_US);
    assert_false(sideband_listener_is_over(&w.listener));
    reply(CONTROL_INJECT_EVENT, (struct control_reply){.kind = CONTROL_INJECT_EVENT}, START_US);
    assert_int_equal(sideband_listener_next_timeout(&w.listener), 0);
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US));
    assert_int_equal(w.request.body.attach_sideband.lease_ms, 0);
    assert_true(sideband_listener_is_over(&w.listener));
    assert_int_equal(sideband_listener_next_timeout(&w.listener), TIME_NEVER);
}

static void who_closes_lingers_two_seconds_at_most(void **state)
{
    (void)state;
    attach(0);
    assert_true(say("one"));
    expect_inject("one", START_US);
    sideband_listener_close(&w.listener, START_US);
    assert_true(asks_nothing(START_US + 2 * US_PER_S - 1));
    assert_true(asks(CONTROL_ATTACH_SIDEBAND, START_US + 2 * US_PER_S));
    assert_true(sideband_listener_is_over(&w.listener));
}

static void who_closes_before_it_was_asked_for_leaves_without_a_word(void **state)
{
    (void)state;
    sideband_listener_close(&w.listener, START_US);
    assert_true(asks_nothing(START_US));
    assert_true(sideband_listener_is_over(&w.listener));
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, open_listener, close_listener)

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
        LISTENING(events_go_one_after_the_other_once_it_is_attached),
        LISTENING(a_request_without_an_answer_is_the_same_when_it_is_made_again),
        LISTENING(an_event_waits_for_a_backend_and_asks_as_if_for_the_first_time),
        LISTENING(an_event_that_is_not_taken_asks_what_became_of_the_call),
        LISTENING(what_is_too_long_or_too_much_is_refused),
        LISTENING(who_closes_says_the_rest_and_leaves),
        LISTENING(who_closes_lingers_two_seconds_at_most),
        LISTENING(who_closes_before_it_was_asked_for_leaves_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
