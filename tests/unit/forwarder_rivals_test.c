/* forwarder_rivals_test.c - sessions that claim one client: each gets what the client sends */
#include "tests/unit/forwarder_world.h"

#include "services/relay/core/flow_rivals.h"

#include <stdio.h>

/* Sends RTP up; where a copy goes, or NULL: none goes there. */
static const char *copy_goes_to(struct world *w, const char *client, const char *wanted)
{
    struct verdict copy[FORWARDER_RIVALS_MAX];
    const struct net_addr from = addr(client);
    const struct net_addr shard = addr(wanted);
    const struct bytes_view datagram = rtp(w);
    const struct verdict v = from_client(w, client, datagram);
    assert_int_equal(v.reason, FORWARD_UP_FLOW);
    const size_t count =
        v.is_disputed ? forwarder_to_rivals(w->forwarder, &v, &from, copy, w->now_us) : 0;
    bool is_there = false;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(copy[i].action, FORWARD_TO_TRANSCEIVER);
        assert_int_equal(copy[i].reason, FORWARD_UP_FLOW);
        assert_ptr_equal(copy[i].datagram.data, datagram.data);
        assert_int_equal(copy[i].datagram.len, datagram.len);
        assert_false(flow_owner_equal(copy[i].owner, v.owner));
        is_there = is_there || net_addr_equal(&copy[i].destination, &shard);
    }
    return is_there ? wanted : NULL;
}

static struct verdict up(struct world *w)
{
    return from_client(w, CLIENT, rtp(w));
}

/* security: just after a restart the first downlink may be a thief's. */
static void after_a_restart_both_claimants_get_what_the_client_sends(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    assert_int_equal(downlink(&w, owner_b, CLIENT).reason, FORWARD_DOWN_SHIM); /* the thief */
    assert_int_equal(downlink(&w, owner_a, CLIENT).reason, FORWARD_DOWN_SHIM);
    struct verdict v = up(&w);
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.6:4000");
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.5:4001"));
    /* Each copy has a shim of its own session. */
    uint8_t bytes[RELAY_SHIM_BYTES + 60] = {0};
    struct relay_shim shim;
    struct verdict copy[FORWARDER_RIVALS_MAX];
    const struct net_addr client = addr(CLIENT);
    v = up(&w);
    assert_int_equal(forwarder_to_rivals(w.forwarder, &v, &client, copy, w.now_us), 1);
    forwarder_write_shim(w.forwarder, &copy[0], &client, bytes);
    assert_int_equal(relay_shim_read(w.ring, bytes_view_of(bytes, sizeof(bytes)), &shim),
                     RELAY_SHIM_OK);
    assert_int_equal(shim.session_id, owner_a.session_id);
    world_close(&w);
}

static void a_claim_lasts_three_seconds_and_is_renewed_by_downlinks(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    (void)downlink(&w, owner_b, CLIENT);
    w.now_us += 2 * US_PER_S;
    (void)downlink(&w, owner_a, CLIENT);
    (void)downlink(&w, owner_b, CLIENT);
    w.now_us += FLOW_RIVAL_LIFE_US - 1;
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    w.now_us += 1;
    assert_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    assert_false(up(&w).is_disputed); /* and it is forgotten */
    world_close(&w);
}

static void a_request_goes_where_its_own_token_says_and_nowhere_else(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    (void)downlink(&w, owner_b, CLIENT);
    struct verdict v = from_client(&w, CLIENT, request(&w, owner_a));
    assert_to(&v, FORWARD_UP_TOKEN, "10.0.0.5:4001");
    assert_false(v.is_disputed);
    v = from_client(&w, CLIENT, request(&w, owner_b));
    assert_to(&v, FORWARD_UP_TOKEN, "10.0.0.6:4000");
    assert_false(v.is_disputed);
    world_close(&w);
}

/* On B, from 1 on. */
static struct flow_owner thief(unsigned number)
{
    return (struct flow_owner){owner_b.instance_id, 1u << 26 | number};
}

/* security: an attacker's sessions each have spoofed checks answered, the first of them owns the
 * flow after a restart. The call itself sends far more often. */
static void sessions_of_one_attacker_do_not_shut_a_call_out(void **state)
{
    (void)state;
    for (unsigned thieves = 1; thieves <= 2 * FLOW_RIVALS_OF_CLIENT; thieves++) {
        struct world w = world_open();
        for (unsigned i = 0; i < thieves; i++) {
            (void)downlink(&w, thief(i), CLIENT);
        }
        for (unsigned ms = 0; ms < 10000; ms += 20) {
            if (ms % 2000 == 0) {
                for (unsigned i = 0; i < thieves; i++) {
                    (void)downlink(&w, thief(i), CLIENT);
                }
            }
            (void)downlink(&w, owner_a, CLIENT);
            assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.5:4001"));
            w.now_us += 20 * US_PER_MS;
        }
        world_close(&w);
    }
}

