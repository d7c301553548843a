/* session_registry_test.c - ids, generations, and the order of deadlines */
#include "tests/testing.h"

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/session/session_registry.h"

/* The registry never looks inside a session: any pointer will do. */
static struct session *marker(size_t number)
{
    static char memory[64];
    return (struct session *)(void *)&memory[number];
}

static void a_full_registry_gives_no_id(void **state)
{
    (void)state;
    struct session_registry *r = session_registry_create(3, 2);
    const uint32_t a = session_registry_reserve(r);
    const uint32_t b = session_registry_reserve(r);
    assert_int_equal(a, 3u << 26 | 1);
    assert_int_equal(b, 3u << 26 | 1 << 8 | 1);
    assert_int_equal(session_registry_reserve(r), 0);
    session_registry_remove(r, a);
    assert_int_equal(session_registry_reserve(r), 3u << 26 | 2);
    assert_int_equal(session_registry_count(r), 2);
    session_registry_destroy(r);
}

static void an_old_generation_and_another_shard_find_nobody(void **state)
{
    (void)state;
    struct session_registry *r = session_registry_create(1, 4);
    const uint32_t id = session_registry_reserve(r);
    assert_null(session_registry_find(r, id));
    session_registry_put(r, id, marker(1));
    assert_ptr_equal(session_registry_find(r, id), marker(1));
    assert_null(session_registry_find(r, id ^ 1u << 26));
    assert_null(session_registry_find(r, id + 1));
    assert_null(session_registry_find(r, id | 200u << 8));
    assert_null(session_registry_find(r, 0));
    session_registry_remove(r, id);
    assert_null(session_registry_find(r, id));
    session_registry_destroy(r);
}

static void a_generation_is_never_zero(void **state)
{
    (void)state;
    struct session_registry *r = session_registry_create(0, 1);
    for (int i = 0; i < 600; i++) {
        const uint32_t id = session_registry_reserve(r);
        assert_true((id & 0xff) != 0);
        session_registry_remove(r, id);
    }
    session_registry_destroy(r);
}

static void deadlines_come_in_order_whatever_changes_in_between(void **state)
{
    (void)state;
    enum { SESSIONS = 50, STEPS = 20000 };
    struct session_registry *r = session_registry_create(0, SESSIONS);
    uint32_t id[SESSIONS];
    uint64_t deadline_us[SESSIONS];
    struct random_generator random;
    random_generator_init(&random, 7);
    for (size_t i = 0; i < SESSIONS; i++) {
        id[i] = session_registry_reserve(r);
        session_registry_put(r, id[i], marker(i));
        deadline_us[i] = TIME_NEVER;
    }
    for (size_t step = 0; step < STEPS; step++) {
        const size_t i = random_generator_next(&random) % SESSIONS;
        deadline_us[i] = random_generator_next(&random) % 5 == 0
                             ? TIME_NEVER
                             : 1 + random_generator_next(&random) % 1000;
        session_registry_set_deadline(r, id[i], deadline_us[i]);
        uint64_t first_us = TIME_NEVER;
        for (size_t k = 0; k < SESSIONS; k++) {
            first_us = time_earlier(first_us, deadline_us[k]);
        }
        assert_int_equal(session_registry_next_deadline(r), first_us);
        if (first_us != TIME_NEVER && step % 3 == 0) {
            assert_int_equal(session_registry_take_due(r, first_us - 1), 0);
            const uint32_t due = session_registry_take_due(r, first_us);
            assert_int_equal(deadline_us[due >> 8], first_us);
            deadline_us[due >> 8] = TIME_NEVER;
        }
    }
    session_registry_destroy(r);
}

static void the_walk_meets_each_session_once_and_may_remove_it(void **state)
{
    (void)state;
    struct session_registry *r = session_registry_create(0, 8);
    uint32_t id[8];
    for (size_t i = 0; i < 8; i++) {
        id[i] = session_registry_reserve(r);
        session_registry_put(r, id[i], marker(i));
    }
    session_registry_remove(r, id[3]);
    size_t cursor = 0;
    size_t met = 0;
    for (struct session *s; (s = session_registry_next(r, &cursor)) != NULL; met++) {
        assert_ptr_not_equal(s, marker(3));
        session_registry_remove(r, id[cursor - 1]);
    }
    assert_int_equal(met, 7);
    assert_int_equal(session_registry_count(r), 0);
    session_registry_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_registry_gives_no_id),
        cmocka_unit_test(an_old_generation_and_another_shard_find_nobody),
        cmocka_unit_test(a_generation_is_never_zero),
        cmocka_unit_test(deadlines_come_in_order_whatever_changes_in_between),
        cmocka_unit_test(the_walk_meets_each_session_once_and_may_remove_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
