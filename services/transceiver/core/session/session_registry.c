/* session_registry.c - see session_registry.h */
#include "services/transceiver/core/session/session_registry.h"

#include "common/base/time_us.h"

#include <assert.h>
#include <stdlib.h>

#define NOT_IN_HEAP     UINT32_MAX
#define SLOT_BITS       18
#define SLOT_MASK       ((1u << SLOT_BITS) - 1)
#define SHARD_SHIFT     26
#define SLOT_SHIFT      8
#define GENERATION_MASK 0xffu

struct slot {
    struct session *session; /* NULL: free, or reserved */
    uint64_t deadline_us;
    uint32_t heap_index;
    uint8_t generation;
    bool is_taken;
};

struct session_registry {
    uint32_t shard;
    uint32_t capacity;
    uint32_t taken;
    struct slot *slots;
    uint32_t *heap; /* slot numbers, the earliest deadline first */
    uint32_t heap_count;
    uint32_t *free_slots; /* a ring: oldest free slot first */
    uint32_t free_head;
    uint32_t free_count;
};

struct session_registry *session_registry_create(unsigned shard, size_t capacity)
{
    assert(shard < SESSION_REGISTRY_SHARDS_MAX);
    assert(capacity > 0 && capacity <= SESSION_REGISTRY_CAPACITY_MAX);
    struct session_registry *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->shard = shard;
    r->capacity = (uint32_t)capacity;
    r->slots = calloc(capacity, sizeof(*r->slots));
    r->heap = calloc(capacity, sizeof(*r->heap));
    r->free_slots = calloc(capacity, sizeof(*r->free_slots));
    if (r->slots == NULL || r->heap == NULL || r->free_slots == NULL) {
        session_registry_destroy(r);
        return NULL;
    }
    for (uint32_t i = 0; i < r->capacity; i++) {
        r->slots[i].heap_index = NOT_IN_HEAP;
        r->free_slots[i] = i;
    }
    r->free_count = r->capacity;
    return r;
}

void session_registry_destroy(struct session_registry *r)
{
    if (r == NULL) {
        return;
    }
    free(r->slots);
    free(r->heap);
    free(r->free_slots);
    free(r);
}

static uint32_t slot_number(uint32_t session_id)
{
    return session_id >> SLOT_SHIFT & SLOT_MASK;
}

/* The slot of an id that is in use, else NULL. */
static struct slot *find_slot(const struct session_registry *r, uint32_t session_id)
{
    const uint32_t number = slot_number(session_id);
    if (session_id >> SHARD_SHIFT != r->shard || number >= r->capacity) {
        return NULL;
    }
    struct slot *slot = &r->slots[number];
    return slot->is_taken && slot->generation == (session_id & GENERATION_MASK) ? slot : NULL;
}

static uint32_t id_of(const struct session_registry *r, uint32_t number)
{
    return r->shard << SHARD_SHIFT | number << SLOT_SHIFT | r->slots[number].generation;
}

uint32_t session_registry_reserve(struct session_registry *r)
{
    if (r->free_count == 0) {
        return 0;
    }
    const uint32_t number = r->free_slots[r->free_head];
    r->free_head = (r->free_head + 1) % r->capacity;
    r->free_count--;
    r->taken++;
    struct slot *slot = &r->slots[number];
    slot->generation = (uint8_t)(slot->generation + 1);
    if (slot->generation == 0) {
        slot->generation = 1;
    }
    slot->is_taken = true;
    slot->deadline_us = TIME_NEVER;
    return id_of(r, number);
}

void session_registry_put(struct session_registry *r, uint32_t session_id, struct session *session)
{
    struct slot *slot = find_slot(r, session_id);
    assert(slot != NULL);
    slot->session = session;
}

struct session *session_registry_find(const struct session_registry *r, uint32_t session_id)
{
    const struct slot *slot = find_slot(r, session_id);
    return slot == NULL ? NULL : slot->session;
}

size_t session_registry_count(const struct session_registry *r)
{
    return r->taken;
}

/* --- the heap ----------------------------------------------------------------------------- */

static bool is_earlier(const struct session_registry *r, uint32_t a, uint32_t b)
{
    return r->slots[r->heap[a]].deadline_us < r->slots[r->heap[b]].deadline_us;
}

static void heap_swap(struct session_registry *r, uint32_t a, uint32_t b)
{
    const uint32_t number = r->heap[a];
    r->heap[a] = r->heap[b];
    r->heap[b] = number;
    r->slots[r->heap[a]].heap_index = a;
    r->slots[r->heap[b]].heap_index = b;
}

static void heap_settle(struct session_registry *r, uint32_t index)
{
    while (index > 0 && is_earlier(r, index, (index - 1) / 2)) {
        heap_swap(r, index, (index - 1) / 2);
        index = (index - 1) / 2;
    }
    for (;;) {
        uint32_t first = index;
        for (uint32_t child = 2 * index + 1; child <= 2 * index + 2; child++) {
            if (child < r->heap_count && is_earlier(r, child, first)) {
                first = child;
            }
        }
        if (first == index) {
            return;
        }
        heap_swap(r, index, first);
        index = first;
    }
}

static void heap_remove(struct session_registry *r, struct slot *slot)
{
    const uint32_t index = slot->heap_index;
    if (index == NOT_IN_HEAP) {
        return;
    }
    r->heap_count--;
    if (index != r->heap_count) {
        heap_swap(r, index, r->heap_count);
        heap_settle(r, index);
    }
    slot->heap_index = NOT_IN_HEAP;
}

void session_registry_set_deadline(struct session_registry *r, uint32_t session_id,
                                   uint64_t deadline_us)
{
    struct slot *slot = find_slot(r, session_id);
    assert(slot != NULL);
    if (deadline_us == TIME_NEVER) {
        heap_remove(r, slot);
        return;
    }
    slot->deadline_us = deadline_us;
    if (slot->heap_index == NOT_IN_HEAP) {
        slot->heap_index = r->heap_count;
        r->heap[r->heap_count] = slot_number(session_id);
        r->heap_count++;
    }
    heap_settle(r, slot->heap_index);
}

uint64_t session_registry_next_deadline(const struct session_registry *r)
{
    return r->heap_count == 0 ? TIME_NEVER : r->slots[r->heap[0]].deadline_us;
}

uint32_t session_registry_take_due(struct session_registry *r, uint64_t now_us)
{
    if (session_registry_next_deadline(r) > now_us) {
        return 0;
    }
    const uint32_t number = r->heap[0];
    heap_remove(r, &r->slots[number]);
    return id_of(r, number);
}

void session_registry_remove(struct session_registry *r, uint32_t session_id)
{
    struct slot *slot = find_slot(r, session_id);
    assert(slot != NULL);
    heap_remove(r, slot);
    slot->session = NULL;
    slot->is_taken = false;
    r->free_slots[(r->free_head + r->free_count) % r->capacity] = slot_number(session_id);
    r->free_count++;
    r->taken--;
}

struct session *session_registry_next(const struct session_registry *r, size_t *cursor)
{
    while (*cursor < r->capacity) {
        const struct slot *slot = &r->slots[(*cursor)++];
        if (slot->is_taken && slot->session != NULL) {
            return slot->session;
        }
    }
    return NULL;
}
