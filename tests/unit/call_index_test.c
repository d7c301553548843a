/* call_index_test.c - calls are found by their ids, whoever came and went before */
#include "tests/testing.h"

#include "services/transceiver/core/session/call_index.h"

#include <stdbool.h>
#include <stdio.h>

#define CAPACITY 500
/* session id = [shard 6 | slot 18 | generation 8] */
#define ID(slot, generation) ((uint32_t)(slot) << 8 | (generation))

static struct call_index *calls;

static int open_index(void **state)
{
    (void)state;
    calls = call_index_create(CAPACITY);
    return calls != NULL ? 0 : -1;
}

static int close_index(void **state)
{
    (void)state;
    call_index_destroy(calls);
    return 0;
}

/* How many there are to compare, and whether this one is among them. */
static size_t look(const char *call_id, uint32_t wanted, bool *is_there)
{
    size_t count = 0;
    *is_there = false;
    for (uint32_t id = call_index_first(calls, call_id); id != 0; id = call_index_next(calls, id)) {
        *is_there = *is_there || id == wanted;
        assert_in_range(++count, 1, CAPACITY);
    }
    return count;
}

static bool has(const char *call_id, uint32_t wanted)
{
    bool is_there = false;
    (void)look(call_id, wanted, &is_there);
    return is_there;
}

static const char *name_of(unsigned n)
{
    static char name[32];
    (void)snprintf(name, sizeof(name), "rtc_%u", n);
    return name;
}

static void every_call_is_found_among_few(void **state)
{
    (void)state;
    size_t compared = 0;
    for (unsigned n = 0; n < CAPACITY; n++) {
        call_index_put(calls, name_of(n), ID(n, 1));
    }
    for (unsigned n = 0; n < CAPACITY; n++) {
        bool is_there = false;
        compared += look(name_of(n), ID(n, 1), &is_there);
        assert_true(is_there);
    }
    assert_in_range(compared, CAPACITY, 3 * CAPACITY);
}

static void a_call_that_left_is_not_found_and_the_others_are(void **state)
{
    (void)state;
    for (unsigned n = 0; n < CAPACITY; n++) {
        call_index_put(calls, name_of(n), ID(n, 1));
    }
    for (unsigned n = 0; n < CAPACITY; n += 3) {
        call_index_remove(calls, name_of(n), ID(n, 1));
    }
    for (unsigned n = 0; n < CAPACITY; n++) {
        assert_true(has(name_of(n), ID(n, 1)) == (n % 3 != 0));
    }
    for (unsigned n = 0; n < CAPACITY; n += 3) { /* another call in the same slot */
        call_index_put(calls, name_of(CAPACITY + n), ID(n, 2));
        assert_true(has(name_of(CAPACITY + n), ID(n, 2)));
        assert_false(has(name_of(n), ID(n, 2)) && has(name_of(n), ID(n, 1)));
    }
}

static void two_calls_of_one_name_are_both_found_the_youngest_first(void **state)
{
    (void)state;
    call_index_put(calls, "rtc_same", ID(3, 1));
    call_index_put(calls, "rtc_same", ID(0, 1));
    assert_int_equal(call_index_first(calls, "rtc_same"), ID(0, 1));
    assert_int_equal(call_index_next(calls, ID(0, 1)), ID(3, 1));
    assert_int_equal(call_index_next(calls, ID(3, 1)), 0);
    call_index_remove(calls, "rtc_same", ID(3, 1));
    assert_int_equal(call_index_first(calls, "rtc_same"), ID(0, 1));
    assert_int_equal(call_index_next(calls, ID(0, 1)), 0);
    call_index_remove(calls, "rtc_same", ID(0, 1));
    assert_int_equal(call_index_first(calls, "rtc_same"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_is_found_among_few, open_index, close_index),
        cmocka_unit_test_setup_teardown(a_call_that_left_is_not_found_and_the_others_are,
                                        open_index, close_index),
        cmocka_unit_test_setup_teardown(two_calls_of_one_name_are_both_found_the_youngest_first,
                                        open_index, close_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
