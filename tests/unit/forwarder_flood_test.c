/* forwarder_flood_test.c - strangers in great numbers: calls do not notice, new ones get through */
#include "tests/unit/forwarder_world.h"

#include "services/relay/core/stranger_gate.h"

#define FORGED "HAAAAAAAAAAAAAAAAAAAAAA:peer"

/* The address of one of very many, in a block of its own. */
static struct net_addr stranger(uint32_t number)
{
    struct net_addr a = addr("100.0.0.9:4000");
    a.ip[12] = (uint8_t)(100 + (number >> 16));
    a.ip[13] = (uint8_t)(number >> 8);
    a.ip[14] = (uint8_t)number;
    return a;
}

static enum forward_reason reason_from(struct world *w, const struct net_addr *from,
                                       struct bytes_view datagram)
{
    return forwarder_from_client(w->forwarder, datagram, from, 0, w->now_us).reason;
}

static void forgeries_from_everywhere_hold_up_no_call_and_new_ones_for_a_moment(void **state)
{
    (void)state;
    struct world w = world_open();
    unsigned count[FORWARD_REASON_COUNT] = {0};
    (void)downlink(&w, owner_a, CLIENT);
    for (uint32_t i = 0; i < 50000; i++) {
        const struct net_addr from = stranger(i);
        count[reason_from(&w, &from, request_of(&w, FORGED, strlen(FORGED)))]++;
    }
    assert_int_equal(count[FORWARD_UP_TOKEN_FORGED], 2 * STRANGER_CHECKS_BURST);
    assert_int_equal(count[FORWARD_UP_TOKEN_RATE], 50000 - 2 * STRANGER_CHECKS_BURST);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW);
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    /* A new client checks again after 50 ms. */
    const struct net_addr fresh = addr("198.51.100.200:4000");
    assert_int_equal(reason_from(&w, &fresh, request(&w, owner_b)), FORWARD_UP_TOKEN_RATE);
    w.now_us += 50 * US_PER_MS;
    assert_int_equal(reason_from(&w, &fresh, request(&w, owner_b)), FORWARD_UP_TOKEN);
    world_close(&w);
}

/* Who can not lie about his address is told apart: the others share the reserve. */
static void forgeries_from_one_block_do_not_keep_others_out(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct net_addr forger = addr("192.0.2.1:4000");
    const struct net_addr fresh = addr("198.51.100.200:4000");
    for (uint32_t i = 0; i < 50000; i++) {
        (void)reason_from(&w, &forger, request_of(&w, FORGED, strlen(FORGED)));
    }
    assert_int_equal(reason_from(&w, &forger, request(&w, owner_b)), FORWARD_UP_TOKEN_RATE);
    assert_int_equal(reason_from(&w, &fresh, request(&w, owner_b)), FORWARD_UP_TOKEN);
    world_close(&w);
}

/* One host's requests, each of a kind that is refused for another reason. */
enum useless {
    NO_USERNAME,
    NO_COLON,
    BAD_FORM,
    UNKNOWN_KEY,
    FORGED_BITS,
    OTHER_CLUSTER,
    DEAD_INSTANCE,
    LEAKED_TOKEN,
    USELESS_COUNT
};

/* Valid until the next packet. */
static struct bytes_view useless_request(struct world *w, enum useless kind)
{
    static const char *const username[USELESS_COUNT] = {
        [NO_USERNAME] = "",        [NO_COLON] = "nocolon",
        [BAD_FORM] = "short:peer", [UNKNOWN_KEY] = "AAAAAAAAAAAAAAAAAAAAAAA:peer",
        [FORGED_BITS] = FORGED,
    };
    static const struct flow_owner dead = {0xdead0001, 1};
    switch (kind) {
    case OTHER_CLUSTER:
        return request_of_cluster(w, WORLD_CLUSTER + 1, owner_a, 0);
    case DEAD_INSTANCE:
        return request(w, dead);
    case LEAKED_TOKEN:
        return request(w, owner_a);
    default:
        return request_of(w, username[kind], strlen(username[kind]));
    }
}

