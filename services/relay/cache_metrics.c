/* cache_metrics.c - see cache_metrics.h */
#include "services/relay/cache_metrics.h"

#include <stdio.h>

#define LABELS_CAP 64

static const char *const held_name[HOLD_RESULT_COUNT] = {
    [HOLD_ASK] = "asked",
    [HOLD_WAIT] = "waited",
    [HOLD_WAIT_DISPLACED] = "displaced",
    [HOLD_REFUSED_ABSENT] = "absent",
    [HOLD_REFUSED_RATE] = "rate",
    [HOLD_REFUSED_FULL] = "full",
};

static const char *const answer_name[FLOW_CACHE_RESULT_COUNT] = {
    [FLOW_CACHE_FOUND] = "found",
    [FLOW_CACHE_ABSENT] = "absent",
    [FLOW_CACHE_MALFORMED] = "malformed",
    [FLOW_CACHE_REFUSED] = "refused",
};

static void print_named(struct metrics_text *t, const char *name, uint64_t value)
{
    char labels[LABELS_CAP];
    (void)snprintf(labels, sizeof(labels), "result=\"%s\"", name);
    metrics_sample_u64(t, labels, value);
}

static void print_connection(struct metrics_text *t, const struct flow_cache_counters *c)
{
    metrics_family(t, "earshot_flow_cache_up", METRIC_GAUGE, "1 while Redis answers.");
    metrics_sample_u64(t, NULL, metric_get(&c->is_up));
    metrics_family(t, "earshot_flow_cache_disconnects_total", METRIC_COUNTER,
                   "Connections to Redis that broke or were not made.");
    metrics_sample_u64(t, NULL, metric_get(&c->disconnects));
    metrics_family(t, "earshot_flow_cache_stores_total", METRIC_COUNTER,
                   "Flows to be remembered, by what became of them.");
    print_named(t, "written", metric_get(&c->stores_written));
    print_named(t, "refused", metric_get(&c->stores_refused));
    print_named(t, "lost", metric_get(&c->stores_lost));
    metrics_family(t, "earshot_flow_cache_stores_waiting", METRIC_GAUGE,
                   "Flows that wait to be remembered.");
    metrics_sample_u64(t, NULL, metric_get(&c->stores_waiting));
}

static void print_answers(const struct relay_metrics *m, struct metrics_text *t,
                          const struct flow_cache_counters *c)
{
    metrics_family(t, "earshot_flow_cache_lookups_total", METRIC_COUNTER,
                   "Clients that Redis was asked for, by its answer.");
    for (size_t i = 0; i < FLOW_CACHE_RESULT_COUNT; i++) {
        print_named(t, answer_name[i], metric_get(&c->answers[i]));
    }
    print_named(t, "lost", metric_get(&c->lookups_lost));
    metrics_family(t, "earshot_flow_cache_flows_total", METRIC_COUNTER,
                   "Flows that Redis knew, by what the relay's own table said of them.");
    for (unsigned i = 0; i < FORWARD_CACHE_RESULT_COUNT; i++) {
        print_named(t, forward_cache_result_name((enum forward_cache_result)i),
                    relay_metrics_sum(m, offsetof(struct relay_counters, from_cache) +
                                             i * sizeof(metric_value)));
    }
    metrics_family(t, "earshot_flow_cache_messages_lost_total", METRIC_COUNTER,
                   "Messages between a worker and the cache whose pipe was full.");
    metrics_sample_u64(
        t, NULL,
        metric_get(&c->answers_lost) +
            relay_metrics_sum(m, offsetof(struct relay_counters, cache_requests_lost)));
}

static void print_held(const struct relay_metrics *m, struct metrics_text *t)
{
    metrics_family(t, "earshot_flow_cache_misses_total", METRIC_COUNTER,
                   "Datagrams that only lacked a flow, by what became of them.");
    for (unsigned i = 0; i < HOLD_RESULT_COUNT; i++) {
        print_named(
            t, held_name[i],
            relay_metrics_sum(m, offsetof(struct relay_counters, held) + i * sizeof(metric_value)));
    }
    print_named(t, "away", relay_metrics_sum(m, offsetof(struct relay_counters, cache_away)));
    metrics_family(t, "earshot_flow_cache_held_datagrams", METRIC_GAUGE,
                   "Datagrams that wait for an answer.");
    metrics_sample_u64(t, NULL, relay_metrics_sum(m, offsetof(struct relay_counters, held_now)));
    metrics_family(t, "earshot_flow_cache_timeouts_total", METRIC_COUNTER,
                   "Clients that Redis was asked for and that had no answer in 20 ms.");
    metrics_sample_u64(t, NULL,
                       relay_metrics_sum(m, offsetof(struct relay_counters, cache_timeouts)));
}

/* Buckets of all workers as one histogram; they share their bounds. */
static void print_wait(const struct relay_metrics *m, struct metrics_text *t)
{
    const struct metric_histogram *first = &relay_worker_counters(m->worker[0])->cache_wait;
    const size_t base = offsetof(struct relay_counters, cache_wait);
    struct metric_histogram total = {.bound_us = first->bound_us,
                                     .bound_count = first->bound_count};
    for (size_t i = 0; i <= total.bound_count; i++) {
        metric_set(&total.bucket[i],
                   relay_metrics_sum(m, base + offsetof(struct metric_histogram, bucket) +
                                            i * sizeof(metric_value)));
    }
    metric_set(&total.sum_us,
               relay_metrics_sum(m, base + offsetof(struct metric_histogram, sum_us)));
    metrics_family(t, "earshot_flow_cache_wait_seconds", METRIC_HISTOGRAM,
                   "From a client's first datagram without a flow to the answer of Redis.");
    metrics_histogram(t, NULL, &total);
}

static void print(struct metrics_text *t, void *context)
{
    const struct cache_metrics *m = context;
    const struct flow_cache_counters *counters = flow_cache_counters(m->cache);
    print_connection(t, counters);
    print_answers(m->relay, t, counters);
    print_held(m->relay, t);
    print_wait(m->relay, t);
}

void cache_metrics_register(struct cache_metrics *m)
{
    metrics_add_source(print, m);
}
