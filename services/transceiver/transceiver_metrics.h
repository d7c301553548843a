/*
 * transceiver_metrics.h - the transceiver's families for /metrics
 */
#ifndef EARSHOT_TRANSCEIVER_METRICS_H
#define EARSHOT_TRANSCEIVER_METRICS_H

#include "services/transceiver/port/event_loop.h"

struct transceiver_metrics {
    struct event_loop *const *loops;
    size_t loop_count;
    uint64_t capacity;
    metric_value is_draining;
    metric_value key_ids; /* bit i: the ring has key i */
    metric_value key_active;
    metric_value key_reloads_failed;
};

/* A metrics_source; context is a struct transceiver_metrics. */
void transceiver_metrics_print(struct metrics_text *t, void *context);
void transceiver_metrics_note_keys(struct transceiver_metrics *m, const struct key_ring *ring);

#endif
