/* sideband_inject_test.c - what a side-band says: one event after the other, up to its end */
#include "tests/unit/sideband_listener_world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
