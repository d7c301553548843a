/*
 * udp_receiver.h - datagrams out of UDP sockets, many for one system call
 *
 * SLOTS:   for sockets where each datagram comes alone. UDP_SLOTS of them a call, each with
 *          UDP_HEADROOM free bytes before it, so that a shim is written in front of it and nothing
 *          is copied. A datagram above UDP_SLOT_BYTES is cut to that, which is more than any that
 *          is forwarded.
 * TRAINS:  for sockets that udp_receiver_accept_trains has prepared: the kernel hands over many
 *          datagrams of one sender as one (UDP_GRO), and the receiver takes them apart.
 *          UDP_TRAINS of them a call, each up to 64 KB, so that none is cut. The datagrams of a
 *          train lie one behind the other: what is written behind one is in the next. Behind the
 *          last one of a train UDP_TRAIN_SPARE_BYTES may be written.
 * Gives:   writable datagrams, valid until the next take.
 * Owns:    fixed memory, no heap after create; no socket: one receiver serves any number of them.
 * Threads: one.
 */
#ifndef EARSHOT_UDP_RECEIVER_H
#define EARSHOT_UDP_RECEIVER_H

#include "common/base/net_addr.h"

#define UDP_SLOTS             64
#define UDP_HEADROOM          80 /* two shims: one of ours, one that a relay before us wrote */
#define UDP_SLOT_BYTES        (2048 - UDP_HEADROOM)
#define UDP_TRAINS            8
#define UDP_TRAIN_DATAGRAMS   64 /* as UDP_TRAIN_PACKETS_MAX of the sender; more are left out */
#define UDP_TRAIN_SPARE_BYTES 64

/* What one take gives at most, of either kind. */
#define UDP_ARRIVALS_MAX (UDP_TRAINS * UDP_TRAIN_DATAGRAMS)

enum udp_receiver_kind { UDP_RECEIVER_SLOTS, UDP_RECEIVER_TRAINS };

struct udp_arrival {
    uint8_t *data;
    size_t len;
    struct net_addr from;
};

struct udp_arrivals {
    const struct udp_arrival *datagram; /* borrowed until the next take */
    size_t count;
    size_t bytes;    /* of all datagrams */
    size_t left_out; /* datagrams behind UDP_TRAIN_DATAGRAMS of a train; not in count */
    bool is_full;    /* more may wait */
    /* Messages that the kernel dropped since the socket was opened: a train is one. 0 = it does not
     * say. */
    uint32_t dropped_total;
    uint64_t first_unix_us; /* when the first datagram reached the kernel; 0 = it does not say */
};

struct udp_receiver;

/* NULL without memory. */
struct udp_receiver *udp_receiver_create(enum udp_receiver_kind kind);
void udp_receiver_destroy(struct udp_receiver *r);

/* Asks the kernel for trains on this socket, which then only a receiver of kind TRAINS can read, or
 * for none, as at first. False on a kernel that has none: that receiver works all the same. */
bool udp_receiver_accept_trains(int fd, bool accepts);

/* Takes what waits at fd; never blocks. */
struct udp_arrivals udp_receiver_take(struct udp_receiver *r, int fd);

#endif
