/*
 * copy_loop.h - the least that a relay can do: two sockets, batches of 64, nothing done to a packet
 *
 * What clients send goes to the transceiver, what comes from there to one client, unlooked at: no
 * address, no look-up, no shim. A relay is measured against it.
 */
#ifndef EARSHOT_BENCH_COPY_LOOP_H
#define EARSHOT_BENCH_COPY_LOOP_H

#include "common/base/net_addr.h"

#include <sys/types.h>

struct copy_loop_config {
    struct net_addr listen;
    struct net_addr internal;
    struct net_addr media;
    struct net_addr client;
    int cpu;           /* -1: any */
    int fifo_priority; /* 0: none */
};

/* A process that is killed when the thread that started it ends; its sockets are bound. */
pid_t copy_loop_start(const struct copy_loop_config *c);
void copy_loop_stop(pid_t pid);

#endif
