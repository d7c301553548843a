/* session_tally_test.c - exact counts, an exact limit */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/relay/core/session_tally.h"

static const struct flow_hash_seed seed = {0x0123456789abcdef, 0xfedcba9876543210};

static void a_session_has_32_and_not_33(void **state)
{
    (void)state;
    struct session_tally *t = session_tally_create(64, seed);
    const struct flow_owner owner = {1, 2};
    for (unsigned i = 0; i < SESSION_TALLY_MAX; i++) {
        assert_int_equal(session_tally_count(t, owner), i);
        assert_true(session_tally_add(t, owner));
    }
    assert_false(session_tally_add(t, owner));
    assert_int_equal(session_tally_count(t, owner), SESSION_TALLY_MAX);
    session_tally_remove(t, owner);
    assert_true(session_tally_add(t, owner));
    session_tally_destroy(t);
}

static void an_owner_is_instance_and_session_together(void **state)
{
    (void)state;
    struct session_tally *t = session_tally_create(8, seed);
    assert_true(session_tally_add(t, (struct flow_owner){1, 2}));
    assert_int_equal(session_tally_count(t, (struct flow_owner){1, 2}), 1);
    assert_int_equal(session_tally_count(t, (struct flow_owner){2, 1}), 0);
    assert_int_equal(session_tally_count(t, (struct flow_owner){1, 3}), 0);
    assert_int_equal(session_tally_count(t, (struct flow_owner){2, 2}), 0);
    session_tally_destroy(t);
}

/* As many sessions as the table is for, added and removed at random, against plain counters. */
static void counts_are_exact_while_sessions_come_and_go(void **state)
{
    (void)state;
    enum { SESSIONS = 200, FLOWS = 200, STEPS = 100000 };
    unsigned count[SESSIONS] = {0};
    unsigned total = 0;
    struct session_tally *t = session_tally_create(FLOWS, seed);
    struct random_generator random;
    random_generator_init(&random, 7);
    for (unsigned step = 0; step < STEPS; step++) {
        const uint32_t i = (uint32_t)(random_generator_next(&random) % SESSIONS);
        const struct flow_owner owner = {i % 3, i};
        if (random_generator_next(&random) % 2 == 0 && total < FLOWS) {
            const bool added = session_tally_add(t, owner);
            assert_int_equal(added, count[i] < SESSION_TALLY_MAX);
            count[i] += added;
            total += added;
        } else if (count[i] > 0) {
            session_tally_remove(t, owner);
            count[i]--;
            total--;
        }
        assert_int_equal(session_tally_count(t, owner), count[i]);
    }
    for (uint32_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(session_tally_count(t, (struct flow_owner){i % 3, i}), count[i]);
    }
    session_tally_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_has_32_and_not_33),
        cmocka_unit_test(an_owner_is_instance_and_session_together),
        cmocka_unit_test(counts_are_exact_while_sessions_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
