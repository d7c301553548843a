/*
 * worker_uplink.h - one batch of datagrams from clients, on their way to transceivers
 *
 * Takes:   what waits at a public socket.
 * Gives:   each datagram, behind a shim that is written into the free bytes before it, to the shard
 *          that the forwarder's verdict names.
 *          One that several sessions claim goes to each: again, behind another shim.
 *          One that only lacks a flow is held while the flow cache is asked.
 * Owns:    one batch of memory; no heap after open. Sockets, forwarder, cache and counters are the
 *          worker's.
 */
#ifndef EARSHOT_WORKER_UPLINK_H
#define EARSHOT_WORKER_UPLINK_H

#include "services/relay/worker_cache.h"
#include "services/relay/worker_sockets.h"

/* A datagram of the batch that goes to other sessions too. */
struct uplink_disputed {
    size_t packet; /* its place in the batch */
    struct net_addr client;
    struct verdict copy[FORWARDER_RIVALS_MAX];
    size_t copies;
};

struct worker_uplink {
    struct forwarder *forwarder;
    struct relay_counters *counters;
    struct worker_cache *cache;
    struct udp_receiver *receiver;
    struct udp_sender *sender; /* on the first internal socket */
    struct udp_packet packet[UDP_SLOTS];
    size_t packet_count;
    struct uplink_disputed disputed[UDP_SLOTS];
    size_t disputed_count;
    unsigned batch_number;
};

/* False without memory. Fine to close then. */
MUST_USE bool worker_uplink_open(struct worker_uplink *u, const struct worker_sockets *sockets,
                                 struct forwarder *forwarder, struct worker_cache *cache,
                                 struct relay_counters *counters);
void worker_uplink_close(struct worker_uplink *u);

/* True when more may wait. */
bool worker_uplink_serve(struct worker_uplink *u, struct worker_socket *s);

/* What was held for a client goes again, with the flow that it has now or to its end. flush: after
 * the last one. */
void worker_uplink_take_held(struct worker_uplink *u, const struct held_batch *held,
                             uint64_t now_us);
void worker_uplink_flush(struct worker_uplink *u);

#endif