static void no_kind_of_refused_request_from_one_host_keeps_others_out(void **state)
{
    (void)state;
    static const enum forward_reason wanted[USELESS_COUNT] = {
        [NO_USERNAME] = FORWARD_UP_USERNAME,         [NO_COLON] = FORWARD_UP_USERNAME,
        [BAD_FORM] = FORWARD_UP_TOKEN_FORM,          [UNKNOWN_KEY] = FORWARD_UP_TOKEN_KEY,
        [FORGED_BITS] = FORWARD_UP_TOKEN_FORGED,     [OTHER_CLUSTER] = FORWARD_UP_TOKEN_CLUSTER,
        [DEAD_INSTANCE] = FORWARD_UP_TOKEN_INSTANCE, [LEAKED_TOKEN] = FORWARD_UP_SESSION_RATE,
    };
    for (enum useless kind = 0; kind < USELESS_COUNT; kind++) {
        struct world w = world_open();
        unsigned count[FORWARD_REASON_COUNT] = {0};
        const struct net_addr host = addr("192.0.2.1:4000");
        const struct net_addr fresh = addr("198.51.100.200:4000");
        /* 250,000 a second: more than the rate of all strangers and its reserve together. */
        for (uint32_t i = 0; i < 100000; i++) {
            count[reason_from(&w, &host, useless_request(&w, kind))]++;
            w.now_us += 4;
        }
        assert_true(count[wanted[kind]] > 0);
        for (unsigned i = 0; i < 100; i++) {
            const struct flow_owner owner = {owner_b.instance_id, i};
            assert_int_equal(reason_from(&w, &fresh, request(&w, owner)), FORWARD_UP_TOKEN);
        }
        world_close(&w);
    }
}

/* T3 of the threat model: five times the table in a second. */
static void a_leaked_token_fills_no_table_and_drowns_no_transceiver(void **state)
{
    (void)state;
    enum { CALLS = 512, STRANGERS = 5 * 1024 };
    struct world w = world_open();
    struct net_addr client = addr("198.51.100.7:2000");
    char text[NET_ADDR_TEXT_CAP];
    unsigned forwarded = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        client.port = (uint16_t)(2000 + i);
        const struct flow_owner owner = {owner_b.instance_id, i};
        (void)downlink(&w, owner, net_addr_format(&client, text, sizeof(text)));
    }
    for (uint32_t i = 0; i < STRANGERS; i++) {
        const struct net_addr from = stranger(i);
        w.now_us += US_PER_S / STRANGERS;
        const enum forward_reason reason = reason_from(&w, &from, request(&w, owner_a));
        forwarded += !forward_reason_is_drop(reason);
        assert_true(!forward_reason_is_drop(reason) || reason == FORWARD_UP_SESSION_RATE);
    }
    assert_in_range(forwarded, STRANGER_REQUESTS_BURST,
                    STRANGER_REQUESTS_BURST + STRANGER_REQUESTS_PER_S);
    assert_int_equal(flow_count(&w, FLOW_HALF_OPEN), SESSION_TALLY_MAX);
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        client.port = (uint16_t)(2000 + i);
        assert_int_equal(reason_from(&w, &client, rtp(&w)), FORWARD_UP_FLOW);
    }
    world_close(&w);
}

/* The session's own client does not queue behind them. */
static void the_client_of_a_leaked_token_keeps_its_call(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    for (uint32_t i = 0; i < 1000; i++) {
        const struct net_addr from = stranger(i);
        (void)reason_from(&w, &from, request(&w, owner_a));
        assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgeries_from_everywhere_hold_up_no_call_and_new_ones_for_a_moment),
        cmocka_unit_test(forgeries_from_one_block_do_not_keep_others_out),
        cmocka_unit_test(no_kind_of_refused_request_from_one_host_keeps_others_out),
        cmocka_unit_test(a_leaked_token_fills_no_table_and_drowns_no_transceiver),
        cmocka_unit_test(the_client_of_a_leaked_token_keeps_its_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
