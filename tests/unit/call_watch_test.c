/* call_watch_test.c - what is told of watched calls: leases, the end, and nothing twice */
#include "tests/testing.h"

#include "services/signaling/call_watch.h"

#define START_US (100 * US_PER_S)
#define CALL     "rtc_Aone"
#define OTHER    "rtc_Atwo"

static struct fleet *fleet;
static struct call_watch *watch;
static uint64_t sequence;

static int open_watch(void **state)
{
    (void)state;
    fleet = fleet_create(1);
    watch = call_watch_create();
    return fleet != NULL && watch != NULL ? 0 : -1;
}

static int close_watch(void **state)
{
    (void)state;
    call_watch_destroy(watch);
    fleet_destroy(fleet);
    return 0;
}

static void announce(uint32_t instance_id, uint64_t now_us)
{
    const struct control_announcement a = {
        .cluster_id = 1, .instance_id = instance_id, .sequence = ++sequence};
    size_t slot = 0;
    (void)fleet_hear(fleet, &a, &slot, now_us);
}

static uint64_t add(const char *call_id, uint64_t owner)
{
    struct control_call call = {.tenant = {1, 2, 3}};
    memcpy(call.call_id, call_id, strlen(call_id));
    return call_watch_add(watch, &call, 7, CALL_WATCH_SIGNAL, owner, START_US);
}

/* One piece of news at most: what there is at now_us. */
static bool next(struct call_news *out, uint64_t now_us)
{
    return call_watch_next(watch, fleet, out, now_us);
}

static void a_lease_that_runs_out_and_comes_back_is_told_within_a_second(void **state)
{
    (void)state;
    struct call_news news;
    announce(7, START_US);
    const uint64_t handle = add(CALL, 42);
    assert_int_not_equal(handle, 0);
    assert_false(next(&news, START_US + FLEET_LEASE_US));
    assert_true(next(&news, START_US + FLEET_LEASE_US + US_PER_S));
    assert_int_equal(news.kind, CALL_NEWS_UNREACHABLE);
    assert_int_equal(news.handle, handle);
    assert_int_equal(news.owner, 42);
    assert_false(next(&news, START_US + FLEET_LEASE_US + US_PER_S));
    assert_false(next(&news, START_US + FLEET_LEASE_US + 2 * US_PER_S));

    announce(7, START_US + 10 * US_PER_S);
    assert_true(next(&news, START_US + 10 * US_PER_S));
    assert_int_equal(news.kind, CALL_NEWS_REACHABLE);
    assert_false(next(&news, START_US + 11 * US_PER_S));
}

static void an_end_is_told_at_once_and_is_the_last_word(void **state)
{
    (void)state;
    struct call_news news;
    announce(7, START_US);
    (void)add(CALL, 1);
    (void)add(OTHER, 2);
    assert_false(next(&news, START_US));
    call_watch_note_ended(watch, CALL, bytes_view_of_text("hangup"));
    call_watch_note_ended(watch, CALL, bytes_view_of_text("later"));
    assert_true(next(&news, START_US + 1));
    assert_int_equal(news.kind, CALL_NEWS_ENDED);
    assert_int_equal(news.owner, 1);
    assert_string_equal(news.reason, "hangup");
    assert_false(next(&news, START_US + 1));
    call_watch_note_ended(watch, CALL, bytes_view_of_text("again"));
    assert_false(next(&news, START_US + US_PER_S));
}

static void a_route_that_is_given_up_ends_its_calls(void **state)
{
    (void)state;
    struct call_news news;
    announce(7, START_US);
    (void)add(CALL, 1);
    fleet_remove(fleet, fleet_find(fleet, 7));
    assert_true(next(&news, START_US));
    assert_int_equal(news.kind, CALL_NEWS_ENDED);
    assert_string_equal(news.reason, CALL_WATCH_LOST);
    assert_false(next(&news, START_US + US_PER_S));
}

