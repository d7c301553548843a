/*
 * forwarder_fuzz.c - a script of datagrams and times against a forwarder
 *
 * The input is a sequence of steps: one byte for the kind and the client, one for the time that
 * passes, two for the length, then the bytes. Half of the requests get a good token and half of the
 * downlinks a good tag, or nothing behind them would be reached; some of those are for a client
 * that sends, so that sessions meet at his flow. What is news goes to a second forwarder, as to
 * another worker. An odd number of bytes is a script for TCP clients.
 * Checks: an uplink goes to a table address, behind a shim that says whose it is, and its copy to
 * another session; a downlink to the client its shim names; reasons agree with what is done; flow
 * counts keep their bounds.
 */
#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"
#include "services/relay/core/forwarder.h"

#include <stdlib.h>

#define FLOWS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct forwarder *make(const uint8_t secret[KEY_RING_SECRET_BYTES], bool is_tcp)
{
    struct forwarder_config config = {.cluster_id = 1,
                                      .flow_cap = FLOWS,
                                      .source_flows_per_s = 200,
                                      .source_flows_burst = 400,
                                      .transceiver_networks = {.count = 1},
                                      .listen_count = 2,
                                      .is_tcp = is_tcp,
                                      .has_cache = true};
    check(net_block_parse("10.0.0.0/8", &config.transceiver_networks.block[0]) &&
          net_addr_parse("203.0.113.1:3478", &config.listen[0]) &&
          net_addr_parse("[2001:db8::1]:3478", &config.listen[1]) &&
          net_addr_parse("10.0.0.1:3500", &config.internal));
    static struct random_generator random;
    random_generator_init(&random, 1);
    struct forwarder *f =
        forwarder_create(&config, key_ring_from_secret(7, secret), random_seeded(&random));
    struct route_announcement a = {.instance_id = 1, .cluster_id = 1, .shard_count = 2};
    check(f != NULL && net_addr_parse("10.0.0.5:4000", &a.media_address) &&
          forwarder_announce(f, &a, 0) == ROUTE_NEW);
    return f;
}

/* Writes a token over the start of a USERNAME that the fuzzer put first. */
static void give_token(struct key_ring *ring, uint8_t *datagram, size_t len)
{
    const size_t at = STUN_HEADER_BYTES + 4;
    if (len >= at + ROUTING_TOKEN_CHARS) {
        const struct routing_token token = {
            .cluster_id = 1, .instance_id = 1, .session_id = datagram[STUN_HEADER_BYTES - 1]};
        routing_token_seal(ring, &token, (char *)datagram + at);
    }
}

/* Signs the shim that the fuzzer wrote, whatever it says; a sender, if not NULL, is its client. */
static void give_tag(struct key_ring *ring, const struct net_addr *sender, uint8_t *packet,
                     size_t len)
{
    if (len < RELAY_SHIM_BYTES) {
        return;
    }
    struct relay_shim shim = {.flags = packet[1] & 15,
                              .datagram_bytes = (uint16_t)(len - RELAY_SHIM_BYTES),
                              .instance_id = packet[7] & 3,
                              .session_id = packet[11],
                              .client.port = (uint16_t)(packet[12] << 8 | packet[13])};
    memcpy(shim.client.ip, packet + 16, sizeof(shim.client.ip));
    if (sender != NULL) {
        shim.client = *sender;
    }
    relay_shim_write(ring, &shim, packet);
}

static void check_shim(struct forwarder *f, struct key_ring *ring, const struct verdict *v,
                       const struct net_addr *client)
{
    static uint8_t packet[RELAY_SHIM_BYTES + FORWARDER_DATAGRAM_BYTES_MAX];
    struct relay_shim shim;
    forwarder_write_shim(f, v, client, packet);
    check(relay_shim_read(ring, bytes_view_of(packet, RELAY_SHIM_BYTES + v->datagram.len), &shim) ==
              RELAY_SHIM_OK &&
          net_addr_equal(&shim.client, client) && shim.datagram_bytes == v->datagram.len &&
          shim.session_id == v->owner.session_id && (shim.flags & RELAY_SHIM_DOWNLINK) == 0);
}

