/*
 * relay_keep.h - what a restarted relay finds again: its sockets, flows and routes
 *
 * Under a supervisor that keeps descriptors (common/runtime/fd_store.h) the bound sockets stay
 * open while the relay is away: datagrams wait in them. The flows lie in memory that stays too.
 * Without such a supervisor this opens sockets, and that is all.
 * Names:   public.<worker> on the first listen address, public.<worker>.<n> on the n-th further
 *          one, internal.<port>, flows.
 * Takes:   from the store only what fits: a UDP socket bound to the very address, shared or not as
 *          ours are; memory with the very label. The rest is closed, and forgotten by the store.
 * Gives:   descriptors, which are then the caller's; memory, which lives until close.
 * Threads: main's, before the workers run and after they have ended; settle is each worker's.
 */
#ifndef EARSHOT_RELAY_KEEP_H
#define EARSHOT_RELAY_KEEP_H

#include "common/runtime/fd_store.h"
#include "services/relay/flow_memory.h"

struct relay_keep {
    const struct relay_config *config;
    struct fd_store store;
    struct flow_memory memory;
    size_t sockets_kept;
};

/* Reads what the environment hands over. config must outlive it. Never fails, neither does the
 * next: what can not be kept is logged, and made anew. */
void relay_keep_open(struct relay_keep *k, const struct relay_config *config);
/* With a supervisor: takes up the flows of as many workers, or makes memory for them. */
void relay_keep_open_flows(struct relay_keep *k, unsigned worker_count);
void relay_keep_close(struct relay_keep *k);

/* As relay_socket_probe, for an address that no kept socket holds. */
MUST_USE bool relay_keep_probe(struct relay_keep *k, struct net_addr *listen, struct fault *fault);
/* The kept socket, or one that is opened now and kept from now on. -1 and a fault. */
int relay_keep_public(struct relay_keep *k, unsigned worker, unsigned listen_index,
                      struct fault *fault);
/* port_index: of FORWARDER_INTERNAL_PORTS. */
int relay_keep_internal(struct relay_keep *k, unsigned port_index, struct fault *fault);
/* What the process before noted of routes. */
void relay_keep_recall(const struct relay_keep *k, struct forwarder *f, uint64_t now_us);
/* Moves a worker's flows to the memory that is kept, with what lies there: a million take a while,
 * and meanwhile datagrams wait in the worker's sockets. In the worker's own thread, before its
 * first turn. Nothing without such memory: the flows stay where they are. */
void relay_keep_settle(const struct relay_keep *k, unsigned worker, struct forwarder *f,
                       uint64_t now_us);
/* Is there such memory? Its pages come with the flows: those that were never used cost the next
 * restart nothing. */
bool relay_keep_has_memory(const struct relay_keep *k);

/* Everything was opened: what is still in the store is nobody's any more. */
void relay_keep_opened(struct relay_keep *k);
/* The relay is ready for its supervisor. */
void relay_keep_ready(struct relay_keep *k);

#endif