static void the_claimant_that_was_silent_longest_gives_its_place(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    (void)downlink(&w, owner_b, CLIENT);
    for (unsigned i = 1; i < FLOW_RIVALS_OF_CLIENT; i++) {
        w.now_us += 1;
        assert_true(downlink(&w, thief(i), CLIENT).is_news);
    }
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    w.now_us += 1;
    assert_true(downlink(&w, thief(FLOW_RIVALS_OF_CLIENT), CLIENT).is_news);
    assert_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4001"));
    w.now_us += 1;
    assert_true(downlink(&w, owner_b, CLIENT).is_news);
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    world_close(&w);
}

/* A caller with more sessions of his own must not multiply what he sends. */
static void copies_of_one_client_have_a_burst_and_a_rate(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct net_addr from = addr(CLIENT);
    (void)downlink(&w, owner_a, CLIENT);
    (void)downlink(&w, owner_b, CLIENT);
    unsigned copies = 0;
    for (unsigned i = 0; i < 3 * FLOW_RIVAL_COPIES_BURST; i++) {
        struct verdict copy[FORWARDER_RIVALS_MAX];
        const struct verdict v = up(&w);
        assert_true(v.is_disputed);
        assert_int_equal(forwarder_to_rivals(w.forwarder, &v, &from, copy, w.now_us), 1);
        assert_int_equal(copy[0].action,
                         i < FLOW_RIVAL_COPIES_BURST ? FORWARD_TO_TRANSCEIVER : FORWARD_DROP);
        copies += copy[0].action == FORWARD_TO_TRANSCEIVER;
    }
    assert_int_equal(copies, FLOW_RIVAL_COPIES_BURST);
    w.now_us += US_PER_S / FLOW_RIVAL_COPIES_PER_S;
    assert_non_null(copy_goes_to(&w, CLIENT, "10.0.0.6:4000"));
    world_close(&w);
}

/* Its claim ends when it becomes the owner. */
static void the_owner_is_not_its_own_rival(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    assert_false(up(&w).is_disputed);
    (void)downlink(&w, owner_b, CLIENT);
    w.now_us += FORWARDER_OWNER_KEEPS_US;
    (void)downlink(&w, owner_b, CLIENT);
    struct verdict v = up(&w);
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.6:4000");
    assert_false(v.is_disputed);
    world_close(&w);
}

static void a_claim_is_news_for_other_workers_once(void **state)
{
    (void)state;
    struct world w = world_open();
    assert_true(downlink(&w, owner_a, CLIENT).is_news);
    assert_true(downlink(&w, owner_b, CLIENT).is_news);
    assert_false(downlink(&w, owner_b, CLIENT).is_news);
    assert_false(downlink(&w, owner_a, CLIENT).is_news);
    world_close(&w);
}

static void no_more_clients_are_disputed_than_there_are_places(void **state)
{
    (void)state;
    struct world w = world_open();
    char client[NET_ADDR_TEXT_CAP];
    for (unsigned i = 0; i <= FLOW_RIVALS_MAX; i++) {
        (void)snprintf(client, sizeof(client), "198.51.100.7:%u", 2000 + i);
        (void)downlink(&w, owner_a, client);
        (void)downlink(&w, owner_b, client);
        const bool is_remembered = i < FLOW_RIVALS_MAX;
        assert_int_equal(copy_goes_to(&w, client, "10.0.0.6:4000") != NULL, is_remembered);
    }
    /* The first places are free again when their claims are over. */
    w.now_us += FLOW_RIVAL_LIFE_US - 1;
    (void)downlink(&w, owner_a, client);
    w.now_us += 1;
    (void)downlink(&w, owner_b, client);
    assert_non_null(copy_goes_to(&w, client, "10.0.0.6:4000"));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_restart_both_claimants_get_what_the_client_sends),
        cmocka_unit_test(a_claim_lasts_three_seconds_and_is_renewed_by_downlinks),
        cmocka_unit_test(a_request_goes_where_its_own_token_says_and_nowhere_else),
        cmocka_unit_test(sessions_of_one_attacker_do_not_shut_a_call_out),
        cmocka_unit_test(the_claimant_that_was_silent_longest_gives_its_place),
        cmocka_unit_test(copies_of_one_client_have_a_burst_and_a_rate),
        cmocka_unit_test(the_owner_is_not_its_own_rival),
        cmocka_unit_test(a_claim_is_news_for_other_workers_once),
        cmocka_unit_test(no_more_clients_are_disputed_than_there_are_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
