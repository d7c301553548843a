/*
 * udp_sender.h - datagrams into a UDP socket, many for one system call
 *
 * Takes:   any number of borrowed datagrams.
 * Gives:   each of them to the kernel, and marks which ones it took. One that it refuses does not
 *          cost the others: it is stepped over, marked and counted.
 * Owns:    fixed memory, no heap after create; the socket stays the caller's and must outlive it.
 * Threads: one; its counters may be read by any.
 */
#ifndef EARSHOT_UDP_SENDER_H
#define EARSHOT_UDP_SENDER_H

#include "common/base/net_addr.h"
#include "common/runtime/metrics.h"

struct udp_packet {
    struct bytes_view bytes; /* borrowed until flush */
    struct net_addr to;
    unsigned tag; /* the caller's */
    bool is_sent; /* set by flush */
};

enum udp_send_mode { UDP_SEND_SINGLY, UDP_SEND_TRAINS };

/* One writer: the sender's thread. */
struct udp_sender_counters {
    metric_value trains;
    metric_value train_datagrams; /* inside of trains */
    metric_value singles;
    metric_value refused; /* datagrams that the kernel did not take */
    metric_value mode;    /* enum udp_send_mode */
};

struct udp_sender;

/* want_trains: datagrams to one destination may travel together, padded with zeros to one length;
 * only for receivers that know each datagram's own length. NULL without memory. */
struct udp_sender *udp_sender_create(int fd, bool want_trains);
void udp_sender_destroy(struct udp_sender *s);

/* Sends all, in any order, and marks each; never blocks. */
void udp_sender_flush(struct udp_sender *s, struct udp_packet *packet, size_t count);

/* Borrowed. */
const struct udp_sender_counters *udp_sender_counters(const struct udp_sender *s);

#endif
