/*
 * flow_cache.h - flows remembered in Redis, so that another relay can take a client over
 *
 * One thread with one connection for the process. Workers speak with it through pipes: nothing
 * here ever makes a worker wait, whatever Redis does.
 * Takes:   flows to remember and clients to look for, from any worker, each through its port.
 * Gives:   answers to the port that asked, when there is one: a look-up that Redis does not answer
 *          is never answered here either. The worker keeps the time (hold_queue.h).
 * Owns:    the thread, its name look-ups, a copy of the password (cleansed at stop).
 * Bounds:  FLOW_CACHE_REQUESTS in the pipe; what waits, flow_cache_queue.h; what Redis was asked
 *          and has not answered, flow_cache_connection.h.
 * Fails:   is away while Redis is, and tries again (flow_cache_retry.h). Only a good answer makes
 *          it of use again.
 * Threads: start and stop belong to main, stop after the workers have ended.
 */
#ifndef EARSHOT_FLOW_CACHE_H
#define EARSHOT_FLOW_CACHE_H

#include "common/base/status.h"
#include "common/runtime/metrics.h"
#include "services/relay/flow_cache/flow_cache_request.h"
#include "services/relay/flow_cache/flow_cache_url.h"

#define FLOW_CACHE_PORTS_MAX 32
#define FLOW_CACHE_REQUESTS  4096

struct flow_cache_answer {
    struct net_addr client;
    enum flow_cache_result result;
    struct cached_flow flow; /* FOUND */
};

/* One writer: the thread. */
struct flow_cache_counters {
    metric_value is_up;
    metric_value answers[FLOW_CACHE_RESULT_COUNT];
    metric_value answers_lost;   /* the worker's pipe was full */
    metric_value lookups_lost;   /* they waited too long, or the connection broke */
    metric_value stores_written; /* Redis said OK */
    metric_value stores_refused; /* Redis said no: out of memory, read only, not permitted */
    metric_value stores_lost;    /* the queue was full, or the connection broke */
    metric_value stores_waiting;
    metric_value disconnects; /* connections that broke or were not made */
};

struct flow_cache;

/* port_count in 1..FLOW_CACHE_PORTS_MAX. */
struct flow_cache *flow_cache_start(const struct flow_cache_url *url, size_t port_count,
                                    struct fault *fault);
void flow_cache_stop(struct flow_cache *c);

/* Any thread. False: a look-up would be in vain. */
bool flow_cache_is_up(const struct flow_cache *c);
/* Any thread; never blocks. False when the pipe is full. */
MUST_USE bool flow_cache_look_up(struct flow_cache *c, size_t port,
                                 const struct flow_cache_key *key, uint64_t now_us);
MUST_USE bool flow_cache_store(struct flow_cache *c, const struct flow_cache_key *key,
                               const struct cached_flow *flow);

/* Readable when an answer waits for this port. */
int flow_cache_answer_fd(const struct flow_cache *c, size_t port);
/* The oldest answer; only the port's owner calls it. */
MUST_USE bool flow_cache_take_answer(struct flow_cache *c, size_t port,
                                     struct flow_cache_answer *out);

/* Borrowed; any thread may read. */
const struct flow_cache_counters *flow_cache_counters(const struct flow_cache *c);

#endif