static void go_up(struct forwarder *f, struct key_ring *ring, const struct net_addr *client,
                  struct bytes_view datagram, uint64_t now_us)
{
    const struct verdict v = forwarder_from_client(f, datagram, client, 0, now_us);
    struct verdict copy[FORWARDER_RIVALS_MAX];
    check(v.action != FORWARD_TO_CLIENT && v.action != FORWARD_NOTHING);
    check(v.action != FORWARD_HOLD || v.reason == FORWARD_UP_NO_FLOW);
    check(forward_reason_is_drop(v.reason) == (v.action != FORWARD_TO_TRANSCEIVER));
    check(!forward_reason_is_down(v.reason));
    if (v.action != FORWARD_TO_TRANSCEIVER) {
        return;
    }
    check(v.destination.ip[12] == 10 && v.datagram.data == datagram.data);
    check_shim(f, ring, &v, client);
    const size_t copies = v.is_disputed ? forwarder_to_rivals(f, &v, client, copy, now_us) : 0;
    for (size_t i = 0; i < copies; i++) {
        if (copy[i].action == FORWARD_TO_TRANSCEIVER) {
            check(copy[i].destination.ip[12] == 10 && !flow_owner_equal(copy[i].owner, v.owner));
            check_shim(f, ring, &copy[i], client);
        }
    }
}

static void go_down(struct forwarder *f, struct forwarder *other, struct bytes_view packet,
                    uint64_t now_us)
{
    struct net_addr shard;
    check(net_addr_parse("10.0.0.5:4000", &shard));
    const struct verdict v = forwarder_from_transceiver(f, packet, &shard, now_us);
    check(v.action != FORWARD_TO_TRANSCEIVER && v.action != FORWARD_HOLD);
    check(forward_reason_is_drop(v.reason) == (v.action == FORWARD_DROP));
    check(forward_reason_is_down(v.reason));
    check(v.action != FORWARD_TO_CLIENT ||
          (memcmp(v.destination.ip, packet.data + 16, 16) == 0 && v.datagram.len > 0 &&
           v.datagram.data + v.datagram.len <= packet.data + packet.len));
    if (v.is_news) {
        const struct forwarder_lesson lesson = forwarder_lesson_of(&v, &shard);
        forwarder_learn(other, &lesson, now_us);
    }
}

static void check_bounds(const struct forwarder *f)
{
    const struct flow_table *flows = forwarder_flows(f);
    const size_t half_open = flow_table_count(flows, FLOW_HALF_OPEN);
    check(half_open <= FLOWS / FLOW_HALF_OPEN_SHARE);
    check(half_open + flow_table_count(flows, FLOW_CONFIRMED) <= FLOWS);
}

static void step(struct forwarder *f, struct forwarder *other, struct key_ring *ring, uint8_t kind,
                 struct bytes_span bytes, uint64_t now_us)
{
    const struct bytes_view datagram = bytes_view_of(bytes.data, bytes.len);
    const bool is_good = (kind & 2) != 0;
    struct net_addr client;
    check(net_addr_parse("198.51.100.7:5000", &client));
    client.ip[15] = kind >> 3;
    if ((kind & 1) == 0) {
        if (is_good) {
            give_token(ring, bytes.data, bytes.len);
        }
        go_up(f, ring, &client, datagram, now_us);
    } else {
        if (is_good) {
            give_tag(ring, (kind & 4) != 0 ? &client : NULL, bytes.data, bytes.len);
        }
        go_down(f, other, datagram, now_us);
    }
    check_bounds(f);
    check_bounds(other);
}

static void play(struct bytes_view script, bool is_tcp)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1};
    struct forwarder *f = make(secret, is_tcp);
    struct forwarder *other = make(secret, is_tcp);
    struct key_ring *ring = key_ring_from_secret(7, secret);
    struct byte_reader r;
    byte_reader_init(&r, script);
    uint64_t now_us = 0;
    while (byte_reader_left(&r) > 0) {
        const uint8_t kind = byte_reader_u8(&r);
        now_us += (uint64_t)byte_reader_u8(&r) * 100 * US_PER_MS;
        const size_t wanted = byte_reader_u16(&r) % 1600;
        const size_t len = wanted < byte_reader_left(&r) ? wanted : byte_reader_left(&r);
        const struct bytes_view input = byte_reader_bytes(&r, len);
        uint8_t *bytes = malloc(len + 1); /* exact, so that ASan sees each byte too many */
        check(bytes != NULL);
        if (len > 0) {
            memcpy(bytes, input.data, len);
        }
        step(f, other, ring, kind, (struct bytes_span){bytes, len, len}, now_us);
        free(bytes);
    }
    forwarder_destroy(f);
    forwarder_destroy(other);
    key_ring_destroy(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play(bytes_view_of(data, size), size % 2 != 0);
    return 0;
}
