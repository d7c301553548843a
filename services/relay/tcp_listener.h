/*
 * tcp_listener.h - the sockets that TCP clients connect to
 *
 * What a connection must have is set on the listening socket, and its connections inherit it: no
 * delay, an end after 10 s without an acknowledgement, little that the kernel took and did not send
 * yet (so that old voice waits in tcp_output.h, where it can be dropped), and an end by RST, which
 * tells the client at once and keeps nothing in the kernel.
 * Fails:   a fault that names the address.
 */
#ifndef EARSHOT_TCP_LISTENER_H
#define EARSHOT_TCP_LISTENER_H

#include "common/base/net_addr.h"
#include "common/base/status.h"

/* The socket, or -1 and a fault. Port 0 of address becomes the one that the kernel chose. */
int tcp_listener_open(struct net_addr *address, struct fault *fault);

enum tcp_arrival {
    TCP_ARRIVAL_NONE,          /* nobody waits */
    TCP_ARRIVAL_CLIENT,        /* *fd is the caller's and does not block */
    TCP_ARRIVAL_NO_DESCRIPTORS /* somebody waits, but there is no descriptor or memory */
};

enum tcp_arrival tcp_listener_accept(int listen_fd, int *fd, struct net_addr *client);

#endif
