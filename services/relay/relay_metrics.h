/*
 * relay_metrics.h - the relay's numbers for /metrics
 *
 * Takes:   the workers, whose counters are read with relaxed atomics, and main's own counters.
 * Gives:   the families of docs/operations.md, summed over the workers.
 * Threads: register at start; afterwards the admin thread reads.
 */
#ifndef EARSHOT_RELAY_METRICS_H
#define EARSHOT_RELAY_METRICS_H

#include "services/relay/relay_worker.h"

/* One writer: main. */
struct relay_control_counters {
    metric_value announcements[ROUTE_RESULT_COUNT];
    metric_value announcements_malformed;
    metric_value instances_known;
    metric_value messages_lost; /* a worker's inbox was full */
    metric_value key_reloads_failed;
    metric_value key_ids; /* one bit for each */
    metric_value key_active_id;
};

struct relay_metrics {
    struct relay_worker *worker[RELAY_WORKERS_MAX];
    size_t worker_count;
    struct relay_control_counters control;
};

/* m must live as long as the process's admin port. */
void relay_metrics_register(struct relay_metrics *m);

#endif
