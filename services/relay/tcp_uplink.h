/*
 * tcp_uplink.h - frames of TCP clients, on their way to transceivers, many for one system call
 *
 * Takes:   verdicts TO_TRANSCEIVER, whose datagrams it copies behind their shims.
 * Gives:   them to the kernel when there are TCP_UPLINK_MAX, or when the caller says so.
 * Owns:    room for one batch; forwarder, sender and counters are the caller's.
 */
#ifndef EARSHOT_TCP_UPLINK_H
#define EARSHOT_TCP_UPLINK_H

#include "services/relay/core/tcp_frame.h"
#include "services/relay/relay_counters.h"

#define TCP_UPLINK_MAX 64

struct tcp_uplink {
    struct forwarder *forwarder;
    struct udp_sender *sender;
    struct relay_counters *counters;
    size_t count;
    struct udp_packet packet[TCP_UPLINK_MAX];
    uint8_t bytes[TCP_UPLINK_MAX][RELAY_SHIM_BYTES + TCP_FRAME_DATAGRAM_MAX];
};

void tcp_uplink_init(struct tcp_uplink *u, struct forwarder *forwarder, struct udp_sender *sender,
                     struct relay_counters *counters);
void tcp_uplink_add(struct tcp_uplink *u, const struct verdict *v, const struct net_addr *from,
                    uint64_t now_us);
/* After the last one of a turn. */
void tcp_uplink_flush(struct tcp_uplink *u);

#endif
