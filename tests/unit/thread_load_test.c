/* thread_load_test.c - a thread that sleeps is idle, one that does not is busy */
#include "tests/testing.h"

#include "services/transceiver/port/thread_load.h"

static void a_measurement_is_due_each_second(void **state)
{
    (void)state;
    struct thread_load l = {.since_us = 5 * US_PER_S};
    uint64_t cpu = 0;
    uint64_t busy = 0;
    assert_false(thread_load_measure(&l, &cpu, &busy, 6 * US_PER_S - 1));
    assert_true(thread_load_measure(&l, &cpu, &busy, 6 * US_PER_S));
    assert_false(thread_load_measure(&l, &cpu, &busy, 7 * US_PER_S - 1));
    assert_true(thread_load_measure(&l, &cpu, &busy, 7 * US_PER_S));
}

static void what_was_not_slept_was_busy(void **state)
{
    (void)state;
    static const struct {
        uint64_t asleep_us;
        uint64_t busy;
    } t[] = {{0, 1000}, {250000, 750}, {1000000, 0}, {1000001, 0}};
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        struct thread_load l = {.since_us = US_PER_S};
        uint64_t cpu = 0;
        uint64_t busy = 0;
        thread_load_note_sleep(&l, t[i].asleep_us / 2);
        thread_load_note_sleep(&l, t[i].asleep_us - t[i].asleep_us / 2);
        assert_true(thread_load_measure(&l, &cpu, &busy, 2 * US_PER_S));
        assert_int_equal(busy, t[i].busy);
        /* And the sleep of one second does not count in the next. */
        assert_true(thread_load_measure(&l, &cpu, &busy, 3 * US_PER_S));
        assert_int_equal(busy, 1000);
    }
}

/* The virtual second below holds whatever this thread really computes in between. */
static void cpu_is_that_of_the_thread_since_the_measurement_before(void **state)
{
    (void)state;
    struct thread_load l = {0};
    uint64_t cpu = 0;
    uint64_t busy = 0;
    assert_true(thread_load_measure(&l, &cpu, &busy, US_PER_S));
    for (volatile uint64_t i = 0; i < 20000000; i++) {
    }
    assert_true(thread_load_measure(&l, &cpu, &busy, 2 * US_PER_S));
    const uint64_t working = cpu;
    assert_true(thread_load_measure(&l, &cpu, &busy, 3 * US_PER_S));
    assert_true(working > cpu + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measurement_is_due_each_second),
        cmocka_unit_test(what_was_not_slept_was_busy),
        cmocka_unit_test(cpu_is_that_of_the_thread_since_the_measurement_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
