/* placement_test.c - the call goes where there is room, and nowhere twice */
#include "tests/testing.h"

#include "services/signaling/placement.h"

#define NOW_US (100 * US_PER_S)
#define NOBODY 0

/* One transceiver of a case; instance ids count from 1. */
struct member {
    uint32_t capacity;
    uint32_t active;
    enum control_state state;
    bool backend_up;
    uint64_t age_us;
};

static struct fleet *fleet_of(const struct member *member, size_t count)
{
    struct fleet *f = fleet_create(1);
    assert_non_null(f);
    for (size_t i = 0; i < count && member[i].capacity > 0; i++) {
        const struct control_announcement a = {.cluster_id = 1,
                                               .instance_id = (uint32_t)i + 1,
                                               .capacity = member[i].capacity,
                                               .sessions_active = member[i].active,
                                               .state = member[i].state,
                                               .backend_up = member[i].backend_up,
                                               .sequence = 1};
        size_t slot;
        assert_int_equal(fleet_hear(f, &a, &slot, NOW_US - member[i].age_us), FLEET_ADDED);
    }
    return f;
}

/* The instance that was chosen, or NOBODY. */
static uint32_t choose(const struct fleet *f, const struct placement_tried *tried, uint32_t random,
                       enum placement_result expected)
{
    size_t slot = 0;
    assert_int_equal(placement_choose(f, tried, random, &slot, NOW_US), expected);
    return expected == PLACEMENT_FOUND ? fleet_at(f, slot)->said.instance_id : NOBODY;
}

#define READY    CONTROL_STATE_READY
#define FULL     CONTROL_STATE_FULL
#define DRAINING CONTROL_STATE_DRAINING
#define STOPPING CONTROL_STATE_STOPPING
#define UNKNOWN  CONTROL_STATE_UNKNOWN

static void each_case_is_placed_as_the_table_says(void **state)
{
    (void)state;
    static const struct {
        struct member member[3];
        enum placement_result result;
        uint32_t instance_id;
    } placement_case[] = {
        /* nobody at all */
        {{{0}}, PLACEMENT_NO_TRANSCEIVER, NOBODY},
        /* the smaller share wins, not the smaller number */
        {{{10, 5, READY, true, 0}, {100, 20, READY, true, 0}}, PLACEMENT_FOUND, 2},
        {{{100, 20, READY, true, 0}, {10, 1, READY, true, 0}}, PLACEMENT_FOUND, 2},
        /* the last place is given, then there is none */
        {{{10, 9, READY, true, 0}}, PLACEMENT_FOUND, 1},
        {{{10, 10, READY, true, 0}}, PLACEMENT_NO_ROOM, NOBODY},
        {{{10, 11, READY, true, 0}}, PLACEMENT_NO_ROOM, NOBODY},
        /* states other than ready take nothing */
        {{{10, 0, FULL, true, 0}, {10, 0, DRAINING, true, 0}, {10, 0, STOPPING, true, 0}},
         PLACEMENT_NO_ROOM,
         NOBODY},
        {{{10, 0, UNKNOWN, true, 0}}, PLACEMENT_NO_ROOM, NOBODY},
        /* the lease */
        {{{10, 0, READY, true, FLEET_LEASE_US}}, PLACEMENT_FOUND, 1},
        {{{10, 0, READY, true, FLEET_LEASE_US + 1}}, PLACEMENT_NO_TRANSCEIVER, NOBODY},
        {{{10, 0, READY, true, FLEET_LEASE_US + 1}, {10, 0, FULL, true, 0}},
         PLACEMENT_NO_ROOM,
         NOBODY},
        /* a backend counts more than load, and its lack is told apart */
        {{{10, 0, READY, false, 0}, {10, 9, READY, true, 0}}, PLACEMENT_FOUND, 2},
        {{{10, 0, READY, false, 0}, {10, 5, READY, false, 0}}, PLACEMENT_NO_BACKEND, NOBODY},
        {{{10, 0, READY, false, FLEET_LEASE_US + 1}}, PLACEMENT_NO_TRANSCEIVER, NOBODY},
    };
    const struct placement_tried none = {.count = 0};
    for (size_t i = 0; i < COUNT_OF(placement_case); i++) {
        struct fleet *f = fleet_of(placement_case[i].member, 3);
        for (uint32_t random = 0; random < 3; random++) {
            assert_int_equal(choose(f, &none, random, placement_case[i].result),
                             placement_case[i].instance_id);
        }
        fleet_destroy(f);
    }
}

