/*
 * udp_port.h - the one UDP socket of a shard
 *
 * Takes:   datagrams to send. Those for one address leave as a padded train where the kernel has
 *          trains (udp_sender.h), so their receiver must know each one's own length.
 * Gives:   received datagrams in batches, writable (SRTP is removed in place). Behind one the next
 *          may follow at once: nothing may be written there.
 * Owns:    the socket, receiver and sender.
 * Bounds:  UDP_PORT_BATCH datagrams a call, also when the kernel gave more at once: what is left of
 *          them comes first with the next call.
 * Fails:   open with a fault that names the address. A datagram that the kernel does not take is
 *          dropped and counted: the network loses packets too.
 */
#ifndef EARSHOT_UDP_PORT_H
#define EARSHOT_UDP_PORT_H

#include "common/base/status.h"
#include "common/udp/udp_receiver.h"
#include "common/udp/udp_sender.h"

#define UDP_PORT_BATCH 64

struct udp_port_counters {
    metric_value received_datagrams;
    metric_value received_bytes;
    metric_value left_out; /* of trains longer than any of ours; not in received_datagrams */
    metric_value
        kernel_dropped; /* SO_RXQ_OVFL, the socket's buffer was full: trains count as one */
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

/* How datagrams leave. */
const struct udp_sender_counters *udp_port_trains(const struct udp_port *p);

/* At most UDP_PORT_BATCH; 0 when nothing waits. Borrowed until the next receive. */
size_t udp_port_receive(struct udp_port *p, const struct udp_arrival **out);
/* The next receive gives something that the socket no longer shows. */
bool udp_port_has_received(const struct udp_port *p);
/* Any count. Never blocks. */
void udp_port_send(struct udp_port *p, struct udp_packet *packet, size_t count);

#endif
