/* flow_cache_retry_test.c - when Redis is tried again, and what is told of it */
#include "tests/testing.h"

#include "services/relay/flow_cache/flow_cache_retry.h"

#define START_US (100 * US_PER_S)

static void each_loss_doubles_the_wait_up_to_five_seconds(void **state)
{
    static const uint32_t wait_ms[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    struct flow_cache_retry r;
    uint64_t now_us = START_US;
    (void)state;
    flow_cache_retry_init(&r);
    for (size_t i = 0; i < COUNT_OF(wait_ms); i++) {
        assert_int_equal(flow_cache_retry_note_lost(&r, now_us), i == 0); /* told once */
        assert_int_equal(r.next_try_us, now_us + wait_ms[i] * US_PER_MS);
        now_us = r.next_try_us;
    }
}

static void another_reason_is_told_but_not_more_than_one_in_ten_seconds(void **state)
{
    struct flow_cache_retry r;
    (void)state;
    flow_cache_retry_init(&r);
    assert_true(flow_cache_retry_note_lost(&r, START_US));
    assert_true(flow_cache_retry_note_reason(&r, "refused", START_US));
    const uint64_t due_us = START_US + FLOW_CACHE_REASON_US;
    assert_false(flow_cache_retry_note_reason(&r, "WRONGPASS", due_us - 1));
    assert_false(flow_cache_retry_note_reason(&r, "refused", due_us)); /* no news */
    assert_true(flow_cache_retry_note_reason(&r, "WRONGPASS", due_us));
    assert_false(flow_cache_retry_note_reason(&r, "WRONGPASS", due_us + FLOW_CACHE_REASON_US));
    /* Once it was back, each loss is news. */
    flow_cache_retry_note_greeted(&r, due_us);
    assert_true(flow_cache_retry_take_steady(&r, due_us + FLOW_CACHE_STEADY_US));
    assert_true(flow_cache_retry_note_lost(&r, due_us + FLOW_CACHE_STEADY_US));
    assert_true(flow_cache_retry_note_reason(&r, "WRONGPASS", due_us + FLOW_CACHE_STEADY_US));
}

static void only_a_connection_that_stays_begins_anew(void **state)
{
    static const struct {
        uint64_t life_us;
        bool is_back;
    } row[] = {{0, false}, {FLOW_CACHE_STEADY_US - 1, false}, {FLOW_CACHE_STEADY_US, true}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct flow_cache_retry r;
        flow_cache_retry_init(&r);
        assert_true(flow_cache_retry_note_lost(&r, START_US));
        flow_cache_retry_note_greeted(&r, START_US);
        const uint64_t now_us = START_US + row[i].life_us;
        assert_int_equal(flow_cache_retry_take_steady(&r, now_us), row[i].is_back);
        assert_false(flow_cache_retry_take_steady(&r, now_us)); /* not twice */
        assert_int_equal(flow_cache_retry_note_lost(&r, now_us), row[i].is_back);
        assert_int_equal(r.next_try_us,
                         now_us + FLOW_CACHE_RETRY_MIN_US * (row[i].is_back ? 1 : 2));
    }
}

static void without_a_good_answer_it_is_never_back(void **state)
{
    struct flow_cache_retry r;
    (void)state;
    flow_cache_retry_init(&r);
    assert_false(flow_cache_retry_take_steady(&r, START_US));
    flow_cache_retry_note_greeted(&r, START_US);
    assert_true(flow_cache_retry_note_lost(&r, START_US + 1));
    assert_false(flow_cache_retry_take_steady(&r, START_US + 100 * US_PER_S));
}

/* Ten minutes of a server that greets and hangs up after 5 ms. */
static void one_that_greets_and_hangs_up_makes_one_line(void **state)
{
    struct flow_cache_retry r;
    unsigned lines = 0;
    unsigned tries = 0;
    (void)state;
    flow_cache_retry_init(&r);
    for (uint64_t now_us = START_US; now_us < START_US + 600 * US_PER_S; now_us = r.next_try_us) {
        tries++;
        flow_cache_retry_note_greeted(&r, now_us);
        lines += flow_cache_retry_take_steady(&r, now_us + 5 * US_PER_MS);
        lines += flow_cache_retry_note_lost(&r, now_us + 5 * US_PER_MS);
    }
    assert_int_equal(lines, 1);
    assert_in_range(tries, 1, 130);
}

static void a_new_address_is_tried_at_once(void **state)
{
    struct flow_cache_retry r;
    (void)state;
    flow_cache_retry_init(&r);
    assert_true(flow_cache_retry_note_lost(&r, START_US));
    flow_cache_retry_hurry(&r, START_US + 1);
    assert_int_equal(r.next_try_us, START_US + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_loss_doubles_the_wait_up_to_five_seconds),
        cmocka_unit_test(another_reason_is_told_but_not_more_than_one_in_ten_seconds),
        cmocka_unit_test(only_a_connection_that_stays_begins_anew),
        cmocka_unit_test(without_a_good_answer_it_is_never_back),
        cmocka_unit_test(one_that_greets_and_hangs_up_makes_one_line),
        cmocka_unit_test(a_new_address_is_tried_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
