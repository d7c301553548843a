/* worker_cache_test.c - how long a worker may sleep while it holds something */
#include "tests/testing.h"

#include "services/relay/worker_cache.h"

#define START_US    (100 * US_PER_S)
#define IDLE_MS     100
#define HELD_MAX_US (20 * US_PER_MS) /* docs/wire-formats.md */

/* Holds one datagram, of START_US. */
static struct worker_cache holding(void)
{
    static const uint8_t rtp[60] = {0x80};
    struct net_addr client;
    struct worker_cache c = {.hold = hold_queue_create(1000, 10, (struct flow_hash_seed){0})};
    assert_non_null(c.hold);
    assert_true(net_addr_parse("198.51.100.7:51870", &client));
    assert_int_equal(hold_queue_put(c.hold, &client, bytes_view_of(rtp, sizeof(rtp)), 0, START_US),
                     HOLD_ASK);
    return c;
}

static void a_worker_that_holds_nothing_sleeps_as_it_likes(void **state)
{
    (void)state;
    const struct worker_cache none = {0};
    struct worker_cache empty = {.hold = hold_queue_create(1000, 10, (struct flow_hash_seed){0})};
    assert_int_equal(worker_cache_wait_ms(&none, IDLE_MS, START_US), IDLE_MS);
    assert_int_equal(worker_cache_wait_ms(&empty, IDLE_MS, START_US), IDLE_MS);
    worker_cache_close(&empty);
}

/* From every microsecond on: one sleep reaches the end of the wait, and is no longer than that. */
static void a_worker_sleeps_once_until_what_it_holds_is_overdue(void **state)
{
    (void)state;
    struct worker_cache c = holding();
    const uint64_t end_us = hold_queue_next_timeout(c.hold);
    for (uint64_t now_us = START_US; now_us < end_us; now_us++) {
        const int wait_ms = worker_cache_wait_ms(&c, IDLE_MS, now_us);
        assert_true(wait_ms > 0);
        const uint64_t awake_us = now_us + (uint64_t)wait_ms * US_PER_MS;
        assert_true(awake_us >= end_us);
        assert_true(awake_us < end_us + US_PER_MS);
        assert_true(awake_us <= START_US + HELD_MAX_US);
    }
    assert_int_equal(worker_cache_wait_ms(&c, IDLE_MS, end_us), 0);
    assert_int_equal(worker_cache_wait_ms(&c, IDLE_MS, end_us + US_PER_S), 0);
    worker_cache_close(&c);
}

static void a_short_sleep_stays_short(void **state)
{
    (void)state;
    struct worker_cache c = holding();
    assert_int_equal(worker_cache_wait_ms(&c, 0, START_US), 0);
    assert_int_equal(worker_cache_wait_ms(&c, 3, START_US), 3);
    worker_cache_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_holds_nothing_sleeps_as_it_likes),
        cmocka_unit_test(a_worker_sleeps_once_until_what_it_holds_is_overdue),
        cmocka_unit_test(a_short_sleep_stays_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
