/*
 * relay_metrics.h - the relay's numbers for /metrics
 *
 * Takes:   the threads that forward, whose counters are read with relaxed atomics, and main's own
 *          counters.
 * Gives:   the families of docs/operations.md, summed over those threads.
 * Threads: register at start; afterwards the admin thread reads.
 */
#ifndef EARSHOT_RELAY_METRICS_H
#define EARSHOT_RELAY_METRICS_H

#include "services/relay/relay_worker.h"
#include "services/relay/tcp_ingress.h"

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
    struct tcp_ingress *tcp; /* NULL: no TCP client is let in */
    struct relay_control_counters control;
};

/* All threads that forward, each with an inbox: the workers, then that of TCP. */
static inline size_t relay_metrics_thread_count(const struct relay_metrics *m)
{
    return m->worker_count + (m->tcp != NULL);
}

static inline const struct relay_counters *relay_metrics_counters(const struct relay_metrics *m,
                                                                  size_t thread)
{
    return thread < m->worker_count ? relay_worker_counters(m->worker[thread])
                                    : tcp_ingress_counters(m->tcp);
}

static inline const struct worker_inbox *relay_metrics_inbox(const struct relay_metrics *m,
                                                             size_t thread)
{
    return thread < m->worker_count ? relay_worker_inbox(m->worker[thread])
                                    : tcp_ingress_inbox(m->tcp);
}

/* The sum over all threads of the value that lies at this place in their counters. */
uint64_t relay_metrics_sum(const struct relay_metrics *m, size_t offset);

/* m must live as long as the process's admin port. */
void relay_metrics_register(struct relay_metrics *m);

#endif
