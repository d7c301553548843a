/* load_packet.c - see load_packet.h */
#include "tests/bench/load_packet.h"

#include <arpa/inet.h>

#define RTP_HEADER_BYTES 12
#define RTP_VERSION_2    0x80
#define RTP_OPUS         111
#define FIRST_CLIENT     UINT32_C(0x7f100001) /* 127.16.0.1 */
#define GOLDEN_RATIO_32  UINT32_C(2654435769) /* 2^32 / 1.618: consecutive products lie apart */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A stride that has no divisor in common with the count visits every client once in a round. */
void load_order_init(struct load_order *order, uint32_t clients)
{
    assert(clients >= 1 && clients <= LOAD_CLIENTS_MAX);
    uint32_t stride = (uint32_t)((uint64_t)clients * GOLDEN_RATIO_32 >> 32) | 1;
    while (common_divisor(stride, clients) != 1) {
        stride += 2;
    }
    *order = (struct load_order){.clients = clients, .stride = stride};
}

struct load_mark load_order_mark(const struct load_order *order, uint64_t sequence,
                                 uint64_t sent_ns)
{
    const uint32_t range = LOAD_PACKET_BYTES_MAX - LOAD_PACKET_BYTES_MIN + 1;
    const uint32_t spread = ((uint32_t)sequence * GOLDEN_RATIO_32) >> 16;
    return (struct load_mark){.sent_ns = sent_ns,
                              .client = (uint32_t)(sequence * order->stride % order->clients),
                              .len = LOAD_PACKET_BYTES_MIN + spread % range};
}

void load_packet_write(const struct load_mark *mark, uint64_t sequence,
                       uint8_t out[LOAD_PACKET_BYTES_MAX])
{
    const uint8_t rtp[4] = {RTP_VERSION_2, RTP_OPUS, (uint8_t)(sequence >> 8), (uint8_t)sequence};
    memcpy(out, rtp, sizeof(rtp));
    memcpy(out + RTP_HEADER_BYTES, mark, sizeof(*mark));
}

bool load_packet_read(struct bytes_view packet, struct load_mark *out)
{
    if (packet.len < RTP_HEADER_BYTES + sizeof(*out) || packet.data[0] != RTP_VERSION_2 ||
        packet.data[1] != RTP_OPUS) {
        return false;
    }
    memcpy(out, packet.data + RTP_HEADER_BYTES, sizeof(*out));
    return out->len == packet.len;
}

uint32_t load_client_ip(uint32_t client)
{
    return htonl(FIRST_CLIENT + client);
}

struct net_addr load_client_address(uint32_t client)
{
    const uint32_t ip = load_client_ip(client);
    struct net_addr a = {.ip = {[10] = 0xff, [11] = 0xff}, .port = LOAD_CLIENT_PORT};
    memcpy(a.ip + 12, &ip, sizeof(ip));
    return a;
}
