/* forwarder_cache_test.c - what the flow cache may and may not do to a forwarder (T19) */
#include "tests/unit/forwarder_world.h"

#include <stdio.h>

#define OTHER_CLIENT "198.51.100.7:51871"

static struct world open_with_cache(void)
{
    struct forwarder_config config = world_config();
    config.has_cache = true;
    struct world w = world_open_silent(&config);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    world_announce(&w, owner_b, "10.0.0.6:4000");
    return w;
}

/* What a relay that knew the session would have written. */
static struct cached_flow cached(struct flow_owner owner)
{
    return (struct cached_flow){
        .next_hop =
            addr(owner.instance_id == owner_a.instance_id ? "10.0.0.5:4000" : "10.0.0.6:4000"),
        .instance_id = owner.instance_id,
        .session_id = owner.session_id,
        .cluster_id = WORLD_CLUSTER,
    };
}

static enum forward_cache_result tell(struct world *w, const struct cached_flow *flow)
{
    const struct net_addr client = addr(CLIENT);
    return forwarder_from_cache(w->forwarder, &client, flow, w->now_us);
}

static void without_a_cache_what_has_no_flow_is_dropped(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct verdict v = from_client(&w, CLIENT, rtp(&w));
    assert_int_equal(v.action, FORWARD_DROP);
    assert_int_equal(v.reason, FORWARD_UP_NO_FLOW);
    assert_false(downlink(&w, owner_a, CLIENT).is_cache_due);
    world_close(&w);
}

static void only_what_lacks_nothing_but_a_flow_is_held(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    static const struct {
        uint8_t first;
        size_t len;
        enum forward_action action;
    } row[] = {
        {0x80, 12, FORWARD_HOLD},   {0x80, 1500, FORWARD_HOLD}, {0x80, 11, FORWARD_DROP},
        {0x80, 1501, FORWARD_DROP}, {22, 60, FORWARD_HOLD},     {0xff, 60, FORWARD_DROP},
        {0xe5, 60, FORWARD_DROP},   {64, 60, FORWARD_DROP},     {0, 60, FORWARD_DROP},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_int_equal(from_client(&w, CLIENT, bytes_of(&w, row[i].first, row[i].len)).action,
                         row[i].action);
    }
    assert_int_equal(from_client(&w, CLIENT, request_of(&w, "nonsense:x", 10)).action,
                     FORWARD_DROP);
    world_close(&w);
}

static void the_caches_word_makes_a_half_open_flow(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    const struct cached_flow flow = cached(owner_a);
    assert_int_equal(tell(&w, &flow), FORWARD_CACHE_TAKEN);
    assert_int_equal(flow_count(&w, FLOW_HALF_OPEN), 1);
    const struct verdict v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    assert_true(flow_owner_equal(v.owner, owner_a));
    /* A downlink confirms it, and goes to the socket that the client used. */
    assert_int_equal(downlink(&w, owner_a, CLIENT).action, FORWARD_TO_CLIENT);
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 1);
    world_close(&w);
}

static void a_flow_of_the_cache_dies_unless_a_downlink_confirms_it(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    const struct cached_flow flow = cached(owner_a);
    unsigned passed = 0;
    assert_int_equal(tell(&w, &flow), FORWARD_CACHE_TAKEN);
    for (unsigned i = 0; i < 100; i++) {
        passed += from_client(&w, CLIENT, rtp(&w)).action == FORWARD_TO_TRANSCEIVER;
    }
    assert_int_equal(passed, FLOW_UNPROVEN_PER_S);
    w.now_us += FLOW_HALF_OPEN_LIFE_US;
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).action, FORWARD_HOLD);
    world_close(&w);
}

static void a_valid_request_overrides_the_caches_word_at_once(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    const struct cached_flow wrong = cached(owner_b);
    assert_int_equal(tell(&w, &wrong), FORWARD_CACHE_TAKEN);
    struct verdict v = from_client(&w, CLIENT, request(&w, owner_a));
    assert_to(&v, FORWARD_UP_TOKEN, "10.0.0.5:4001");
    v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    world_close(&w);
}

static void the_table_counts_more_than_the_cache(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    const struct cached_flow wrong = cached(owner_b);
    (void)downlink(&w, owner_a, CLIENT);
    assert_int_equal(tell(&w, &wrong), FORWARD_CACHE_HAS_FLOW);
    const struct verdict v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    world_close(&w);
}

static void a_poisoned_or_stale_entry_makes_no_flow(void **state)
{
    static const struct {
        const char *next_hop;
        uint32_t instance_id;
        uint16_t cluster_id;
        enum forward_cache_result result;
    } row[] = {
        {"10.0.0.5:4000", 0x5eed0001, 2, FORWARD_CACHE_CLUSTER},
        {"10.0.0.5:4000", 0x5eed0003, WORLD_CLUSTER, FORWARD_CACHE_INSTANCE},
        {"10.0.0.6:4000", 0x5eed0001, WORLD_CLUSTER, FORWARD_CACHE_NEXT_HOP},
        {"10.0.0.5:4001", 0x5eed0001, WORLD_CLUSTER, FORWARD_CACHE_NEXT_HOP},
        {"198.51.100.9:4000", 0x5eed0001, WORLD_CLUSTER, FORWARD_CACHE_NEXT_HOP},
        {"127.0.0.1:4000", 0x5eed0001, WORLD_CLUSTER, FORWARD_CACHE_NEXT_HOP},
        {"[2001:db8::5]:4000", 0x5eed0001, WORLD_CLUSTER, FORWARD_CACHE_NEXT_HOP},
    };
    (void)state;
    struct world w = open_with_cache();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct cached_flow flow = {.next_hop = addr(row[i].next_hop),
                                         .instance_id = row[i].instance_id,
                                         .session_id = owner_a.session_id,
                                         .cluster_id = row[i].cluster_id};
        assert_int_equal(tell(&w, &flow), row[i].result);
        assert_int_equal(flow_count(&w, FLOW_HALF_OPEN), 0);
        assert_int_equal(from_client(&w, CLIENT, rtp(&w)).action, FORWARD_HOLD);
    }
    world_close(&w);
}