static void who_was_removed_hears_nothing_and_an_old_handle_removes_nobody(void **state)
{
    (void)state;
    struct call_news news;
    announce(7, START_US);
    const uint64_t old = add(CALL, 1);
    call_watch_remove(watch, old);
    const uint64_t young = add(CALL, 2);
    assert_int_not_equal(old, young);
    call_watch_remove(watch, old);
    call_watch_note_ended(watch, CALL, bytes_view_of_text("hangup"));
    assert_true(next(&news, START_US));
    assert_int_equal(news.owner, 2);
    call_watch_remove(watch, young);
}

static void a_reason_is_cut_at_its_bound_and_a_watch_too_many_is_refused(void **state)
{
    (void)state;
    static char text[CONTROL_TEXT_CHARS_MAX + 2];
    struct call_news news;
    announce(7, START_US);
    for (size_t i = 0; i < CALL_WATCH_MAX; i++) {
        assert_int_not_equal(add(CALL, i), 0);
    }
    assert_int_equal(add(CALL, 0), 0);
    memset(text, 'x', sizeof(text) - 1);
    call_watch_note_ended(watch, CALL, bytes_view_of_text(text));
    for (size_t i = 0; i < CALL_WATCH_MAX; i++) {
        assert_true(next(&news, START_US));
        assert_int_equal(strlen(news.reason), CONTROL_TEXT_CHARS_MAX);
    }
    assert_false(next(&news, START_US));
    assert_int_not_equal(add(CALL, 0), 0);
}

static void each_call_is_asked_for_again_and_again(void **state)
{
    (void)state;
    struct call_question question;
    struct call_news news;
    announce(7, START_US);
    (void)add(CALL, 1);
    (void)add(OTHER, 2);
    assert_false(call_watch_next_question(watch, &question, START_US + CALL_WATCH_ASK_US - 1));
    for (uint64_t i = 1; i <= 3; i++) {
        const uint64_t now_us = START_US + i * CALL_WATCH_ASK_US;
        assert_true(call_watch_next_question(watch, &question, now_us));
        assert_string_equal(question.call.call_id, CALL);
        assert_int_equal(question.call.tenant[2], 3);
        assert_int_equal(question.instance_id, 7);
        assert_true(call_watch_next_question(watch, &question, now_us));
        assert_string_equal(question.call.call_id, OTHER);
        assert_false(call_watch_next_question(watch, &question, now_us));
    }
    call_watch_note_ended(watch, OTHER, bytes_view_of_text(CALL_WATCH_GONE));
    assert_true(next(&news, START_US));
    assert_int_equal(news.owner, 2);
    assert_string_equal(news.reason, CALL_WATCH_GONE);
    assert_true(call_watch_next_question(watch, &question, START_US + 4 * CALL_WATCH_ASK_US));
    assert_string_equal(question.call.call_id, CALL);
    assert_false(call_watch_next_question(watch, &question, START_US + 4 * CALL_WATCH_ASK_US));
}

static void a_call_that_is_new_is_asked_for_in_its_own_time(void **state)
{
    (void)state;
    struct call_question question;
    assert_false(call_watch_next_question(watch, &question, START_US));
    (void)add(CALL, 1);
    assert_true(call_watch_next_question(watch, &question, START_US + CALL_WATCH_ASK_US));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_lease_that_runs_out_and_comes_back_is_told_within_a_second, open_watch, close_watch),
        cmocka_unit_test_setup_teardown(each_call_is_asked_for_again_and_again, open_watch,
                                        close_watch),
        cmocka_unit_test_setup_teardown(a_call_that_is_new_is_asked_for_in_its_own_time, open_watch,
                                        close_watch),
        cmocka_unit_test_setup_teardown(an_end_is_told_at_once_and_is_the_last_word, open_watch,
                                        close_watch),
        cmocka_unit_test_setup_teardown(a_route_that_is_given_up_ends_its_calls, open_watch,
                                        close_watch),
        cmocka_unit_test_setup_teardown(
            who_was_removed_hears_nothing_and_an_old_handle_removes_nobody, open_watch,
            close_watch),
        cmocka_unit_test_setup_teardown(
            a_reason_is_cut_at_its_bound_and_a_watch_too_many_is_refused, open_watch, close_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
