/*
 * udp_train.h - which datagrams travel together
 *
 * The kernel cuts one long message into datagrams of one length (UDP_SEGMENT): a train. Those of
 * unequal length are filled up with zeros to the longest of their train: they may only go to a
 * receiver that knows each one's own length.
 * Takes:   a batch of packets, in any mix of destinations and lengths.
 * Gives:   trains, of one packet or more, in the order of their first packets; a train keeps the
 *          order of its packets.
 * Rules:   one destination and one class of length in a train, so that a few long datagrams do not
 *          fill many short ones up; no packet becomes longer than its memory has room for; at most
 *          UDP_TRAIN_BYTES_MAX in all. What is longer than UDP_TRAIN_LONG_BYTES goes alone: a
 *          segment above the MTU costs the whole train, while IP cuts a single datagram up.
 */
#ifndef EARSHOT_UDP_TRAIN_H
#define EARSHOT_UDP_TRAIN_H

#include "common/base/net_addr.h"

#define UDP_TRAIN_PACKETS_MAX 64 /* what kernels before 6.9 take */
#define UDP_TRAIN_BYTES_MAX   65000

/* Datagrams of 256 and 1,200 bytes behind a shim of 40. */
#define UDP_TRAIN_SHORT_BYTES 296
#define UDP_TRAIN_LONG_BYTES  1240

struct udp_packet {
    struct bytes_span bytes; /* borrowed until flush; zeros may be written behind it, up to cap */
    struct net_addr to;
    unsigned tag; /* the caller's */
    bool is_sent; /* set by flush */
};

enum udp_length_class { UDP_SHORT, UDP_LONG, UDP_ALONE };

struct udp_train {
    struct net_addr to;
    enum udp_length_class length_class;
    size_t first; /* its packets are order[first], order[first + 1] ... */
    size_t count;
    size_t longest; /* bytes of its longest packet */
    size_t room;    /* the smallest cap */
};

struct udp_trains {
    struct udp_train train[UDP_TRAIN_PACKETS_MAX];
    size_t count;
    uint8_t order[UDP_TRAIN_PACKETS_MAX]; /* indices of packets, train after train */
};

/* count: 1..UDP_TRAIN_PACKETS_MAX. */
void udp_trains_form(struct udp_trains *t, const struct udp_packet *packet, size_t count);
/* No trains, and the packets in their own order. */
void udp_trains_form_none(struct udp_trains *t, size_t count);

#endif
