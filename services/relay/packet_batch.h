/*
 * packet_batch.h - datagrams in and out of a socket, many for one system call
 *
 * Receiving: PACKET_BATCH slots, each with PACKET_HEADROOM free bytes before the datagram, so that
 *            a shim is written in front of it and nothing is copied. A longer datagram than
 *            PACKET_BYTES is cut to that, which is more than any that is forwarded.
 * Sending:   borrowed datagrams, all through one socket. One that the kernel refuses does not cost
 *            the others: it is stepped over and marked.
 * Owns:      fixed memory; no heap after create.
 * Threads:   one.
 */
#ifndef EARSHOT_PACKET_BATCH_H
#define EARSHOT_PACKET_BATCH_H

#include "common/base/net_addr.h"

#define PACKET_BATCH    64
#define PACKET_HEADROOM 80 /* two shims: one of ours, one that a relay before us may have written */
#define PACKET_BYTES    (2048 - PACKET_HEADROOM)

struct received_packet {
    uint8_t *data; /* PACKET_HEADROOM bytes before it are free */
    size_t len;
    struct net_addr from;
};

struct receive_batch {
    struct received_packet packet[PACKET_BATCH];
    size_t count;
    uint32_t dropped_total; /* by the kernel since the socket was opened; 0 = it does not say */
    uint64_t first_unix_us; /* when the first datagram reached the kernel; 0 = it does not say */
    struct receive_slots *slots;
};

/* False without memory. */
MUST_USE bool receive_batch_init(struct receive_batch *b);
void receive_batch_free(struct receive_batch *b);
/* Takes what waits at fd, at most PACKET_BATCH; never blocks. Valid until the next call. */
size_t receive_batch_take(struct receive_batch *b, int fd);

struct sending_packet {
    struct bytes_view bytes; /* borrowed until flush */
    struct net_addr to;
    unsigned tag; /* the caller's */
    bool is_sent; /* set by flush */
};

struct send_batch {
    struct sending_packet packet[PACKET_BATCH];
    size_t count;
};

/* Never more than PACKET_BATCH between two clears (asserted). */
void send_batch_add(struct send_batch *b, struct bytes_view bytes, const struct net_addr *to,
                    unsigned tag);
/* Sends all and marks each; the batch stays filled, for counting, until it is cleared. */
void send_batch_flush(struct send_batch *b, int fd);

static inline void send_batch_clear(struct send_batch *b)
{
    b->count = 0;
}

#endif
