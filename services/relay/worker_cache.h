/*
 * worker_cache.h - a worker's dealings with the flow cache
 *
 * Takes:   datagrams that only lack a flow, downlinks whose flow the cache should hear of, answers.
 * Gives:   the held datagrams again, by client: when the cache has answered, with or without a flow
 *          made, or when HOLD_TIME_US are over.
 * Owns:    the hold queue. The cache is main's, forwarder and counters are the worker's.
 * Fails:   without a cache, or while Redis is away, nothing is held. A late answer still makes a
 *          flow, for the datagrams after it.
 */
#ifndef EARSHOT_WORKER_CACHE_H
#define EARSHOT_WORKER_CACHE_H

#include "services/relay/core/hold_queue.h"
#include "services/relay/flow_cache/flow_cache.h"
#include "services/relay/relay_config.h"
#include "services/relay/relay_counters.h"

struct worker_cache_config {
    struct flow_cache *cache;   /* NULL = none; must outlive the worker */
    size_t port;                /* the worker's own */
    struct cache_budget budget; /* this worker's share */
    uint16_t cluster_id;
    bool is_tcp;
};

struct worker_cache {
    struct worker_cache_config config;
    struct hold_queue *hold; /* NULL = no cache */
    struct forwarder *forwarder;
    struct relay_counters *counters;
};

/* False without memory. Fine to close then. */
MUST_USE bool worker_cache_open(struct worker_cache *c, const struct worker_cache_config *config,
                                struct forwarder *forwarder, struct relay_counters *counters);
void worker_cache_close(struct worker_cache *c);

/* Readable when there are answers; -1 without a cache. */
int worker_cache_fd(const struct worker_cache *c);
/* Holds a datagram of verdict FORWARD_HOLD. False when it has to be dropped. */
MUST_USE bool worker_cache_hold(struct worker_cache *c, const struct udp_arrival *arrival,
                                uint8_t socket, uint64_t now_us);
/* Writes behind what a verdict with is_cache_due says. */
void worker_cache_store(struct worker_cache *c, const struct verdict *v, uint64_t now_us);

/* The datagrams of the next client whom the cache has answered for; false without one. */
MUST_USE bool worker_cache_take_answered(struct worker_cache *c, struct held_batch *out,
                                         uint64_t now_us);
/* Of the next client whose time is over; likewise. */
MUST_USE bool worker_cache_take_overdue(struct worker_cache *c, struct held_batch *out,
                                        uint64_t now_us);
/* How long the worker may sleep: idle_ms, or less while something is held. */
int worker_cache_wait_ms(const struct worker_cache *c, int idle_ms, uint64_t now_us);

#endif
