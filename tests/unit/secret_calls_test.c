/* secret_calls_test.c - how many calls live of each client secret */
#include "tests/testing.h"

#include "services/signaling/access/secret_calls.h"

#include <stdio.h>

static struct secret_calls *calls;

static int open_calls(void **state)
{
    (void)state;
    calls = secret_calls_create();
    return calls != NULL ? 0 : -1;
}

static int close_calls(void **state)
{
    (void)state;
    secret_calls_destroy(calls);
    return 0;
}

static void each_secret_has_a_count_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(secret_calls_count(calls, "sess_a"), 0);
    const size_t first = secret_calls_take(calls, "sess_a");
    const size_t other = secret_calls_take(calls, "sess_b");
    const size_t second = secret_calls_take(calls, "sess_a");
    assert_int_equal(secret_calls_count(calls, "sess_a"), 2);
    assert_int_equal(secret_calls_count(calls, "sess_b"), 1);
    secret_calls_give_back(calls, first);
    assert_int_equal(secret_calls_count(calls, "sess_a"), 1);
    assert_int_equal(secret_calls_take(calls, "sess_c"), first);
    secret_calls_give_back(calls, other);
    secret_calls_give_back(calls, second);
    assert_int_equal(secret_calls_count(calls, "sess_a"), 0);
    assert_int_equal(secret_calls_count(calls, "sess_b"), 0);
    assert_int_equal(secret_calls_count(calls, "sess_c"), 1);
}

static void what_is_no_secret_has_no_place(void **state)
{
    (void)state;
    assert_int_equal(secret_calls_take(calls, ""), SECRET_CALLS_NONE);
    secret_calls_give_back(calls, SECRET_CALLS_NONE);
    assert_int_equal(secret_calls_count(calls, ""), 0);
}

static void a_call_too_many_does_not_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < SECRET_CALLS_MAX; i++) {
        assert_int_equal(secret_calls_take(calls, "sess_a"), i);
    }
    assert_int_equal(secret_calls_take(calls, "sess_b"), SECRET_CALLS_NONE);
    secret_calls_give_back(calls, 7);
    assert_int_equal(secret_calls_take(calls, "sess_b"), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_secret_has_a_count_of_its_own, open_calls,
                                        close_calls),
        cmocka_unit_test_setup_teardown(what_is_no_secret_has_no_place, open_calls, close_calls),
        cmocka_unit_test_setup_teardown(a_call_too_many_does_not_count, open_calls, close_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
