/*
 * relay_socket.h - opening the relay's UDP sockets, with the options that each kind needs
 *
 * Public:   SO_REUSEPORT, one for each worker and public address, so that the kernel spreads the
 *           clients. IPv6 ones take no IPv4: an address has one form. What goes to a client is not
 *           fragmented: one longer than the interface's MTU is refused.
 * Internal: one for each internal port; may be fragmented by IP on the way (Firefox sends DTLS
 *           datagrams of 1,408 bytes, with the shim too much for an overlay's MTU).
 * Both:     non-blocking; the kernel reports drops (SO_RXQ_OVFL) and arrival times.
 * Fails:    a fault that names the address, as "bind udp 0.0.0.0:3478: Address already in use".
 */
#ifndef EARSHOT_RELAY_SOCKET_H
#define EARSHOT_RELAY_SOCKET_H

#include "common/base/net_addr.h"
#include "common/base/status.h"

/* Is the public address free? SO_REUSEPORT alone would let another relay on this host bind it too
 * and silently take half of the clients. A port 0 is replaced by one that was free. */
MUST_USE bool relay_socket_probe(struct net_addr *address, struct fault *fault);

/* A descriptor, or -1 and a fault. */
int relay_socket_open_public(const struct net_addr *address, size_t buffer_bytes,
                             struct fault *fault);
int relay_socket_open_internal(const struct net_addr *address, size_t buffer_bytes,
                               struct fault *fault);

/* Is this descriptor, of a process before, a UDP socket that is bound to the address? */
bool relay_socket_is_bound_to(int fd, const struct net_addr *address);
/* And one that open_public or open_internal could have made? Then it has their options again. */
MUST_USE bool relay_socket_adopt_public(int fd, const struct net_addr *address,
                                        size_t buffer_bytes);
MUST_USE bool relay_socket_adopt_internal(int fd, const struct net_addr *address,
                                          size_t buffer_bytes);

/* What the kernel granted, in bytes of data. */
struct relay_socket_buffers {
    size_t receive_bytes;
    size_t send_bytes;
};
struct relay_socket_buffers relay_socket_buffers(int fd);
/* Less than was asked for? */
bool relay_socket_buffers_are_small(const struct relay_socket_buffers *granted, size_t asked_bytes);

/* What can be done about an error of bind or listen, in brackets behind a blank; "" = unknown. */
const char *relay_socket_remedy(int error);

#endif
