/*
 * flow_cache_retry.h - when to connect again, and what of it is news
 *
 * Takes:   what becomes of connections.
 * Gives:   the time of the next try: FLOW_CACHE_RETRY_MIN_US after a loss, doubled by each further
 *          one up to FLOW_CACHE_RETRY_MAX_US. Redis is back when a connection that had a good
 *          answer has lived for FLOW_CACHE_STEADY_US; only then do waits begin again with the
 *          shortest one. So a server that greets and hangs up is tried as rarely as a dead one.
 *          Another reason of staying away is news too: Redis may be up meanwhile, and refuse us.
 * Bounds:  news of going and of coming back alternate, so there are two in FLOW_CACHE_STEADY_US at
 *          most; another reason, one in FLOW_CACHE_REASON_US.
 * Not here: whether the cache may be asked now (flow_cache_is_up): at once after a good answer.
 */
#ifndef EARSHOT_FLOW_CACHE_RETRY_H
#define EARSHOT_FLOW_CACHE_RETRY_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define FLOW_CACHE_RETRY_MIN_US (100 * US_PER_MS)
#define FLOW_CACHE_RETRY_MAX_US (5 * US_PER_S)
#define FLOW_CACHE_STEADY_US    (2 * US_PER_S)
#define FLOW_CACHE_REASON_US    (10 * US_PER_S)

struct flow_cache_retry {
    uint64_t wait_us; /* after the next loss */
    uint64_t next_try_us;
    uint64_t steady_us; /* when the connection counts; TIME_NEVER: none, or it did already */
    bool is_told_down;
    char reason[64];    /* that was told last */
    uint64_t reason_us; /* when another may be told */
};

void flow_cache_retry_init(struct flow_cache_retry *r);
/* The connection is gone, or could not be made. True when that is news. */
MUST_USE bool flow_cache_retry_note_lost(struct flow_cache_retry *r, uint64_t now_us);
/* After each loss, or failure to connect. True when the reason is news. */
MUST_USE bool flow_cache_retry_note_reason(struct flow_cache_retry *r, const char *reason,
                                           uint64_t now_us);
/* The first good answer of a connection. */
void flow_cache_retry_note_greeted(struct flow_cache_retry *r, uint64_t now_us);
/* Another address is known: waiting makes no sense. */
void flow_cache_retry_hurry(struct flow_cache_retry *r, uint64_t now_us);
/* True when Redis is back by now: once. */
MUST_USE bool flow_cache_retry_take_steady(struct flow_cache_retry *r, uint64_t now_us);

#endif
