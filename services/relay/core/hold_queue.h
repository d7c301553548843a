/*
 * hold_queue.h - datagrams of clients without a flow, while the flow cache is asked
 *
 * Takes:   datagrams that only lack a flow; what became of each look-up.
 * Gives:   the datagrams again, oldest first, when the answer is there or HOLD_TIME_US are over.
 * Owns:    copies, with HOLD_HEADROOM free bytes before each; no heap after create.
 * Bounds:  HOLD_LOOKUPS_MAX clients at a time, HOLD_PER_CLIENT datagrams of each (the oldest gives
 *          its place), HOLD_TIME_US from a client's first; look-ups within a budget, so that a
 *          flood of strangers is no flood of look-ups. A client that the cache does not know is
 *          not asked for again for HOLD_ABSENT_US; two whose places fall together share it, and the
 *          later one counts. A look-up that is not answered says nothing about its client.
 * Not here: the asking (flow_cache.h), what becomes of datagrams (worker_uplink.h).
 */
#ifndef EARSHOT_HOLD_QUEUE_H
#define EARSHOT_HOLD_QUEUE_H

#include "common/base/net_addr.h"
#include "common/base/time_us.h"
#include "services/relay/core/flow_hash.h"

#define HOLD_LOOKUPS_MAX        256
#define HOLD_PER_CLIENT         4
#define HOLD_TIME_US            (19 * US_PER_MS) /* a loop of whole ones ends it at 20 */
#define HOLD_ABSENT_US          US_PER_S
#define HOLD_ABSENT_PLACES      4096
#define HOLD_HEADROOM           80
#define HOLD_DATAGRAM_BYTES_MAX 1500
#define HOLD_RATE_MAX           1000000

enum hold_result {
    HOLD_ASK,            /* held; the caller now asks the cache for this client */
    HOLD_WAIT,           /* held; an answer is on its way */
    HOLD_WAIT_DISPLACED, /* the same, and the client's oldest datagram was given up */
    HOLD_REFUSED_ABSENT, /* the cache does not know the client */
    HOLD_REFUSED_RATE,   /* too many look-ups in this second */
    HOLD_REFUSED_FULL,   /* too many look-ups at this moment */
    HOLD_RESULT_COUNT
};

static inline bool hold_result_is_refusal(enum hold_result result)
{
    return result >= HOLD_REFUSED_ABSENT;
}

struct held_datagram {
    uint8_t *data; /* HOLD_HEADROOM bytes before it are free */
    size_t len;
    uint8_t socket;
};

/* All of one client; valid until the next put. */
struct held_batch {
    struct net_addr client;
    uint64_t since_us; /* when the oldest one of all came */
    struct held_datagram datagram[HOLD_PER_CLIENT];
    size_t count;
};

struct hold_queue;

/* lookups_per_s and burst in 1..HOLD_RATE_MAX. NULL without memory. */
struct hold_queue *hold_queue_create(uint32_t lookups_per_s, uint32_t burst,
                                     struct flow_hash_seed seed);
void hold_queue_destroy(struct hold_queue *q);

/* datagram: at most HOLD_DATAGRAM_BYTES_MAX bytes (asserted); socket: where it came in. */
enum hold_result hold_queue_put(struct hold_queue *q, const struct net_addr *client,
                                struct bytes_view datagram, uint8_t socket, uint64_t now_us);
/* The cache has answered for this client. False when nothing is held for it (any more). */
MUST_USE bool hold_queue_take(struct hold_queue *q, const struct net_addr *client,
                              struct held_batch *out);
/* Remembers that the cache does not know this client. */
void hold_queue_note_absent(struct hold_queue *q, const struct net_addr *client, uint64_t now_us);
/* The next client whose time is over; false when there is none. */
MUST_USE bool hold_queue_take_overdue(struct hold_queue *q, struct held_batch *out,
                                      uint64_t now_us);

/* When the next client's time is over; TIME_NEVER without one. */
uint64_t hold_queue_next_timeout(const struct hold_queue *q);
/* Datagrams that are held now. */
size_t hold_queue_count(const struct hold_queue *q);

#endif
