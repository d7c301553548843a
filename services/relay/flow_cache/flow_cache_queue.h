/*
 * flow_cache_queue.h - what waits for Redis: look-ups first, then flows to remember
 *
 * Takes:   requests, as workers make them.
 * Gives:   the oldest look-up that may still be of use, else the oldest store.
 * Owns:    two rings; no heap after create.
 * Bounds:  FLOW_CACHE_LOOKUPS_MAX look-ups of FLOW_CACHE_LOOKUP_LIFE_US and FLOW_CACHE_STORES_MAX
 *          stores; the oldest of a full ring gives its place.
 */
#ifndef EARSHOT_FLOW_CACHE_QUEUE_H
#define EARSHOT_FLOW_CACHE_QUEUE_H

#include "common/base/time_us.h"
#include "services/relay/flow_cache/flow_cache_request.h"

#define FLOW_CACHE_STORES_MAX     8192
#define FLOW_CACHE_LOOKUPS_MAX    1024
#define FLOW_CACHE_LOOKUP_LIFE_US (20 * US_PER_MS)

struct flow_cache_queue;

/* NULL without memory. */
struct flow_cache_queue *flow_cache_queue_create(void);
void flow_cache_queue_destroy(struct flow_cache_queue *q);

/* False when an older request of its kind gave its place. */
MUST_USE bool flow_cache_queue_put(struct flow_cache_queue *q,
                                   const struct flow_cache_request *request);
/* Forgets look-ups that are too old; returns how many. */
size_t flow_cache_queue_expire(struct flow_cache_queue *q, uint64_t now_us);
/* The next of this kind; false when none waits. */
MUST_USE bool flow_cache_queue_take(struct flow_cache_queue *q, enum flow_cache_request_kind kind,
                                    struct flow_cache_request *out);
size_t flow_cache_queue_count(const struct flow_cache_queue *q, enum flow_cache_request_kind kind);

#endif
