/*
 * cache_metrics.h - the flow cache's numbers for /metrics
 *
 * Takes:   the cache's own counters and the workers'.
 * Gives:   the families earshot_flow_cache_*, only where a flow cache is configured.
 * Threads: register at start; afterwards the admin thread reads.
 */
#ifndef EARSHOT_CACHE_METRICS_H
#define EARSHOT_CACHE_METRICS_H

#include "services/relay/relay_metrics.h"

struct cache_metrics {
    const struct relay_metrics *relay;
    const struct flow_cache *cache;
};

/* m and what it points at must live as long as the process's admin port. */
void cache_metrics_register(struct cache_metrics *m);

#endif
