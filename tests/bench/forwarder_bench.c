/* forwarder_bench.c - what the relay decides for one datagram, with 1,000 to 1,000,000 flows */
#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"
#include "services/relay/core/forwarder.h"
#include "tests/bench/bench.h"

#include <assert.h>
#include <stdlib.h>

#define KEY_ID         7
#define START_US       (1000 * US_PER_S)
#define DATAGRAM_BYTES 24 /* short, so that a million downlinks fit in memory */
#define PACKET_BYTES   (RELAY_SHIM_BYTES + DATAGRAM_BYTES)
#define BATCH          64 /* as the worker receives */
#define COUNT          (800 * BATCH)
#define SIZES          4

static const struct flow_owner owner = {0x5eed0001, 0x2a03};

struct world {
    size_t client_count;
    struct key_ring *ring; /* the transceiver's */
    struct forwarder *forwarder;
    uint8_t (*downlink)[PACKET_BYTES]; /* as many as there are clients */
    size_t downlink_next;
    uint32_t lottery;
    uint64_t now_us;
    uint8_t request[256];
    size_t request_len;
};

static struct net_addr address(const char *text)
{
    struct net_addr a;
    const bool is_address = net_addr_parse(text, &a);
    assert(is_address);
    return a;
}

static struct net_addr client_at(size_t index)
{
    struct net_addr a = {.ip = {[10] = 0xff, 0xff, 51}, .port = 50000};
    a.ip[13] = (uint8_t)(index >> 16);
    a.ip[14] = (uint8_t)(index >> 8);
    a.ip[15] = (uint8_t)index;
    return a;
}

/* In an order that no cache can guess. */
static size_t draw(struct world *w)
{
    w->lottery = w->lottery * 1664525 + 1013904223;
    return (size_t)((uint64_t)w->lottery * w->client_count >> 32);
}

/* --- set-up ----------------------------------------------------------------------------------- */

static void create_forwarder(struct world *w)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    static struct random_generator random;
    struct forwarder_config config = {
        .cluster_id = 1,
        .flow_cap = w->client_count,
        .source_flows_per_s = 200,
        .source_flows_burst = 400,
        .transceiver_networks = {.count = 1},
        .listen = {address("203.0.113.1:3478")},
        .listen_count = 1,
        .internal = address("10.0.0.1:3500"),
    };
    const struct route_announcement announcement = {
        .instance_id = owner.instance_id,
        .cluster_id = 1,
        .shard_count = 1,
        .media_address = address("10.0.0.5:4000"),
        .start_time_unix_us = 1,
        .sequence = 1,
    };
    const bool is_block = net_block_parse("10.0.0.0/8", &config.transceiver_networks.block[0]);
    assert(is_block);
    w->ring = key_ring_from_secret(KEY_ID, secret);
    w->forwarder =
        forwarder_create(&config, key_ring_from_secret(KEY_ID, secret), random_seeded(&random));
    assert(w->ring != NULL && w->forwarder != NULL);
    const enum route_result result = forwarder_announce(w->forwarder, &announcement, w->now_us);
    assert(result == ROUTE_NEW);
}

static void write_downlink(struct world *w, size_t client, uint8_t *out)
{
    const struct relay_shim shim = {.flags = RELAY_SHIM_DOWNLINK,
                                    .datagram_bytes = DATAGRAM_BYTES,
                                    .instance_id = owner.instance_id,
                                    .session_id = owner.session_id,
                                    .client = client_at(client)};
    relay_shim_write(w->ring, &shim, out);
}

static struct verdict take_downlink(struct world *w, const uint8_t *packet)
{
    static const struct net_addr transceiver = {.ip = {[10] = 0xff, 0xff, 10, 0, 0, 5},
                                                .port = 4000};
    return forwarder_from_transceiver(w->forwarder, bytes_view_of(packet, PACKET_BYTES),
                                      &transceiver, w->now_us);
}

/* A downlink confirms the flow of its client. */
static void confirm_flows(struct world *w)
{
    uint8_t packet[PACKET_BYTES] = {0};
    for (size_t i = 0; i < w->client_count; i++) {
        write_downlink(w, i, packet);
        const struct verdict v = take_downlink(w, packet);
        assert(v.reason == FORWARD_DOWN_SHIM && v.is_news);
    }
    assert(flow_table_count(forwarder_flows(w->forwarder), FLOW_CONFIRMED) == w->client_count);
}

/* In the order of their use: only the flows are hard to find. */
static void make_downlinks(struct world *w)
{
    w->downlink = calloc(w->client_count, sizeof(*w->downlink));
    assert(w->downlink != NULL);
    for (size_t i = 0; i < w->client_count; i++) {
        write_downlink(w, draw(w), w->downlink[i]);
    }
}

