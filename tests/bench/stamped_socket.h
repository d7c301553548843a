/*
 * stamped_socket.h - a UDP socket on loopback whose datagrams tell when the kernel had them
 */
#ifndef EARSHOT_BENCH_STAMPED_SOCKET_H
#define EARSHOT_BENCH_STAMPED_SOCKET_H

#include "common/base/net_addr.h"

/* On a free port. Close it with close(). */
int stamped_socket_open(void);
struct net_addr stamped_socket_address(int fd);

/* The next datagram; its length, 0: none waits. unix_offset_us: the calendar less our clock;
 * *at_us is in our clock's time. */
size_t stamped_socket_take(int fd, uint8_t *out, size_t cap, uint64_t unix_offset_us,
                           uint64_t *at_us);

#endif
