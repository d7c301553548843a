/*
 * own_network.h - a network namespace of this process's own, with loopback alone
 *
 * No capture, filter or port of the host is in it, and what is in it ends with the process.
 * Needs root or unprivileged user namespaces. Call before there is a second thread. Only one
 * process of this host is in one at a time, others wait for it: two loads on the same CPUs measure
 * each other.
 */
#ifndef EARSHOT_BENCH_OWN_NETWORK_H
#define EARSHOT_BENCH_OWN_NETWORK_H

#include "common/base/status.h"

#define OWN_NETWORK_LOCK "/tmp/earshot-bench.lock"

MUST_USE bool own_network_enter(struct fault *fault);

#endif
