/*
 * load_packet.h - the packets of a load: RTP that tells whose it is, how long, and when it was sent
 *
 * Whoever receives one can tell whether it is whole and reached the right client.
 * Order:   clients take turns in an order that no cache can guess. Payloads are as long as those of
 *          variable bit rate Opus behind SRTP.
 */
#ifndef EARSHOT_BENCH_LOAD_PACKET_H
#define EARSHOT_BENCH_LOAD_PACKET_H

#include "common/base/net_addr.h"

#define LOAD_PACKET_BYTES_MIN 73
#define LOAD_PACKET_BYTES_MAX 172
#define LOAD_CLIENTS_MAX      (1u << 20) /* addresses from 127.16.0.1 on */
#define LOAD_CLIENT_PORT      40000

struct load_order {
    uint32_t clients;
    uint32_t stride;
};

struct load_mark {
    uint64_t sent_ns;
    uint32_t client;
    uint32_t len; /* of the packet */
};

void load_order_init(struct load_order *order, uint32_t clients);
/* Whose turn it is and how much it sends. */
struct load_mark load_order_mark(const struct load_order *order, uint64_t sequence,
                                 uint64_t sent_ns);

/* Writes mark->len bytes. */
void load_packet_write(const struct load_mark *mark, uint64_t sequence,
                       uint8_t out[LOAD_PACKET_BYTES_MAX]);
/* False when it is none of ours, or was cut or padded. */
MUST_USE bool load_packet_read(struct bytes_view packet, struct load_mark *out);

/* Network order. */
uint32_t load_client_ip(uint32_t client);
struct net_addr load_client_address(uint32_t client);

#endif
