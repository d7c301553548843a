/* route_table_test.c - who may say where a transceiver is, and for how long it counts */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/relay/core/route_table.h"

#define START_US (1000 * US_PER_S)
#define CLUSTER  1

static struct net_addr addr(const char *text)
{
    struct net_addr a;
    assert_true(net_addr_parse(text, &a));
    return a;
}

static struct route_table *table(void)
{
    struct route_networks networks = {.count = 2};
    assert_true(net_block_parse("10.0.0.0/8", &networks.block[0]));
    assert_true(net_block_parse("fd00::/8", &networks.block[1]));
    return route_table_create(CLUSTER, &networks);
}

static struct route_announcement plain(uint32_t instance_id, uint64_t sequence)
{
    return (struct route_announcement){
        .instance_id = instance_id,
        .cluster_id = CLUSTER,
        .shard_count = 2,
        .media_address = addr("10.0.0.5:4000"),
        .start_time_unix_us = 5000,
        .sequence = sequence,
    };
}

static enum route_result announce(struct route_table *t, uint32_t instance_id, uint64_t sequence,
                                  uint64_t now_us)
{
    const struct route_announcement a = plain(instance_id, sequence);
    return route_table_announce(t, &a, now_us);
}

static bool is_at(const struct route_table *t, uint32_t instance_id, uint32_t shard,
                  const char *expected, uint64_t now_us)
{
    struct net_addr found;
    const struct net_addr wanted = addr(expected);
    return route_table_find(t, instance_id, shard, &found, now_us) &&
           net_addr_equal(&found, &wanted);
}

static bool is_known(const struct route_table *t, uint32_t instance_id, uint64_t now_us)
{
    struct net_addr found;
    return route_table_find(t, instance_id, 0, &found, now_us);
}

static void a_shard_is_at_base_port_plus_shard(void **state)
{
    (void)state;
    struct route_table *t = table();
    assert_int_equal(announce(t, 7, 1, START_US), ROUTE_NEW);
    assert_true(is_at(t, 7, 0, "10.0.0.5:4000", START_US));
    assert_true(is_at(t, 7, 1, "10.0.0.5:4001", START_US));
    struct net_addr found;
    assert_false(route_table_find(t, 7, 2, &found, START_US));
    assert_false(route_table_find(t, 8, 0, &found, START_US));
    route_table_destroy(t);
}

static void an_absent_shard_count_is_one_shard(void **state)
{
    (void)state;
    struct route_table *t = table();
    struct route_announcement a = plain(7, 1);
    a.shard_count = 0;
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_NEW);
    struct net_addr found;
    assert_true(route_table_find(t, 7, 0, &found, START_US));
    assert_false(route_table_find(t, 7, 1, &found, START_US));
    route_table_destroy(t);
}

static void a_route_lives_60_s_after_the_last_word_of_it(void **state)
{
    (void)state;
    struct route_table *t = table();
    assert_int_equal(announce(t, 7, 1, START_US), ROUTE_NEW);
    assert_true(is_known(t, 7, START_US + ROUTE_LIFE_US - 1));
    assert_false(is_known(t, 7, START_US + ROUTE_LIFE_US));

    const uint64_t later_us = START_US + 50 * US_PER_S;
    const struct net_addr from = addr("10.0.0.5:4000");
    assert_int_equal(announce(t, 7, 2, START_US + 10 * US_PER_S), ROUTE_KEPT);
    route_table_heard(t, 7, &from, later_us);
    assert_true(is_known(t, 7, later_us + ROUTE_LIFE_US - 1));
    route_table_tick(t, later_us + ROUTE_LIFE_US);
    assert_int_equal(route_table_count(t), 0);
    route_table_destroy(t);
}