static void make_request(struct world *w)
{
    static const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES] = {9, 8, 7};
    static const uint8_t tag[20];
    char username[ROUTING_TOKEN_CHARS + 5];
    const struct routing_token token = {
        .cluster_id = 1, .instance_id = owner.instance_id, .session_id = owner.session_id};
    struct byte_writer writer;
    routing_token_seal(w->ring, &token, username);
    memcpy(username + ROUTING_TOKEN_CHARS, ":peer", 5);
    byte_writer_init(&writer, w->request, sizeof(w->request));
    stun_message_begin(&writer, STUN_BINDING_REQUEST, transaction_id);
    stun_message_add(&writer, STUN_USERNAME, bytes_view_of(username, sizeof(username)));
    stun_message_add_u64(&writer, STUN_ICE_CONTROLLING, 1);
    stun_message_add_u32(&writer, STUN_PRIORITY, 0x6e7f00ff);
    stun_message_add(&writer, STUN_MESSAGE_INTEGRITY, bytes_view_of(tag, sizeof(tag)));
    assert(!writer.failed);
    w->request_len = writer.len;
}

static void open_world(struct world *w, size_t client_count)
{
    *w = (struct world){.client_count = client_count, .now_us = START_US};
    create_forwarder(w);
    confirm_flows(w);
    make_downlinks(w);
    make_request(w);
}

static void close_world(struct world *w)
{
    forwarder_destroy(w->forwarder);
    key_ring_destroy(w->ring);
    free(w->downlink);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* A decision and, as in the worker, the shim that goes in front. */
static void decide(struct world *w, struct bytes_view datagram, const struct net_addr *from,
                   enum forward_reason expected)
{
    uint8_t shim[RELAY_SHIM_BYTES];
    const struct verdict v = forwarder_from_client(w->forwarder, datagram, from, 0, w->now_us);
    assert(v.reason == expected);
    if (v.action == FORWARD_TO_TRANSCEIVER) {
        forwarder_write_shim(w->forwarder, &v, from, shim);
    }
}

static void uplink(struct world *w, struct bytes_view datagram, size_t count,
                   enum forward_reason expected)
{
    for (size_t done = 0; done < count; done += BATCH) {
        struct net_addr from[BATCH];
        for (size_t i = 0; i < BATCH; i++) {
            from[i] = client_at(draw(w));
            forwarder_prefetch(w->forwarder, &from[i]);
        }
        for (size_t i = 0; i < BATCH; i++) {
            decide(w, datagram, &from[i], expected);
        }
    }
}

static void run_uplink(void *context, size_t count)
{
    static const uint8_t rtp[120] = {0x80};
    uplink(context, bytes_view_of(rtp, sizeof(rtp)), count, FORWARD_UP_FLOW);
}

static void run_request(void *context, size_t count)
{
    struct world *w = context;
    uplink(w, bytes_view_of(w->request, w->request_len), count, FORWARD_UP_TOKEN);
}

static void run_downlink(void *context, size_t count)
{
    struct world *w = context;
    for (size_t i = 0; i < count; i++) {
        w->downlink_next = (w->downlink_next + 1) % w->client_count;
        const struct verdict v = take_downlink(w, w->downlink[w->downlink_next]);
        assert(v.reason == FORWARD_DOWN_SHIM && !v.is_news);
    }
}

/* Datagrams of strangers. */
static void run_stranger(void *context, size_t count)
{
    static const uint8_t rtp[120] = {0x80};
    struct world *w = context;
    struct net_addr from = address("192.0.2.1:40000");
    for (size_t i = 0; i < count; i++) {
        from.port = (uint16_t)i;
        const struct verdict v = forwarder_from_client(
            w->forwarder, bytes_view_of(rtp, sizeof(rtp)), &from, 0, w->now_us);
        assert(v.reason == FORWARD_UP_NO_FLOW);
    }
}

int main(int argc, char **argv)
{
    static const size_t client_count[SIZES] = {1000, 10000, 100000, 1000000};
    static const struct {
        void (*run)(void *context, size_t count);
        const char *figure[SIZES];
    } kind[] = {
        {run_uplink, {"uplink_1k", "uplink_10k", "uplink_100k", "uplink_1m"}},
        {run_request, {"request_1k", "request_10k", "request_100k", "request_1m"}},
        {run_downlink, {"downlink_1k", "downlink_10k", "downlink_100k", "downlink_1m"}},
        {run_stranger, {"stranger_1k", "stranger_10k", "stranger_100k", "stranger_1m"}},
    };
    static struct world w[SIZES];
    struct bench_case cases[COUNT_OF(kind) * SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        open_world(&w[i], client_count[i]);
        for (size_t k = 0; k < COUNT_OF(kind); k++) {
            cases[k * SIZES + i] = (struct bench_case){
                .figure = kind[k].figure[i],
                .run = kind[k].run,
                .context = &w[i],
                .count = COUNT,
                .baseline = i == 0 ? NULL : kind[k].figure[0],
            };
        }
    }
    const int status = bench_run("forwarder", cases, COUNT_OF(cases), argc, argv);
    for (size_t i = 0; i < SIZES; i++) {
        close_world(&w[i]);
    }
    return status;
}
