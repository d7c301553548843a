/* relay_counters.c - see relay_counters.h */
#include "services/relay/relay_counters.h"

#include "common/runtime/clock.h"

static const uint32_t time_bound_us[] = {10,   20,   50,    100,   200,   500,   1000,
                                         2000, 5000, 10000, 20000, 50000, 100000};

void relay_counters_init(struct relay_counters *c)
{
    struct metric_histogram *histogram[] = {&c->residence[RELAY_UP], &c->residence[RELAY_DOWN],
                                            &c->lag, &c->cache_wait};
    *c = (struct relay_counters){0};
    for (size_t i = 0; i < COUNT_OF(histogram); i++) {
        histogram[i]->bound_us = time_bound_us;
        histogram[i]->bound_count = COUNT_OF(time_bound_us);
    }
}

void relay_counters_add_sent(struct relay_counters *c, enum relay_direction direction,
                             const struct udp_packet *packet, size_t count, size_t overhead_bytes)
{
    const enum forward_reason unsent =
        direction == RELAY_UP ? FORWARD_UP_UNSENT : FORWARD_DOWN_UNSENT;
    for (size_t i = 0; i < count; i++) {
        if (packet[i].is_sent) {
            relay_counters_add(c, (enum forward_reason)packet[i].tag);
            metric_add(&c->bytes[direction], packet[i].bytes.len - overhead_bytes);
        } else {
            relay_counters_add(c, unsent);
        }
    }
}

void relay_counters_add_kernel_drops(struct relay_counters *c, enum relay_direction direction,
                                     uint32_t total, uint32_t *seen)
{
    if (total != 0) {
        metric_add(&c->kernel_dropped[direction], total - *seen);
        *seen = total;
    }
}

/* The wall clock may be set between the two readings: a time that can not be is left out. */
void relay_counters_note_residence(struct relay_counters *c, enum relay_direction direction,
                                   uint64_t first_unix_us)
{
    const uint64_t unix_us = clock_unix_us();
    if (first_unix_us != 0 && unix_us >= first_unix_us) {
        metric_observe(&c->residence[direction], unix_us - first_unix_us);
    }
}

void relay_counters_publish(struct relay_counters *c, const struct forwarder *forwarder)
{
    const struct flow_table *flows = forwarder_flows(forwarder);
    for (unsigned i = 0; i < FLOW_STATE_COUNT; i++) {
        metric_set(&c->flows[i], flow_table_count(flows, (enum flow_state)i));
        metric_set(&c->flows_evicted[i], flow_table_evicted(flows, (enum flow_state)i));
    }
    metric_set(&c->routes, route_table_count(forwarder_routes(forwarder)));
}
