/* worker_cpus_test.c - who is pinned, and where */
#include "tests/testing.h"

#include "services/relay/worker_cpus.h"

#include <sched.h>

static void a_quota_of_one_and_a_half_cpus_is_fractional(void **state)
{
    (void)state;
    static const struct {
        const char *cpu_max;
        bool is_fractional;
    } table[] = {{"max 100000\n", false},
                 {"200000 100000\n", false},
                 {"150000 100000\n", true},
                 {"50000 100000\n", true},
                 {"", false},
                 {"junk", false},
                 {"100000", false},
                 {"100000 0\n", false}};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_int_equal(worker_cpus_is_fractional_quota(table[i].cpu_max), table[i].is_fractional);
    }
}

static void each_worker_has_its_own_cpu_of_the_mask(void **state)
{
    (void)state;
    struct worker_cpus cpus = {.cpu = {3, 5, 9}, .count = 3};
    assert_int_equal(worker_cpus_choose(&cpus, 0, 3), 3);
    assert_int_equal(worker_cpus_choose(&cpus, 2, 3), 9);
    assert_int_equal(worker_cpus_choose(&cpus, 0, 4), -1); /* more workers than CPUs */
    cpus.has_fractional_quota = true;
    assert_int_equal(worker_cpus_choose(&cpus, 0, 1), -1);
}

static void the_mask_of_this_process_counts(void **state)
{
    (void)state;
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
    const struct worker_cpus cpus = worker_cpus_read();
    assert_true(cpus.count >= 1 && cpus.count <= (size_t)CPU_COUNT(&mask));
    for (size_t i = 0; i < cpus.count; i++) {
        assert_true(CPU_ISSET((size_t)cpus.cpu[i], &mask));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quota_of_one_and_a_half_cpus_is_fractional),
        cmocka_unit_test(each_worker_has_its_own_cpu_of_the_mask),
        cmocka_unit_test(the_mask_of_this_process_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
