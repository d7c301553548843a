/*
 * udp_pair.h - two UDP sockets on loopback, one sends to the other
 */
#ifndef EARSHOT_UDP_PAIR_H
#define EARSHOT_UDP_PAIR_H

#include "tests/testing.h"

#include "common/udp/udp_receiver.h"
#include "common/udp/udp_sender.h"
#include "services/relay/relay_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#define UDP_PAIR_PACKETS 64

struct udp_pair {
    int from;
    int to;
    struct net_addr address; /* of `to` */
    struct udp_receiver *receiver;
    struct udp_sender *sender;
    struct udp_packet packet[UDP_PAIR_PACKETS];
    size_t count;
};

static inline int udp_pair_bind(struct net_addr *address)
{
    struct fault fault = {0};
    assert_true(net_addr_parse("127.0.0.1:0", address));
    assert_true(relay_socket_probe(address, &fault));
    const int fd = relay_socket_open_internal(address, 1 << 20, &fault);
    assert_true(fd >= 0);
    return fd;
}

static inline void udp_pair_open(struct udp_pair *pair, enum udp_receiver_kind kind,
                                 bool want_trains)
{
    struct net_addr unused;
    *pair = (struct udp_pair){.from = udp_pair_bind(&unused)};
    pair->to = udp_pair_bind(&pair->address);
    pair->receiver = udp_receiver_create(kind);
    pair->sender = udp_sender_create(pair->from, want_trains);
    assert_non_null(pair->receiver);
    assert_non_null(pair->sender);
}

static inline void udp_pair_close(struct udp_pair *pair)
{
    udp_receiver_destroy(pair->receiver);
    udp_sender_destroy(pair->sender);
    (void)close(pair->from);
    (void)close(pair->to);
}

static inline void udp_pair_add_to(struct udp_pair *pair, const void *data, size_t len,
                                   const struct net_addr *to)
{
    assert_true(pair->count < UDP_PAIR_PACKETS);
    pair->packet[pair->count] = (struct udp_packet){
        .bytes = {(void *)(uintptr_t)data, len, len}, .to = *to, .tag = (unsigned)pair->count};
    pair->count++;
}

static inline void udp_pair_add(struct udp_pair *pair, const void *data, size_t len)
{
    udp_pair_add_to(pair, data, len, &pair->address);
}

/* What was added stays in pair->packet, marked. */
static inline void udp_pair_flush(struct udp_pair *pair)
{
    udp_sender_flush(pair->sender, pair->packet, pair->count);
    pair->count = 0;
}

static inline struct udp_arrivals udp_pair_take(struct udp_pair *pair)
{
    return udp_receiver_take(pair->receiver, pair->to);
}

#endif