static void who_is_lost_is_told_once(void **state)
{
    (void)state;
    struct route_table *t = table();
    const uint64_t over_us = START_US + ROUTE_LIFE_US;
    uint32_t lost = 0;
    assert_int_equal(announce(t, 7, 1, START_US), ROUTE_NEW);
    assert_int_equal(announce(t, 8, 1, START_US + 1), ROUTE_NEW);
    assert_false(route_table_take_lost(t, &lost, over_us - 1));
    assert_true(route_table_take_lost(t, &lost, over_us));
    assert_int_equal(lost, 7);
    assert_false(route_table_take_lost(t, &lost, over_us));
    assert_int_equal(route_table_count(t), 1);
    route_table_destroy(t);
}

static void only_a_newer_sequence_counts(void **state)
{
    (void)state;
    struct route_table *t = table();
    assert_int_equal(announce(t, 7, 5, START_US), ROUTE_NEW);
    assert_int_equal(announce(t, 7, 5, START_US + 30 * US_PER_S), ROUTE_STALE);
    assert_int_equal(announce(t, 7, 4, START_US + 30 * US_PER_S), ROUTE_STALE);
    assert_false(is_known(t, 7, START_US + ROUTE_LIFE_US));
    assert_int_equal(announce(t, 7, 1, START_US + ROUTE_LIFE_US), ROUTE_NEW); /* it was over */
    assert_int_equal(announce(t, 7, 2, START_US + ROUTE_LIFE_US), ROUTE_KEPT);
    route_table_destroy(t);
}

static void of_two_addresses_the_older_process_wins(void **state)
{
    (void)state;
    struct route_table *t = table();
    assert_int_equal(announce(t, 7, 5, START_US), ROUTE_NEW);
    struct route_announcement other = plain(7, 100);
    other.media_address = addr("10.0.0.6:4000");
    other.start_time_unix_us = 5001;
    assert_int_equal(route_table_announce(t, &other, START_US), ROUTE_CONFLICT);
    other.start_time_unix_us = 5000;
    assert_int_equal(route_table_announce(t, &other, START_US), ROUTE_CONFLICT);
    assert_true(is_at(t, 7, 0, "10.0.0.5:4000", START_US));
    other.start_time_unix_us = 4999;
    other.sequence = 1;
    assert_int_equal(route_table_announce(t, &other, START_US), ROUTE_MOVED);
    assert_true(is_at(t, 7, 0, "10.0.0.6:4000", START_US));
    assert_int_equal(announce(t, 7, 6, START_US), ROUTE_CONFLICT);
    assert_int_equal(route_table_count(t), 1);
    route_table_destroy(t);
}

static void nobody_can_announce_an_address_outside_the_networks(void **state)
{
    (void)state;
    static const char *const forbidden[] = {
        "127.0.0.1:4000", "[::1]:4000",         "169.254.169.254:80", "192.0.2.1:4000",
        "0.0.0.0:4000",   "[2001:db8::1]:4000", "11.0.0.1:4000",      "10.0.0.5:0",
        "10.0.0.5:65473", /* shard 63 would be past the last port */
    };
    struct route_table *t = table();
    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        struct route_announcement a = plain(7, 1);
        a.media_address = addr(forbidden[i]);
        assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_FORBIDDEN);
    }
    struct route_announcement a = plain(7, 1);
    assert_true(net_addr_parse_ip("::ffff:127.0.0.1", 4000, &a.media_address));
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_FORBIDDEN);
    a = plain(7, 1);
    a.shard_count = ROUTE_SHARDS_MAX + 1;
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_FORBIDDEN);
    a = plain(7, 1);
    a.cluster_id = CLUSTER + 1;
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_OTHER_CLUSTER);
    assert_int_equal(route_table_count(t), 0);

    a = plain(7, 1);
    a.media_address = addr("10.0.0.5:65472");
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_NEW);
    a = plain(8, 1);
    a.media_address = addr("[fd00::5]:4000");
    assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_NEW);
    route_table_destroy(t);
}

