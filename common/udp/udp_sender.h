/*
 * udp_sender.h - datagrams into a UDP socket, many for one system call
 *
 * Takes:   any number of borrowed datagrams.
 * Gives:   each of them to the kernel, and marks which ones it took. One that it refuses does not
 *          cost the others: it is stepped over and counted.
 * Trains:  where the caller wants them and the kernel has them (probed at create), datagrams travel
 *          as udp_train.h says. A train that is refused goes again, singly; trains of its class to
 *          its destination are given up when one of two datagrams is refused too for what it is, as
 *          with a device that computes no checksums or a path with a small MTU. The next
 *          UDP_GIVEN_UP_TRAINS of them go singly, then one is tried again.
 * Owns:    fixed memory, no heap after create; the socket stays the caller's and must outlive it.
 * Bounds:  UDP_GIVEN_UP_MAX destinations are remembered; a further one takes the oldest's place.
 * Threads: one; its counters may be read by any.
 */
#ifndef EARSHOT_UDP_SENDER_H
#define EARSHOT_UDP_SENDER_H

#include "common/runtime/metrics.h"
#include "common/udp/udp_train.h"

#define UDP_GIVEN_UP_MAX    64
#define UDP_GIVEN_UP_TRAINS 4096 /* a minute or less of a busy shard */

enum udp_send_mode { UDP_SEND_SINGLY, UDP_SEND_TRAINS };

/* One writer: the sender's thread. */
struct udp_sender_counters {
    metric_value trains;
    metric_value train_datagrams; /* inside of trains */
    metric_value singles;
    metric_value refused;        /* datagrams that the kernel did not take */
    metric_value refused_trains; /* whose datagrams then went singly */
    metric_value given_up;       /* times that a destination was to get no trains */
    metric_value mode;           /* enum udp_send_mode */
};

struct udp_sender;

/* want_trains: only for receivers that know each datagram's own length. NULL without memory. */
struct udp_sender *udp_sender_create(int fd, bool want_trains);
void udp_sender_destroy(struct udp_sender *s);

/* Sends all and marks each; never blocks. Two datagrams to one destination keep their order when
 * they are of one class. */
void udp_sender_flush(struct udp_sender *s, struct udp_packet *packet, size_t count);

/* Borrowed. */
const struct udp_sender_counters *udp_sender_counters(const struct udp_sender *s);

#endif
