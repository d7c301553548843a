/* sim_relay.c - see sim_relay.h */
#include "tests/support/sim_relay.h"

#include <assert.h>

#define MEDIA_ADDRESS "10.0.0.2:4000"

static struct net_addr address(const char *text)
{
    struct net_addr a;
    const bool good = net_addr_parse(text, &a);
    assert(good);
    (void)good;
    return a;
}

static void create_forwarder(struct sim_relay *r)
{
    r->forwarder = forwarder_create(&r->config, key_ring_copy(r->ring), r->random);
    assert(r->forwarder != NULL);
}

void sim_relay_init(struct sim_relay *r, const struct key_ring *ring, struct random_source random)
{
    *r = (struct sim_relay){.ring = ring, .random = random};
    r->config = (struct forwarder_config){
        .cluster_id = SIM_RELAY_CLUSTER_ID,
        .flow_cap = 256,
        .source_flows_per_s = 200,
        .source_flows_burst = 400,
        .listen = {address("198.51.100.1:3478")},
        .listen_count = 1,
        .internal = address("10.0.0.1:3500"),
        .transceiver_networks = {.count = 1},
    };
    const bool good = net_block_parse("10.0.0.0/8", &r->config.transceiver_networks.block[0]);
    assert(good);
    (void)good;
    create_forwarder(r);
}

void sim_relay_deinit(struct sim_relay *r)
{
    forwarder_destroy(r->forwarder);
}

void sim_relay_restart(struct sim_relay *r)
{
    forwarder_destroy(r->forwarder);
    create_forwarder(r);
}

void sim_relay_announce(struct sim_relay *r, uint32_t instance_id, uint64_t now_us)
{
    const struct route_announcement a = {
        .instance_id = instance_id,
        .cluster_id = SIM_RELAY_CLUSTER_ID,
        .shard_count = 1,
        .media_address = address(MEDIA_ADDRESS),
        .start_time_unix_us = 1,
        .sequence = 1,
    };
    const enum route_result result = forwarder_announce(r->forwarder, &a, now_us);
    assert(route_result_is_taken(result));
    (void)result;
}

size_t sim_relay_from_client(struct sim_relay *r, const struct net_addr *from,
                             struct bytes_view datagram, uint8_t *out, uint64_t now_us)
{
    const struct verdict v = forwarder_from_client(r->forwarder, datagram, from, 0, now_us);
    if (v.action != FORWARD_TO_TRANSCEIVER) {
        return 0;
    }
    forwarder_write_shim(r->forwarder, &v, from, out);
    memcpy(out + RELAY_SHIM_BYTES, v.datagram.data, v.datagram.len);
    return RELAY_SHIM_BYTES + v.datagram.len;
}

struct verdict sim_relay_from_transceiver(struct sim_relay *r, struct bytes_view packet,
                                          uint64_t now_us)
{
    const struct net_addr transceiver = address(MEDIA_ADDRESS);
    return forwarder_from_transceiver(r->forwarder, packet, &transceiver, now_us);
}
