/* forwarder_forgery_test.c - ten million forgeries: none leaves; no packet costs an allocation */
#include "tests/unit/forwarder_world.h"

#include "services/relay/core/flow_rivals.h"
#include "services/relay/core/stranger_gate.h"

#include "tests/allocation_count.h"

#include <stdlib.h>

/* A sanitizer build is ten times as slow. */
#define FORGERIES (ALLOCATIONS_ARE_COUNTED ? 10000000u : 1000000u)
/* As fast as tokens of strangers are opened: none is turned away unread. */
#define FORGERY_US (US_PER_S / STRANGER_CHECKS_PER_S)
/* --- Forgeries ------------------------------------------------------------------------------- */

static bool is_in_table(const struct net_addr *a)
{
    static const char *const shard[] = {"10.0.0.5:4000", "10.0.0.5:4001", "10.0.0.6:4000",
                                        "10.0.0.6:4001"};
    for (size_t i = 0; i < COUNT_OF(shard); i++) {
        const struct net_addr known = addr(shard[i]);
        if (net_addr_equal(a, &known)) {
            return true;
        }
    }
    return false;
}

static char random_ice_char(struct random_generator *random)
{
    char c = 0;
    random_ice_chars(random_seeded(random), &c, 1);
    return c;
}

/* Bends a good token: some characters, all of them, or another key; the first character may stay,
 * so that most get as far as the cipher. */
static void forge(struct random_generator *random, char token[ROUTING_TOKEN_CHARS])
{
    const uint64_t draw = random_generator_next(random);
    const size_t first = draw % 4 != 0;
    if (draw % 3 == 0) {
        for (size_t i = first; i < ROUTING_TOKEN_CHARS; i++) {
            token[i] = random_ice_char(random);
        }
        return;
    }
    const size_t count = 1 + (draw >> 8) % 3;
    for (size_t i = 0; i < count; i++) {
        const size_t at = first + random_generator_next(random) % (ROUTING_TOKEN_CHARS - first);
        token[at] = random_ice_char(random);
    }
}

static void no_forged_token_is_forwarded(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct net_addr from = addr(CLIENT);
    const struct bytes_view datagram = request(&w, owner_a);
    char *token = (char *)w.packet + STUN_HEADER_BYTES + 8 + 4; /* after PRIORITY */
    char good[ROUTING_TOKEN_CHARS];
    memcpy(good, token, sizeof(good));
    unsigned forwarded = 0;
    for (unsigned i = 0; i < FORGERIES; i++) {
        forge(&w.random, token);
        const bool is_good = memcmp(token, good, sizeof(good)) == 0;
        const struct verdict v = forwarder_from_client(w.forwarder, datagram, &from, 0, w.now_us);
        forwarded += v.action != FORWARD_DROP && !is_good;
        assert_true(v.action == FORWARD_DROP || is_in_table(&v.destination));
        assert_int_not_equal(v.reason, FORWARD_UP_TOKEN_RATE);
        memcpy(token, good, sizeof(good));
        w.now_us += FORGERY_US;
        if (i % 1000000 == 0) {
            world_announce(&w, owner_a, "10.0.0.5:4000"); /* routes live 60 s */
            world_announce(&w, owner_b, "10.0.0.6:4000");
        }
    }
    assert_int_equal(forwarded, 0);
    /* The harness itself can forward. (Edits that change nothing used the budget up.) */
    w.now_us += US_PER_S;
    assert_int_equal(forwarder_from_client(w.forwarder, datagram, &from, 0, w.now_us).reason,
                     FORWARD_UP_TOKEN);
    world_close(&w);
}

/* Tokens sealed with another secret under the same key id. */
static void no_token_of_another_ring_is_forwarded(void **state)
{
    (void)state;
    static const uint8_t other_secret[KEY_RING_SECRET_BYTES] = {99};
    struct world w = world_open();
    key_ring_destroy(w.ring);
    w.ring = key_ring_from_secret(WORLD_KEY_ID, other_secret);
    for (uint32_t i = 0; i < 10000; i++) {
        const struct flow_owner owner = {owner_a.instance_id, i};
        assert_int_equal(from_client(&w, CLIENT, request(&w, owner)).reason,
                         FORWARD_UP_TOKEN_FORGED);
        assert_int_equal(downlink(&w, owner, CLIENT).reason, FORWARD_DOWN_TAG);
    }
    world_close(&w);
}

