/*
 * metrics.h - Prometheus text, pulled from the owners of the numbers
 *
 * A service keeps its counters where they are counted (one thread writes, relaxed atomics), and
 * registers sources that print them when /metrics is asked for. No registry, no lock on any path.
 * Names:   earshot_<service>_<thing>_<unit>, `_total` for counters; HELP on each family.
 * Threads: a source runs on the admin thread: it only reads relaxed atomics.
 */
#ifndef EARSHOT_METRICS_H
#define EARSHOT_METRICS_H

#include "common/base/bytes.h"

#include <stdatomic.h>

/* One writer, any reader. */
typedef _Atomic uint64_t metric_value;

static inline void metric_add(metric_value *m, uint64_t n)
{
    /* One writer: a relaxed load and store is enough and needs no locked instruction. */
    atomic_store_explicit(m, atomic_load_explicit(m, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline void metric_set(metric_value *m, uint64_t value)
{
    atomic_store_explicit(m, value, memory_order_relaxed);
}

static inline uint64_t metric_get(const metric_value *m)
{
    return atomic_load_explicit((metric_value *)m, memory_order_relaxed);
}

/* Fixed buckets in microseconds, printed in seconds. */
#define METRIC_BUCKETS_MAX 16
struct metric_histogram {
    const uint32_t *bound_us; /* ascending, bound_count of them */
    size_t bound_count;
    metric_value bucket[METRIC_BUCKETS_MAX + 1];
    metric_value sum_us;
};
void metric_observe(struct metric_histogram *h, uint64_t value_us);

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* Where a source prints to. Grows up to METRICS_BYTES_MAX; the family that passes it and all after
 * it are left out, and earshot_metrics_cut is 1. */
#define METRICS_BYTES_MAX (256 * 1024)
struct metrics_text;

/* Begins a family. Names of counters end in _total, others do not. name must live until the next
 * family. */
void metrics_family(struct metrics_text *t, const char *name, enum metric_type type,
                    const char *help);
/* One sample of the family begun last. labels: NULL or `direction="up",verdict="token"`. */
void metrics_sample(struct metrics_text *t, const char *labels, double value);
void metrics_sample_u64(struct metrics_text *t, const char *labels, uint64_t value);
void metrics_histogram(struct metrics_text *t, const char *labels,
                       const struct metric_histogram *h);

/* Makes a label's value from text that is not a constant; cut at text_cap; returns text. */
const char *metrics_escape_label(const char *value, char *text, size_t text_cap);

typedef void metrics_source(struct metrics_text *t, void *context);

/* At most METRICS_SOURCES_MAX, at start, before the admin thread runs; asserts beyond. */
#define METRICS_SOURCES_MAX 16
void metrics_add_source(metrics_source *source, void *context);

enum metrics_form {
    METRICS_TEXT,       /* Prometheus text 0.0.4 */
    METRICS_OPENMETRICS /* OpenMetrics 1.0 */
};

/* Every family of every source, and the process's own: earshot_build_info, CPU, memory,
 * descriptors, log lines dropped. Returns malloc'ed text (the caller frees) and its length; NULL
 * when there is no memory for it. */
char *metrics_render(const char *service, enum metrics_form form, size_t *out_len);

#endif
