/* rate_limit_test.c - buckets empty, fill again, and are each somebody's own */
#include "tests/testing.h"

#include "services/signaling/access/rate_limit.h"

static struct rate_limit *limits;

static int open_limits(void **state)
{
    (void)state;
    static struct random_generator generator;
    random_generator_init(&generator, 1);
    limits = rate_limit_create(random_seeded(&generator));
    return limits != NULL ? 0 : -1;
}

static int close_limits(void **state)
{
    (void)state;
    rate_limit_destroy(limits);
    return 0;
}

static const struct rate five_a_second = {5, US_PER_S};

static unsigned take_all(uint8_t kind, const char *key, uint64_t now_us)
{
    unsigned taken = 0;
    uint64_t wait_us = 0;
    while (taken < 100 && rate_limit_take(limits, kind, bytes_view_of_text(key), five_a_second,
                                          &wait_us, now_us)) {
        taken++;
    }
    return taken;
}

static void a_bucket_gives_its_count_at_once_and_then_evenly(void **state)
{
    (void)state;
    uint64_t wait_us = 0;
    assert_int_equal(take_all(1, "a", US_PER_S), 5);
    assert_false(
        rate_limit_take(limits, 1, bytes_view_of_text("a"), five_a_second, &wait_us, US_PER_S));
    assert_int_equal(wait_us, 200 * US_PER_MS);
    assert_int_equal(take_all(1, "a", US_PER_S + wait_us - 1), 0);
    assert_int_equal(take_all(1, "a", US_PER_S + wait_us), 1);
    assert_int_equal(take_all(1, "a", 2 * US_PER_S + wait_us), 5);
    assert_int_equal(take_all(1, "a", 3600 * US_PER_S), 5);
}

static void who_is_refused_pays_nothing(void **state)
{
    (void)state;
    assert_int_equal(take_all(1, "a", 0), 5);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(take_all(1, "a", 100 * US_PER_MS), 0);
    }
    assert_int_equal(take_all(1, "a", 200 * US_PER_MS), 1);
}

static void others_and_other_kinds_have_their_own(void **state)
{
    (void)state;
    assert_int_equal(take_all(1, "a", 0), 5);
    assert_int_equal(take_all(1, "b", 0), 5);
    assert_int_equal(take_all(2, "a", 0), 5);
    assert_int_equal(take_all(1, "", 0), 5);
}

static void a_count_of_zero_is_no_limit(void **state)
{
    (void)state;
    uint64_t wait_us = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(rate_limit_take(limits, 1, bytes_view_of_text("a"), (struct rate){0, US_PER_S},
                                    &wait_us, 0));
    }
}

static void a_flood_of_strangers_takes_no_bucket_that_is_in_use(void **state)
{
    (void)state;
    assert_int_equal(take_all(1, "busy", 0), 5);
    for (uint32_t i = 0; i < 4 * RATE_LIMIT_BUCKETS; i++) {
        uint64_t wait_us = 0;
        assert_true(rate_limit_take(limits, 2, bytes_view_of((const uint8_t *)&i, sizeof(i)),
                                    five_a_second, &wait_us, 10 + i));
        if (i % 64 == 0) {
            assert_int_equal(take_all(1, "busy", 10 + i), 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_bucket_gives_its_count_at_once_and_then_evenly,
                                        open_limits, close_limits),
        cmocka_unit_test_setup_teardown(who_is_refused_pays_nothing, open_limits, close_limits),
        cmocka_unit_test_setup_teardown(others_and_other_kinds_have_their_own, open_limits,
                                        close_limits),
        cmocka_unit_test_setup_teardown(a_count_of_zero_is_no_limit, open_limits, close_limits),
        cmocka_unit_test_setup_teardown(a_flood_of_strangers_takes_no_bucket_that_is_in_use,
                                        open_limits, close_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
