/* time_us_test.c - never is later than everything, and no time has passed since the future */
#include "tests/testing.h"

#include "common/base/time_us.h"

#include <stdbool.h>

static void never_is_later_than_every_time(void **state)
{
    (void)state;
    assert_true(time_earlier(TIME_NEVER, TIME_NEVER - 1) == TIME_NEVER - 1);
    assert_true(time_earlier(0, TIME_NEVER) == 0);
    assert_true(time_later(TIME_NEVER, TIME_NEVER - 1) == TIME_NEVER);
    assert_true(time_later(0, TIME_NEVER) == TIME_NEVER);
}

static void earlier_and_later_choose_one_of_the_two(void **state)
{
    (void)state;
    static const struct {
        uint64_t a_us;
        uint64_t b_us;
        uint64_t earlier_us;
        uint64_t later_us;
    } c[] = {{1, 2, 1, 2}, {2, 1, 1, 2}, {7, 7, 7, 7}, {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        assert_int_equal(time_earlier(c[i].a_us, c[i].b_us), c[i].earlier_us);
        assert_int_equal(time_later(c[i].a_us, c[i].b_us), c[i].later_us);
    }
}

static void nothing_has_passed_since_what_lies_ahead(void **state)
{
    (void)state;
    assert_int_equal(time_since(5, 9), 4);
    assert_int_equal(time_since(9, 9), 0);
    assert_int_equal(time_since(10, 9), 0);
    assert_int_equal(time_since(TIME_NEVER, 9), 0);
    assert_true(time_since(0, TIME_NEVER) == TIME_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_is_later_than_every_time),
        cmocka_unit_test(earlier_and_later_choose_one_of_the_two),
        cmocka_unit_test(nothing_has_passed_since_what_lies_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
