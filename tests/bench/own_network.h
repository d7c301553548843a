/*
 * own_network.h - a network namespace of this process's own, with loopback alone
 *
 * No capture, filter or port of the host is in it, and what is in it ends with the process.
 * Needs root or unprivileged user namespaces. Call before there is a second thread.
 */
#ifndef EARSHOT_BENCH_OWN_NETWORK_H
#define EARSHOT_BENCH_OWN_NETWORK_H

#include "common/base/status.h"

MUST_USE bool own_network_enter(struct fault *fault);

#endif
