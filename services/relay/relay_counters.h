/*
 * relay_counters.h - what a worker did, in numbers
 *
 * Takes:   what the two directions of a worker tell: batches received, batches sent, verdicts.
 * Gives:   counters with one writer, the worker, that anyone may read at any time.
 * Rules:   every datagram is counted once, under the reason of its verdict; one that the socket
 *          then refused is counted as unsent instead.
 */
#ifndef EARSHOT_RELAY_COUNTERS_H
#define EARSHOT_RELAY_COUNTERS_H

#include "common/runtime/metrics.h"
#include "common/udp/udp_receiver.h"
#include "common/udp/udp_sender.h"
#include "services/relay/core/forwarder.h"
#include "services/relay/core/hold_queue.h"

enum relay_direction { RELAY_UP, RELAY_DOWN, RELAY_DIRECTION_COUNT };

struct relay_counters {
    metric_value datagrams[FORWARD_REASON_COUNT];
    metric_value bytes[RELAY_DIRECTION_COUNT]; /* of forwarded datagrams, without shims */
    metric_value kernel_dropped[RELAY_DIRECTION_COUNT];
    metric_value disputed;        /* copies for the other sessions that claim a client */
    metric_value disputed_unsent; /* beyond a client's share of copies, or refused by the socket */
    metric_value flows[FLOW_STATE_COUNT];
    metric_value flows_evicted[FLOW_STATE_COUNT];
    metric_value routes;
    metric_value held[HOLD_RESULT_COUNT]; /* datagrams that only lacked a flow */
    metric_value held_now;
    metric_value cache_away; /* likewise, and there was no cache to ask */
    metric_value from_cache[FORWARD_CACHE_RESULT_COUNT];
    metric_value cache_timeouts;        /* clients whose look-up was not answered in time */
    metric_value cache_requests_lost;   /* the cache's pipe was full */
    struct metric_histogram cache_wait; /* from a client's first datagram to the answer */
    metric_value lessons_lost;          /* another worker's inbox was full */
    metric_value client_heard_us;       /* a client's datagram was last forwarded; 0 = never */
    struct metric_histogram residence[RELAY_DIRECTION_COUNT]; /* kernel to sent, some datagrams */
    struct metric_histogram lag; /* turns of the loop: the longest that a datagram waits for it */
};

void relay_counters_init(struct relay_counters *c);

static inline void relay_counters_add(struct relay_counters *c, enum forward_reason reason)
{
    metric_add(&c->datagrams[reason], 1);
}

/* packet: flushed, with the reason of its verdict as its tag. overhead_bytes: of each, not the
 * client's. */
void relay_counters_add_sent(struct relay_counters *c, enum relay_direction direction,
                             const struct udp_packet *packet, size_t count, size_t overhead_bytes);
/* total: the kernel's for this socket, 0 = it does not say; *seen: what it was before. */
void relay_counters_add_kernel_drops(struct relay_counters *c, enum relay_direction direction,
                                     uint32_t total, uint32_t *seen);
/* A batch whose first datagram came at that time has just been sent. */
void relay_counters_note_residence(struct relay_counters *c, enum relay_direction direction,
                                   uint64_t first_unix_us);
/* The gauges, from the forwarder's tables. */
void relay_counters_publish(struct relay_counters *c, const struct forwarder *forwarder);

#endif
