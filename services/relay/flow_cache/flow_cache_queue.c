/* flow_cache_queue.c - see flow_cache_queue.h */
#include "services/relay/flow_cache/flow_cache_queue.h"

#include <stdlib.h>

struct ring {
    struct flow_cache_request *request;
    size_t cap;
    size_t first;
    size_t count;
};

struct flow_cache_queue {
    struct ring ring[FLOW_CACHE_REQUEST_KIND_COUNT]; /* by kind */
    struct flow_cache_request lookup[FLOW_CACHE_LOOKUPS_MAX];
    struct flow_cache_request store[FLOW_CACHE_STORES_MAX];
};

struct flow_cache_queue *flow_cache_queue_create(void)
{
    struct flow_cache_queue *q = calloc(1, sizeof(*q));
    if (q != NULL) {
        q->ring[FLOW_CACHE_LOOK_UP] =
            (struct ring){.request = q->lookup, .cap = COUNT_OF(q->lookup)};
        q->ring[FLOW_CACHE_STORE] = (struct ring){.request = q->store, .cap = COUNT_OF(q->store)};
    }
    return q;
}

void flow_cache_queue_destroy(struct flow_cache_queue *q)
{
    free(q);
}

static void forget_oldest(struct ring *ring)
{
    ring->first = (ring->first + 1) % ring->cap;
    ring->count--;
}

bool flow_cache_queue_put(struct flow_cache_queue *q, const struct flow_cache_request *request)
{
    struct ring *ring = &q->ring[request->kind];
    const bool has_room = ring->count < ring->cap;
    if (!has_room) {
        forget_oldest(ring);
    }
    ring->request[(ring->first + ring->count) % ring->cap] = *request;
    ring->count++;
    return has_room;
}

size_t flow_cache_queue_expire(struct flow_cache_queue *q, uint64_t now_us)
{
    struct ring *ring = &q->ring[FLOW_CACHE_LOOK_UP];
    const size_t before = ring->count;
    while (ring->count > 0 &&
           time_since(ring->request[ring->first].asked_us, now_us) >= FLOW_CACHE_LOOKUP_LIFE_US) {
        forget_oldest(ring);
    }
    return before - ring->count;
}

bool flow_cache_queue_take(struct flow_cache_queue *q, enum flow_cache_request_kind kind,
                           struct flow_cache_request *out)
{
    struct ring *ring = &q->ring[kind];
    if (ring->count == 0) {
        return false;
    }
    *out = ring->request[ring->first];
    forget_oldest(ring);
    return true;
}

size_t flow_cache_queue_count(const struct flow_cache_queue *q, enum flow_cache_request_kind kind)
{
    return q->ring[kind].count;
}