static void nobody_is_asked_twice(void **state)
{
    (void)state;
    static const struct member member[] = {
        {10, 0, READY, true, 0}, {10, 1, READY, true, 0}, {10, 2, READY, true, 0}};
    struct fleet *f = fleet_of(member, 3);
    struct placement_tried tried = {.count = 0};
    for (uint32_t expected = 1; expected <= 3; expected++) {
        assert_int_equal(choose(f, &tried, 0, PLACEMENT_FOUND), expected);
        tried.instance_id[tried.count++] = expected;
    }
    assert_int_equal(choose(f, &tried, 0, PLACEMENT_NO_ROOM), NOBODY);
    fleet_destroy(f);
}

static void equals_take_turns_by_chance(void **state)
{
    (void)state;
    static const struct member member[] = {
        {10, 1, READY, true, 0}, {10, 1, READY, true, 0}, {10, 1, READY, true, 0}};
    struct fleet *f = fleet_of(member, 3);
    const struct placement_tried none = {.count = 0};
    for (uint32_t random = 0; random < 9; random++) {
        assert_int_equal(choose(f, &none, random, PLACEMENT_FOUND), random % 3 + 1);
    }
    fleet_destroy(f);
}

/* Twenty calls in the half second between two announcements: no instance is overrun. */
static void a_burst_spreads_although_announcements_lag(void **state)
{
    (void)state;
    static const struct member member[] = {{10, 0, READY, true, 0}, {10, 0, READY, true, 0}};
    struct fleet *f = fleet_of(member, 2);
    const struct placement_tried none = {.count = 0};
    unsigned given[3] = {0};
    for (uint32_t call = 0; call < 20; call++) {
        const uint32_t instance_id = choose(f, &none, 0, PLACEMENT_FOUND);
        fleet_note_placed(f, instance_id);
        given[instance_id]++;
    }
    assert_int_equal(given[1], 10);
    assert_int_equal(given[2], 10);
    assert_int_equal(choose(f, &none, 0, PLACEMENT_NO_ROOM), NOBODY);
    fleet_destroy(f);
}

/* 190 of 200 calls, 20 of them still in set-up: the announcement counts those among the 190. */
static void pending_calls_are_among_the_active_ones(void **state)
{
    (void)state;
    struct fleet *f = fleet_create(1);
    assert_non_null(f);
    const struct control_announcement a = {.cluster_id = 1,
                                           .instance_id = 1,
                                           .capacity = 200,
                                           .sessions_active = 190,
                                           .sessions_pending = 20,
                                           .state = READY,
                                           .backend_up = true,
                                           .sequence = 1};
    size_t slot;
    assert_int_equal(fleet_hear(f, &a, &slot, NOW_US), FLEET_ADDED);
    const struct placement_tried none = {.count = 0};
    for (unsigned given = 0; given < 10; given++) {
        assert_int_equal(choose(f, &none, 0, PLACEMENT_FOUND), 1);
        fleet_note_placed(f, 1);
    }
    assert_int_equal(choose(f, &none, 0, PLACEMENT_NO_ROOM), NOBODY);
    fleet_note_freed(f, 1);
    assert_int_equal(choose(f, &none, 0, PLACEMENT_FOUND), 1);
    fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_placed_as_the_table_says),
        cmocka_unit_test(nobody_is_asked_twice),
        cmocka_unit_test(equals_take_turns_by_chance),
        cmocka_unit_test(a_burst_spreads_although_announcements_lag),
        cmocka_unit_test(pending_calls_are_among_the_active_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