/* Any bytes from anywhere inside the networks: no client gets any of them. */
static void no_random_downlink_is_forwarded(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct net_addr from = addr("10.0.0.5:4000");
    for (unsigned i = 0; i < 100000; i++) {
        const size_t len = (size_t)(random_generator_next(&w.random) % 200);
        random_fill(random_seeded(&w.random), w.packet, len);
        w.packet[0] = RELAY_SHIM_MAGIC;
        w.packet[1] = 0x10 | RELAY_SHIM_DOWNLINK;
        w.packet[2] = 0;
        w.packet[14] = WORLD_KEY_ID;
        w.packet[15] = 0;
        const struct verdict v =
            forwarder_from_transceiver(w.forwarder, bytes_view_of(w.packet, len), &from, w.now_us);
        assert_int_equal(v.action, FORWARD_DROP);
    }
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 0);
    world_close(&w);
}

/* --- Allocations ----------------------------------------------------------------------------- */

static void pass_packets(struct world *w, uint32_t round)
{
    char client[NET_ADDR_TEXT_CAP];
    struct net_addr address = addr("198.51.100.7:2000");
    address.ip[13] = (uint8_t)(round >> 8);
    address.ip[14] = (uint8_t)round;
    (void)net_addr_format(&address, client, sizeof(client));
    const struct flow_owner owner = {owner_a.instance_id, 1u << 26 | round};
    const struct verdict v = from_client(w, client, request(w, owner));
    assert_int_equal(v.action, FORWARD_TO_TRANSCEIVER);
    uint8_t shim[RELAY_SHIM_BYTES];
    forwarder_write_shim(w->forwarder, &v, &address, shim);
    (void)from_client(w, client, rtp(w));
    if (round % 2 == 0) {
        assert_int_equal(downlink(w, owner, client).reason, FORWARD_DOWN_SHIM);
        assert_int_equal(from_client(w, client, rtp(w)).reason, FORWARD_UP_FLOW);
        assert_int_equal(downlink(w, owner_b, client).reason, FORWARD_DOWN_SHIM);
        const struct verdict disputed = from_client(w, client, rtp(w));
        struct verdict copy[FORWARDER_RIVALS_MAX];
        /* Not all of them find a place. */
        assert_true(!disputed.is_disputed ||
                    forwarder_to_rivals(w->forwarder, &disputed, &address, copy, w->now_us) == 1);
        assert_true(disputed.is_disputed || round > FLOW_RIVALS_MAX);
    }
    (void)from_client(w, client, bytes_of(w, 0x50, 100));
    (void)from_client(w, client, request_of(w, "HAAAAAAAAAAAAAAAAAAAAAA:peer", 28));
    w->now_us += 1000;
    forwarder_tick(w->forwarder, w->now_us);
}

/* More clients than flows, so that evictions and expiries are among what is counted. */
static void no_packet_costs_an_allocation(void **state)
{
    (void)state;
    if (!ALLOCATIONS_ARE_COUNTED) {
        print_message("SKIP: malloc is the sanitizer's here; ./dev check runs this one without\n");
        skip();
    }
    struct world w = world_open();
    void *volatile probe = malloc(1);
    free(probe);
    assert_true(allocation_count > 0);
    for (uint32_t round = 0; round < 10; round++) {
        pass_packets(&w, round);
    }
    allocation_count = 0;
    for (uint32_t round = 10; round < 10000; round++) {
        pass_packets(&w, round);
    }
    assert_int_equal(allocation_count, 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_forged_token_is_forwarded),
        cmocka_unit_test(no_token_of_another_ring_is_forwarded),
        cmocka_unit_test(no_random_downlink_is_forwarded),
        cmocka_unit_test(no_packet_costs_an_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