static void a_shard_that_the_instance_has_not_gets_nothing(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    struct cached_flow flow = cached(owner_a);
    flow.session_id = 7u << 26 | 0x2a03; /* instances have two shards */
    (void)tell(&w, &flow);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).action, FORWARD_DROP);
    world_close(&w);
}

static void one_session_gets_no_more_half_open_flows_than_by_tokens(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    const struct cached_flow flow = cached(owner_a);
    struct net_addr client = addr(CLIENT);
    for (unsigned i = 0; i < SESSION_TALLY_MAX; i++, client.port++) {
        assert_int_equal(forwarder_from_cache(w.forwarder, &client, &flow, w.now_us),
                         FORWARD_CACHE_TAKEN);
    }
    assert_int_equal(forwarder_from_cache(w.forwarder, &client, &flow, w.now_us),
                     FORWARD_CACHE_NO_ROOM);
    world_close(&w);
}

static void a_confirmed_flow_is_told_to_the_cache_as_the_table_knows_it(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    struct cached_flow flow;
    char text[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    assert_false(from_client(&w, CLIENT, request(&w, owner_a)).is_cache_due);
    const struct verdict v = downlink(&w, owner_a, CLIENT);
    assert_true(v.is_cache_due);
    assert_true(forwarder_to_cache(w.forwarder, &v, &flow, w.now_us));
    assert_true(flow_cache_write_value(&flow, text));
    assert_string_equal(text, "0001|5eed0001|04002a03|10.0.0.5|4000");
    assert_false(downlink(&w, owner_a, CLIENT).is_cache_due);
    world_close(&w);
}

static void a_flow_that_lives_is_told_once_in_each_period(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    unsigned told = 0;
    const unsigned periods = 10;
    const uint64_t end_us = w.now_us + periods * FORWARDER_CACHE_PERIOD_US;
    (void)downlink(&w, owner_a, CLIENT);
    while (w.now_us < end_us) {
        w.now_us += 20 * US_PER_MS;
        told += downlink(&w, owner_a, CLIENT).is_cache_due;
    }
    assert_int_equal(told, periods);
    world_close(&w);
}

static void flows_that_begin_together_are_not_told_together(void **state)
{
    enum { FLOWS = 500, SLICES = 40 };
    (void)state;
    struct world w = open_with_cache();
    unsigned most = 0;
    for (unsigned slice = 0; slice <= SLICES; slice++) {
        unsigned told = 0;
        for (unsigned i = 0; i < FLOWS; i++) {
            char client[NET_ADDR_TEXT_CAP];
            (void)snprintf(client, sizeof(client), "198.51.100.7:%u", 1000 + i);
            told += downlink(&w, owner_a, client).is_cache_due;
        }
        most = slice > 0 && told > most ? told : most; /* in the first one all are new */
        w.now_us += FORWARDER_CACHE_PERIOD_US / SLICES;
    }
    assert_in_range(most, 1, 5 * FLOWS / SLICES);
    world_close(&w);
}

static void a_flow_that_changes_its_owner_is_told_when_it_does(void **state)
{
    (void)state;
    struct world w = open_with_cache();
    struct cached_flow flow;
    (void)downlink(&w, owner_a, CLIENT);
    w.now_us += FORWARDER_OWNER_KEEPS_US - 1;
    assert_false(downlink(&w, owner_b, CLIENT).is_cache_due); /* the owner keeps it */
    w.now_us += 1;
    const struct verdict v = downlink(&w, owner_b, CLIENT);
    assert_true(v.is_cache_due);
    assert_true(forwarder_to_cache(w.forwarder, &v, &flow, w.now_us));
    assert_int_equal(flow.session_id, owner_b.session_id);
    /* An announcement is a downlink, too. */
    w.now_us += FORWARDER_OWNER_KEEPS_US;
    assert_true(from_shard_of(
                    &w, owner_a,
                    shim_of(&w, RELAY_SHIM_DOWNLINK | RELAY_SHIM_ANNOUNCEMENT, owner_a, CLIENT, 0))
                    .is_cache_due);
    assert_true(downlink(&w, owner_b, OTHER_CLIENT).is_cache_due);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_cache_what_has_no_flow_is_dropped),
        cmocka_unit_test(only_what_lacks_nothing_but_a_flow_is_held),
        cmocka_unit_test(the_caches_word_makes_a_half_open_flow),
        cmocka_unit_test(a_flow_of_the_cache_dies_unless_a_downlink_confirms_it),
        cmocka_unit_test(a_valid_request_overrides_the_caches_word_at_once),
        cmocka_unit_test(the_table_counts_more_than_the_cache),
        cmocka_unit_test(a_poisoned_or_stale_entry_makes_no_flow),
        cmocka_unit_test(a_shard_that_the_instance_has_not_gets_nothing),
        cmocka_unit_test(one_session_gets_no_more_half_open_flows_than_by_tokens),
        cmocka_unit_test(a_confirmed_flow_is_told_to_the_cache_as_the_table_knows_it),
        cmocka_unit_test(a_flow_that_lives_is_told_once_in_each_period),
        cmocka_unit_test(flows_that_begin_together_are_not_told_together),
        cmocka_unit_test(a_flow_that_changes_its_owner_is_told_when_it_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
