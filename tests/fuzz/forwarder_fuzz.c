/*
 * forwarder_fuzz.c - a script of datagrams and times against one forwarder
 *
 * The input is a sequence of steps: one byte for the kind and the client, one for the time that
 * passes, two for the length, then the bytes. Half of the requests get a good token and half of the
 * downlinks a good tag, or nothing behind them would be reached.
 * Checks: an uplink goes to a table address; a downlink to the client its shim names; flow counts
 * keep their bounds.
 */
#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"
#include "services/relay/forwarder.h"

#include <stdlib.h>

#define FLOWS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct forwarder *make(const uint8_t secret[KEY_RING_SECRET_BYTES])
{
    struct forwarder_config config = {.cluster_id = 1,
                                      .flow_cap = FLOWS,
                                      .source_flows_per_s = 200,
                                      .source_flows_burst = 400,
                                      .transceiver_networks = {.count = 1},
                                      .listen_count = 2};
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

/* Signs the shim that the fuzzer wrote, whatever it says. */
static void give_tag(struct key_ring *ring, uint8_t *packet, size_t len)
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
    relay_shim_write(ring, &shim, packet);
}

static void step(struct forwarder *f, struct key_ring *ring, uint8_t kind, uint8_t *bytes,
                 size_t len, uint64_t now_us)
{
    struct net_addr peer;
    const struct bytes_view datagram = bytes_view_of(bytes, len);
    if ((kind & 1) == 0) {
        check(net_addr_parse("198.51.100.7:5000", &peer));
        peer.ip[15] = kind >> 3;
        if ((kind & 2) != 0) {
            give_token(ring, bytes, len);
        }
        const struct verdict v = forwarder_from_client(f, datagram, &peer, 0, now_us);
        check(v.action == FORWARD_DROP || v.action == FORWARD_TO_TRANSCEIVER);
        check(forward_reason_is_drop(v.reason) == (v.action == FORWARD_DROP));
        check(v.action == FORWARD_DROP || v.destination.ip[12] == 10);
    } else {
        check(net_addr_parse("10.0.0.5:4000", &peer));
        if ((kind & 2) != 0) {
            give_tag(ring, bytes, len);
        }
        const struct verdict v = forwarder_from_transceiver(f, datagram, &peer, now_us);
        check(v.action != FORWARD_TO_TRANSCEIVER);
        check(v.action != FORWARD_TO_CLIENT ||
              (memcmp(v.destination.ip, bytes + 16, 16) == 0 && v.datagram.len > 0 &&
               v.datagram.data + v.datagram.len <= bytes + len));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1};
    struct forwarder *f = make(secret);
    struct key_ring *ring = key_ring_from_secret(7, secret);
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
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
        step(f, ring, kind, bytes, len, now_us);
        free(bytes);
        const struct flow_table *flows = forwarder_flows(f);
        const size_t half_open = flow_table_count(flows, FLOW_HALF_OPEN);
        check(half_open <= FLOWS / FLOW_HALF_OPEN_SHARE);
        check(half_open + flow_table_count(flows, FLOW_CONFIRMED) <= FLOWS);
    }
    forwarder_destroy(f);
    key_ring_destroy(ring);
    return 0;
}
