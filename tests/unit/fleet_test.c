/* fleet_test.c - who is there, since when, and whose word counts */
#include "tests/testing.h"

#include "services/signaling/fleet.h"

#include <stdio.h>

#define START_US (100 * US_PER_S)

static struct fleet *fleet;

static int open_fleet(void **state)
{
    (void)state;
    fleet = fleet_create(1);
    return fleet != NULL ? 0 : -1;
}

static int close_fleet(void **state)
{
    (void)state;
    fleet_destroy(fleet);
    return 0;
}

static struct control_announcement announcement(uint32_t instance_id, uint64_t sequence)
{
    return (struct control_announcement){.cluster_id = 1,
                                         .instance_id = instance_id,
                                         .control_url = "tcp://127.0.0.1:7001",
                                         .capacity = 10,
                                         .state = CONTROL_STATE_READY,
                                         .start_time_unix_us = 5000,
                                         .sequence = sequence};
}

static enum fleet_news hear(const struct control_announcement *a, uint64_t now_us)
{
    size_t slot = 0;
    return fleet_hear(fleet, a, &slot, now_us);
}

static void an_instance_lives_two_seconds_after_its_last_word(void **state)
{
    (void)state;
    const struct control_announcement a = announcement(7, 1);
    assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    const struct fleet_instance *i = fleet_at(fleet, fleet_find(fleet, 7));
    assert_true(fleet_instance_is_live(i, START_US + FLEET_LEASE_US));
    assert_false(fleet_instance_is_live(i, START_US + FLEET_LEASE_US + 1));
    assert_false(fleet_instance_is_forgotten(i, START_US + FLEET_MEMORY_US));
    assert_true(fleet_instance_is_forgotten(i, START_US + FLEET_MEMORY_US + 1));
}

static void a_sequence_number_heard_before_changes_nothing(void **state)
{
    (void)state;
    struct control_announcement a = announcement(7, 5);
    assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    a.sessions_active = 9;
    assert_int_equal(hear(&a, START_US + 1), FLEET_STALE);
    a.sequence = 4;
    assert_int_equal(hear(&a, START_US + 1), FLEET_STALE);
    const struct fleet_instance *i = fleet_at(fleet, fleet_find(fleet, 7));
    assert_int_equal(i->said.sessions_active, 0);
    assert_int_equal(i->heard_us, START_US);
    a.sequence = 6;
    assert_int_equal(hear(&a, START_US + 2), FLEET_UPDATED);
    assert_int_equal(i->said.sessions_active, 9);
    assert_int_equal(i->heard_us, START_US + 2);
}

static void of_two_with_one_id_the_older_start_wins(void **state)
{
    (void)state;
    struct control_announcement old = announcement(7, 5);
    struct control_announcement young = announcement(7, 50);
    young.start_time_unix_us = old.start_time_unix_us + 1;
    assert_int_equal(hear(&young, START_US), FLEET_ADDED);
    assert_int_equal(hear(&old, START_US), FLEET_IMPOSTOR_OUT);
    assert_int_equal(hear(&young, START_US), FLEET_IMPOSTOR);
    const struct fleet_instance *i = fleet_at(fleet, fleet_find(fleet, 7));
    assert_int_equal(i->said.sequence, 5);
}

static void the_same_process_at_another_address_is_not_believed(void **state)
{
    (void)state;
    struct control_announcement a = announcement(7, 1);
    assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    (void)snprintf(a.control_url, sizeof(a.control_url), "tcp://127.0.0.1:9999");
    a.sequence = 2;
    assert_int_equal(hear(&a, START_US), FLEET_IMPOSTOR);
}

static void other_clusters_and_no_instance_are_ignored(void **state)
{
    (void)state;
    struct control_announcement a = announcement(7, 1);
    a.cluster_id = 2;
    assert_int_equal(hear(&a, START_US), FLEET_FOREIGN);
    a = announcement(0, 1);
    assert_int_equal(hear(&a, START_US), FLEET_FOREIGN);
    assert_int_equal(fleet_slot_end(fleet), 0);
}

static void the_last_slot_is_filled_and_one_more_is_refused(void **state)
{
    (void)state;
    for (uint32_t id = 1; id <= FLEET_INSTANCES_MAX; id++) {
        const struct control_announcement a = announcement(id, 1);
        assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    }
    const struct control_announcement one_more = announcement(5000, 1);
    const struct control_announcement known = announcement(1, 2);
    assert_int_equal(hear(&one_more, START_US), FLEET_FULL);
    assert_int_equal(hear(&known, START_US), FLEET_UPDATED);
    fleet_remove(fleet, 500);
    assert_int_equal(hear(&one_more, START_US), FLEET_ADDED);
    assert_int_equal(fleet_find(fleet, 5000), 500);
}

static void a_removed_instance_is_found_no_more_and_others_keep_their_slots(void **state)
{
    (void)state;
    for (uint32_t id = 1; id <= 3; id++) {
        const struct control_announcement a = announcement(id, 1);
        assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    }
    fleet_remove(fleet, fleet_find(fleet, 2));
    assert_int_equal(fleet_find(fleet, 2), FLEET_INSTANCES_MAX);
    assert_null(fleet_at(fleet, 1));
    assert_int_equal(fleet_at(fleet, 2)->said.instance_id, 3);
    fleet_remove(fleet, 2);
    assert_int_equal(fleet_slot_end(fleet), 1);
}

static void calls_given_count_until_the_instance_speaks_again(void **state)
{
    (void)state;
    struct control_announcement a = announcement(7, 1);
    assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    fleet_note_placed(fleet, 7);
    fleet_note_placed(fleet, 7);
    fleet_note_placed(fleet, 8); /* unknown: nothing happens */
    const struct fleet_instance *i = fleet_at(fleet, fleet_find(fleet, 7));
    assert_int_equal(i->placed_count, 2);
    a.sequence = 2;
    assert_int_equal(hear(&a, START_US), FLEET_UPDATED);
    assert_int_equal(i->placed_count, 0);
}

static void a_call_that_is_over_counts_no_more_and_never_below_none(void **state)
{
    (void)state;
    const struct control_announcement a = announcement(7, 1);
    assert_int_equal(hear(&a, START_US), FLEET_ADDED);
    const struct fleet_instance *i = fleet_at(fleet, fleet_find(fleet, 7));
    fleet_note_freed(fleet, 7); /* one that the instance counted itself */
    assert_int_equal(i->placed_count, 0);
    fleet_note_placed(fleet, 7);
    fleet_note_placed(fleet, 7);
    fleet_note_freed(fleet, 7);
    fleet_note_freed(fleet, 8); /* unknown: nothing happens */
    assert_int_equal(i->placed_count, 1);
}

#define FLEET_TEST(name) cmocka_unit_test_setup_teardown(name, open_fleet, close_fleet)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLEET_TEST(an_instance_lives_two_seconds_after_its_last_word),
        FLEET_TEST(a_sequence_number_heard_before_changes_nothing),
        FLEET_TEST(of_two_with_one_id_the_older_start_wins),
        FLEET_TEST(the_same_process_at_another_address_is_not_believed),
        FLEET_TEST(other_clusters_and_no_instance_are_ignored),
        FLEET_TEST(the_last_slot_is_filled_and_one_more_is_refused),
        FLEET_TEST(a_removed_instance_is_found_no_more_and_others_keep_their_slots),
        FLEET_TEST(calls_given_count_until_the_instance_speaks_again),
        FLEET_TEST(a_call_that_is_over_counts_no_more_and_never_below_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