static void a_multicast_address_is_no_transceiver_even_in_a_wide_network(void **state)
{
    (void)state;
    struct route_networks everything = {.count = 2};
    assert_true(net_block_parse("0.0.0.0/0", &everything.block[0]));
    assert_true(net_block_parse("::/0", &everything.block[1]));
    struct route_table *t = route_table_create(CLUSTER, &everything);
    static const char *const forbidden[] = {"224.0.0.1:4000", "255.255.255.255:4000",
                                            "[ff02::1]:4000", "0.0.0.0:4000", "[::]:4000"};
    for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
        struct route_announcement a = plain(7, 1);
        a.media_address = addr(forbidden[i]);
        assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_FORBIDDEN);
        route_table_heard(t, 7, &a.media_address, START_US);
    }
    assert_int_equal(route_table_count(t), 0);
    route_table_destroy(t);
}

static void a_downlink_makes_a_route_for_5_s(void **state)
{
    (void)state;
    struct route_table *t = table();
    const struct net_addr from = addr("10.0.0.9:4100");
    route_table_heard(t, 7, &from, START_US);
    assert_true(is_at(t, 7, 63, "10.0.0.9:4163", START_US));
    /* More of them do not make it older... */
    route_table_heard(t, 7, &from, START_US + 4 * US_PER_S);
    assert_true(is_known(t, 7, START_US + ROUTE_PROVISIONAL_LIFE_US - 1));
    assert_false(is_known(t, 7, START_US + ROUTE_PROVISIONAL_LIFE_US));
    /* ...but after it, the next makes another. */
    route_table_heard(t, 7, &from, START_US + 6 * US_PER_S);
    assert_true(is_known(t, 7, START_US + 6 * US_PER_S));
    assert_int_equal(route_table_count(t), 1);
    route_table_destroy(t);
}

static void the_first_announcement_replaces_a_provisional_route(void **state)
{
    (void)state;
    struct route_table *t = table();
    const struct net_addr from = addr("10.0.0.9:4100");
    const struct net_addr outside = addr("192.0.2.1:4000");
    route_table_heard(t, 6, &outside, START_US);
    assert_int_equal(route_table_count(t), 0);
    route_table_heard(t, 7, &from, START_US);
    assert_int_equal(announce(t, 7, 1, START_US), ROUTE_NEW);
    assert_true(is_at(t, 7, 0, "10.0.0.5:4000", START_US));
    route_table_heard(t, 7, &from, START_US);
    assert_true(is_at(t, 7, 0, "10.0.0.5:4000", START_US));
    assert_int_equal(route_table_count(t), 1);
    route_table_destroy(t);
}

static void the_4097th_instance_is_refused_and_the_others_stay(void **state)
{
    (void)state;
    static uint32_t id[ROUTES_MAX + 1];
    struct random_generator random;
    random_generator_init(&random, 4097);
    for (size_t i = 0; i < COUNT_OF(id); i++) {
        id[i] = random_u32(random_seeded(&random));
    }
    struct route_table *t = table();
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        assert_int_equal(announce(t, id[i], 1, START_US), ROUTE_NEW);
    }
    assert_int_equal(announce(t, id[ROUTES_MAX], 1, START_US), ROUTE_FULL);
    const struct net_addr from = addr("10.0.0.9:4100");
    route_table_heard(t, id[ROUTES_MAX], &from, START_US);
    assert_false(is_known(t, id[ROUTES_MAX], START_US));
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        assert_true(is_known(t, id[i], START_US));
        if (i % 2 == 0) {
            assert_int_equal(announce(t, id[i], 2, START_US + US_PER_S), ROUTE_KEPT);
        }
    }
    /* Half of them fall silent; forgetting those must not lose the others. */
    route_table_tick(t, START_US + ROUTE_LIFE_US);
    assert_int_equal(route_table_count(t), ROUTES_MAX / 2);
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        assert_int_equal(is_known(t, id[i], START_US + ROUTE_LIFE_US), i % 2 == 0);
    }
    assert_int_equal(announce(t, id[ROUTES_MAX], 1, START_US + ROUTE_LIFE_US), ROUTE_NEW);
    route_table_destroy(t);
}

