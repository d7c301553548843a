/*
 * udp_port.h - the one UDP socket of a shard
 *
 * Takes:   datagrams to send, with headroom already filled.
 * Gives:   received datagrams in batches, writable (SRTP is removed in place), with
 *          UDP_PORT_SPARE_BYTES behind each.
 * Owns:    the socket and one batch of receive buffers.
 * Bounds:  UDP_PORT_BATCH datagrams a call; longer than UDP_PORT_DATAGRAM_BYTES: dropped and
 *          counted.
 * Fails:   open with a fault that names the address. A datagram that the kernel does not take is
 *          dropped and counted: the network loses packets too.
 */
#ifndef EARSHOT_UDP_PORT_H
#define EARSHOT_UDP_PORT_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/metrics.h"

#define UDP_PORT_BATCH          64
#define UDP_PORT_DATAGRAM_BYTES 1640 /* two shims of 40, a datagram of 1,500, some padding */
#define UDP_PORT_SPARE_BYTES    32

struct udp_received {
    struct bytes_span datagram;
    struct net_addr from;
};

struct udp_sending {
    struct bytes_view datagram;
    struct net_addr to;
};

struct udp_port_counters {
    metric_value received_datagrams;
    metric_value received_bytes;
    metric_value received_too_long;
    metric_value kernel_dropped; /* SO_RXQ_OVFL: the socket's buffer was full */
    metric_value sent_datagrams;
    metric_value sent_bytes;
    metric_value send_failed;
};

struct udp_port;

/* buffer_bytes is asked for both directions; what the kernel granted is logged. */
struct udp_port *udp_port_open(const struct net_addr *listen, size_t buffer_bytes,
                               struct fault *fault);
void udp_port_close(struct udp_port *p);
int udp_port_fd(const struct udp_port *p);
/* The address bound, with its real port. */
struct net_addr udp_port_address(const struct udp_port *p);
const struct udp_port_counters *udp_port_counters(const struct udp_port *p);

/* At most UDP_PORT_BATCH; 0 when nothing waits. Borrowed until the next receive. */
size_t udp_port_receive(struct udp_port *p, const struct udp_received **out);
/* Any count. Never blocks. */
void udp_port_send(struct udp_port *p, const struct udp_sending *sending, size_t count);

#endif
