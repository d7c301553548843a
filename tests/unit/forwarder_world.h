/*
 * forwarder_world.h - one forwarder, a ring, a clock and packet makers for its tests
 *
 * Cluster 1 has two transceivers: A at 10.0.0.5:4000 and B at 10.0.0.6:4000, two shards each.
 * Session A lives on shard 1 of A, session B on shard 0 of B.
 */
#ifndef EARSHOT_TESTS_FORWARDER_WORLD_H
#define EARSHOT_TESTS_FORWARDER_WORLD_H

#include "tests/testing.h"

#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"
#include "services/relay/core/forwarder.h"

#define WORLD_START_US (1000 * US_PER_S)
#define WORLD_CLUSTER  1
#define WORLD_KEY_ID   7

#define CLIENT "198.51.100.7:51870"

static const struct flow_owner owner_a = {0x5eed0001, 1u << 26 | 0x2a03};
static const struct flow_owner owner_b = {0x5eed0002, 0x1101};

static const uint8_t world_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

struct world {
    struct forwarder_config config;
    struct forwarder *forwarder;
    struct key_ring *ring; /* the transceivers' */
    struct random_generator random;
    uint64_t now_us;
    uint64_t sequence;
    uint8_t packet[2048];
};

static inline struct net_addr addr(const char *text)
{
    struct net_addr a;
    if (!net_addr_parse(text, &a)) {
        fail_msg("%s is no address", text);
    }
    return a;
}

static inline void world_announce(struct world *w, struct flow_owner owner, const char *media)
{
    const struct route_announcement a = {
        .instance_id = owner.instance_id,
        .cluster_id = WORLD_CLUSTER,
        .shard_count = 2,
        .media_address = addr(media),
        .start_time_unix_us = 1,
        .sequence = ++w->sequence,
    };
    assert_true(route_result_is_taken(forwarder_announce(w->forwarder, &a, w->now_us)));
}

static inline struct forwarder_config world_config(void)
{
    struct forwarder_config config = {
        .cluster_id = WORLD_CLUSTER,
        .flow_cap = 1024,
        .source_flows_per_s = 200,
        .source_flows_burst = 400,
        .transceiver_networks = {.count = 1},
        .listen = {addr("203.0.113.1:3478"), addr("[2001:db8::1]:3478")},
        .listen_count = 2,
        .internal = addr("10.0.0.1:3500"),
    };
    assert_true(net_block_parse("10.0.0.0/8", &config.transceiver_networks.block[0]));
    return config;
}

/* A relay that has just started and has heard nobody. */
static inline struct world world_open_silent(const struct forwarder_config *config)
{
    struct world w = {.config = *config, .now_us = WORLD_START_US};
    random_generator_init(&w.random, 1);
    w.ring = key_ring_from_secret(WORLD_KEY_ID, world_secret);
    w.forwarder = forwarder_create(config, key_ring_from_secret(WORLD_KEY_ID, world_secret),
                                   random_seeded(&w.random));
    assert_non_null(w.forwarder);
    return w;
}

static inline struct world world_open(void)
{
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    world_announce(&w, owner_b, "10.0.0.6:4000");
    return w;
}

static inline void world_close(struct world *w)
{
    forwarder_destroy(w->forwarder);
    key_ring_destroy(w->ring);
}

/* A Binding request with this USERNAME; valid until the next packet. */
static inline struct bytes_view request_of(struct world *w, const char *username,
                                           size_t username_len)
{
    static const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES] = {9, 8, 7};
    struct byte_writer writer;
    byte_writer_init(&writer, w->packet, sizeof(w->packet));
    stun_message_begin(&writer, STUN_BINDING_REQUEST, transaction_id);
    stun_message_add_u32(&writer, STUN_PRIORITY, 0x6e7f00ff);
    stun_message_add(&writer, STUN_USERNAME, bytes_view_of(username, username_len));
    stun_message_add(&writer, STUN_MESSAGE_INTEGRITY, bytes_view_of(world_secret, 20));
    assert_false(writer.failed);
    return bytes_view_of(w->packet, writer.len);
}

static inline struct bytes_view request_of_cluster(struct world *w, uint16_t cluster_id,
                                                   struct flow_owner owner, uint8_t restart)
{
    char username[ROUTING_TOKEN_CHARS + 5];
    const struct routing_token token = {.cluster_id = cluster_id,
                                        .instance_id = owner.instance_id,
                                        .session_id = owner.session_id,
                                        .restart = restart};
    routing_token_seal(w->ring, &token, username);
    memcpy(username + ROUTING_TOKEN_CHARS, ":peer", 5);
    return request_of(w, username, sizeof(username));
}

/* With the token of an ICE generation; the first is that of the offer, 0. */
static inline struct bytes_view request_of_generation(struct world *w, struct flow_owner owner,
                                                      uint8_t restart)
{
    return request_of_cluster(w, WORLD_CLUSTER, owner, restart);
}

static inline struct bytes_view request(struct world *w, struct flow_owner owner)
{
    return request_of_generation(w, owner, 0);
}

/* len bytes, all of this value. */
static inline struct bytes_view bytes_of(struct world *w, uint8_t value, size_t len)
{
    memset(w->packet, value, len);
    return bytes_view_of(w->packet, len);
}

static inline struct bytes_view rtp(struct world *w)
{
    return bytes_of(w, 0x80, 60);
}

/* A shim with these flags and len bytes behind it. */
static inline struct bytes_view shim_of(struct world *w, uint8_t flags, struct flow_owner owner,
                                        const char *client, size_t len)
{
    const struct relay_shim shim = {
        .flags = flags,
        .datagram_bytes = (uint16_t)len,
        .instance_id = owner.instance_id,
        .session_id = owner.session_id,
        .client = addr(client),
    };
    relay_shim_write(w->ring, &shim, w->packet);
    memset(w->packet + RELAY_SHIM_BYTES, 0x90, len);
    return bytes_view_of(w->packet, RELAY_SHIM_BYTES + len);
}

static inline struct verdict from_client(struct world *w, const char *client,
                                         struct bytes_view datagram)
{
    const struct net_addr from = addr(client);
    return forwarder_from_client(w->forwarder, datagram, &from, net_addr_is_ipv4(&from) ? 0 : 1,
                                 w->now_us);
}

/* The shard of the owner sends it. */
static inline struct verdict from_shard_of(struct world *w, struct flow_owner owner,
                                           struct bytes_view packet)
{
    struct net_addr from =
        addr(owner.instance_id == owner_a.instance_id ? "10.0.0.5:4000" : "10.0.0.6:4000");
    from.port = (uint16_t)(from.port + SESSION_ID_SHARD(owner.session_id));
    return forwarder_from_transceiver(w->forwarder, packet, &from, w->now_us);
}

static inline struct verdict downlink(struct world *w, struct flow_owner owner, const char *client)
{
    return from_shard_of(w, owner, shim_of(w, RELAY_SHIM_DOWNLINK, owner, client, 60));
}

static inline void assert_to(const struct verdict *v, enum forward_reason reason,
                             const char *destination)
{
    const struct net_addr wanted = addr(destination);
    assert_int_equal(v->reason, reason);
    assert_true(net_addr_equal(&v->destination, &wanted));
}

static inline size_t flow_count(const struct world *w, enum flow_state state)
{
    return flow_table_count(forwarder_flows(w->forwarder), state);
}

#endif