static void noted_routes_are_heard_again(void **state)
{
    (void)state;
    static struct route_notes notes;
    struct route_table *before = table();
    assert_true(route_result_is_taken(announce(before, 1, 1, START_US)));
    assert_true(route_result_is_taken(announce(before, 2, 1, START_US)));
    const struct net_addr heard = addr("10.0.0.9:4000");
    route_table_heard(before, 3, &heard, START_US); /* hearsay is not noted */
    route_table_note(before, &notes, START_US);

    struct route_table *after = table();
    route_table_recall(after, &notes, START_US + ROUTE_LIFE_US - 1);
    assert_int_equal(route_table_count(after), 2);
    const uint64_t now_us = START_US + ROUTE_LIFE_US - 1;
    assert_true(is_known(after, 1, now_us + ROUTE_PROVISIONAL_LIFE_US - 1));
    assert_false(is_known(after, 1, now_us + ROUTE_PROVISIONAL_LIFE_US));
    route_table_destroy(after);

    after = table();
    route_table_recall(after, &notes, START_US + ROUTE_LIFE_US); /* too old */
    route_table_recall(after, &notes, START_US - 1);             /* not yet written */
    assert_int_equal(route_table_count(after), 0);
    /* Fewer routes are fewer notes. */
    route_table_note(after, &notes, START_US);
    route_table_recall(after, &notes, START_US);
    assert_int_equal(route_table_count(after), 0);
    route_table_destroy(after);
    route_table_destroy(before);
}

static void notes_that_say_nonsense_make_no_route(void **state)
{
    (void)state;
    static struct route_notes notes = {.noted_us = START_US};
    notes.note[0] = (struct route_note){addr("192.0.2.1:4000"), 1, 1}; /* outside the networks */
    notes.note[1] = (struct route_note){addr("10.0.0.5:4000"), 2, 1};
    notes.note[2] = (struct route_note){addr("10.0.0.6:4000"), 3, 77};
    struct route_table *t = table();
    route_table_recall(t, &notes, START_US);
    assert_false(is_known(t, 1, START_US));
    assert_true(is_known(t, 2, START_US));
    assert_false(is_known(t, 3, START_US));
    route_table_destroy(t);
}

static void as_many_routes_are_noted_as_there_may_be(void **state)
{
    (void)state;
    static struct route_notes notes;
    struct route_table *t = table();
    for (uint32_t i = 0; i < ROUTES_MAX; i++) {
        assert_true(route_result_is_taken(announce(t, 1000 + i, 1, START_US)));
    }
    route_table_note(t, &notes, START_US);
    route_table_destroy(t);
    t = table();
    route_table_recall(t, &notes, START_US);
    assert_int_equal(route_table_count(t), ROUTES_MAX);
    route_table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_is_at_base_port_plus_shard),
        cmocka_unit_test(an_absent_shard_count_is_one_shard),
        cmocka_unit_test(a_route_lives_60_s_after_the_last_word_of_it),
        cmocka_unit_test(who_is_lost_is_told_once),
        cmocka_unit_test(only_a_newer_sequence_counts),
        cmocka_unit_test(of_two_addresses_the_older_process_wins),
        cmocka_unit_test(nobody_can_announce_an_address_outside_the_networks),
        cmocka_unit_test(a_multicast_address_is_no_transceiver_even_in_a_wide_network),
        cmocka_unit_test(a_downlink_makes_a_route_for_5_s),
        cmocka_unit_test(the_first_announcement_replaces_a_provisional_route),
        cmocka_unit_test(the_4097th_instance_is_refused_and_the_others_stay),
        cmocka_unit_test(noted_routes_are_heard_again),
        cmocka_unit_test(notes_that_say_nonsense_make_no_route),
        cmocka_unit_test(as_many_routes_are_noted_as_there_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
