/* route_table.c - linear probing with backward-shift deletion, at most half full */
#include "services/relay/core/route_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SLOT_BITS 13
#define SLOTS     (1u << SLOT_BITS)
#define SLOT_MASK (SLOTS - 1)
#define TICK_US   US_PER_S

static_assert(SLOTS >= 2 * ROUTES_MAX, "probing ends at a free slot, soon");

enum route_state { ROUTE_FREE, ROUTE_PROVISIONAL, ROUTE_ANNOUNCED };

struct route {
    enum route_state state;
    uint32_t instance_id;
    uint32_t shard_count;
    struct net_addr media_address;
    uint64_t start_time_unix_us;
    uint64_t sequence;
    uint64_t heard_us;
};

struct route_table {
    uint16_t cluster_id;
    struct route_networks networks;
    size_t count;
    uint64_t next_tick_us;
    struct route slot[SLOTS];
};

const char *route_result_name(enum route_result result)
{
    static const char *const name[ROUTE_RESULT_COUNT] = {
        "new", "kept", "moved", "conflict", "stale", "other_cluster", "forbidden", "full"};
    return name[result];
}

struct route_table *route_table_create(uint16_t cluster_id, const struct route_networks *networks)
{
    assert(networks->count <= ROUTE_NETWORKS_MAX);
    struct route_table *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->cluster_id = cluster_id;
    t->networks = *networks;
    return t;
}

void route_table_destroy(struct route_table *t)
{
    free(t);
}

/* Instance ids are random and come from authenticated processes only: no keyed hash. */
static uint32_t home_of(uint32_t instance_id)
{
    return (instance_id * UINT32_C(2654435761)) >> (32 - SLOT_BITS);
}

/* The instance's slot, or the free one where it would stand. */
static uint32_t slot_of(const struct route_table *t, uint32_t instance_id)
{
    uint32_t at = home_of(instance_id);
    while (t->slot[at].state != ROUTE_FREE && t->slot[at].instance_id != instance_id) {
        at = (at + 1) & SLOT_MASK;
    }
    return at;
}

static bool is_over(const struct route *route, uint64_t now_us)
{
    const uint64_t life_us =
        route->state == ROUTE_PROVISIONAL ? ROUTE_PROVISIONAL_LIFE_US : ROUTE_LIFE_US;
    return time_since(route->heard_us, now_us) >= life_us;
}

static void forget(struct route_table *t, uint32_t gap)
{
    for (uint32_t at = (gap + 1) & SLOT_MASK; t->slot[at].state != ROUTE_FREE;
         at = (at + 1) & SLOT_MASK) {
        const uint32_t home = home_of(t->slot[at].instance_id);
        if (((at - home) & SLOT_MASK) >= ((at - gap) & SLOT_MASK)) {
            t->slot[gap] = t->slot[at];
            gap = at;
        }
    }
    t->slot[gap] = (struct route){.state = ROUTE_FREE};
    t->count--;
}

/* As slot_of, but a route whose life is over is forgotten first. */
static struct route *route_of(struct route_table *t, uint32_t instance_id, uint64_t now_us)
{
    const uint32_t at = slot_of(t, instance_id);
    if (t->slot[at].state == ROUTE_FREE || !is_over(&t->slot[at], now_us)) {
        return &t->slot[at];
    }
    forget(t, at);
    return &t->slot[slot_of(t, instance_id)];
}

bool route_table_admits(const struct route_table *t, const struct net_addr *address)
{
    for (size_t i = 0; i < t->networks.count; i++) {
        if (net_block_contains(&t->networks.block[i], address)) {
            return true;
        }
    }
    return false;
}

/* An address that all of an instance's shards can be reached at. */
static bool is_media_address(const struct route_table *t, const struct net_addr *a)
{
    return a->port != 0 && a->port <= UINT16_MAX - (ROUTE_SHARDS_MAX - 1) &&
           !net_addr_is_unspecified(a) && !net_addr_is_multicast(a) && route_table_admits(t, a);
}

static enum route_result judge(const struct route_table *t, const struct route *known,
                               const struct route_announcement *a)
{
    if (known->state == ROUTE_FREE) {
        return t->count < ROUTES_MAX ? ROUTE_NEW : ROUTE_FULL;
    }
    if (known->state == ROUTE_PROVISIONAL) {
        return ROUTE_NEW;
    }
    if (a->start_time_unix_us < known->start_time_unix_us) {
        return ROUTE_MOVED;
    }
    if (a->start_time_unix_us > known->start_time_unix_us ||
        !net_addr_equal(&a->media_address, &known->media_address)) {
        return ROUTE_CONFLICT;
    }
    return a->sequence > known->sequence ? ROUTE_KEPT : ROUTE_STALE;
}

enum route_result route_table_announce(struct route_table *t, const struct route_announcement *a,
                                       uint64_t now_us)
{
    if (a->cluster_id != t->cluster_id) {
        return ROUTE_OTHER_CLUSTER;
    }
    if (!is_media_address(t, &a->media_address) || a->shard_count > ROUTE_SHARDS_MAX) {
        return ROUTE_FORBIDDEN;
    }
    struct route *route = route_of(t, a->instance_id, now_us);
    const enum route_result result = judge(t, route, a);
    if (!route_result_is_taken(result)) {
        return result;
    }
    t->count += route->state == ROUTE_FREE;
    *route = (struct route){
        .state = ROUTE_ANNOUNCED,
        .instance_id = a->instance_id,
        .shard_count = a->shard_count > 0 ? a->shard_count : 1,
        .media_address = a->media_address,
        .start_time_unix_us = a->start_time_unix_us,
        .sequence = a->sequence,
        .heard_us = now_us,
    };
    return result;
}

void route_table_heard(struct route_table *t, uint32_t instance_id,
                       const struct net_addr *media_address, uint64_t now_us)
{
    struct route *route = route_of(t, instance_id, now_us);
    if (route->state == ROUTE_ANNOUNCED) {
        route->heard_us = now_us;
        return;
    }
    if (route->state == ROUTE_PROVISIONAL || t->count == ROUTES_MAX ||
        !is_media_address(t, media_address)) {
        return;
    }
    t->count++;
    *route = (struct route){
        .state = ROUTE_PROVISIONAL,
        .instance_id = instance_id,
        .shard_count = ROUTE_SHARDS_MAX,
        .media_address = *media_address,
        .heard_us = now_us,
    };
}

bool route_table_find(const struct route_table *t, uint32_t instance_id, uint32_t shard,
                      struct net_addr *out, uint64_t now_us)
{
    const struct route *route = &t->slot[slot_of(t, instance_id)];
    if (route->state == ROUTE_FREE || is_over(route, now_us) || shard >= route->shard_count) {
        return false;
    }
    *out = route->media_address;
    out->port = (uint16_t)(out->port + shard);
    return true;
}

void route_table_tick(struct route_table *t, uint64_t now_us)
{
    if (now_us < t->next_tick_us) {
        return;
    }
    t->next_tick_us = now_us + TICK_US;
    for (uint32_t at = 0; at < SLOTS; at++) {
        while (t->slot[at].state != ROUTE_FREE && is_over(&t->slot[at], now_us)) {
            forget(t, at);
        }
    }
}

bool route_table_take_lost(struct route_table *t, uint32_t *out_instance_id, uint64_t now_us)
{
    for (uint32_t at = 0; at < SLOTS; at++) {
        if (t->slot[at].state != ROUTE_FREE && is_over(&t->slot[at], now_us)) {
            *out_instance_id = t->slot[at].instance_id;
            forget(t, at);
            return true;
        }
    }
    return false;
}

size_t route_table_count(const struct route_table *t)
{
    return t->count;
}

/* The fences keep the compiler to this order of stores. */
static void write_note(struct route_note *note, uint32_t instance_id,
                       const struct net_addr *media_address)
{
    note->is_there = 0;
    atomic_signal_fence(memory_order_seq_cst);
    note->instance_id = instance_id;
    note->media_address = *media_address;
    atomic_signal_fence(memory_order_seq_cst);
    note->is_there = 1;
}

static bool is_noted(const struct route *route, uint64_t now_us)
{
    return route->state == ROUTE_ANNOUNCED && !is_over(route, now_us);
}

/* The end comes first: an older list may have been longer, and its entries are still there. */
static void write_end(const struct route_table *t, struct route_notes *out, uint64_t now_us)
{
    size_t count = 0;
    for (uint32_t at = 0; at < SLOTS; at++) {
        count += is_noted(&t->slot[at], now_us);
    }
    if (count < ROUTES_MAX) {
        out->note[count].is_there = 0;
    }
    atomic_signal_fence(memory_order_seq_cst);
}

void route_table_note(const struct route_table *t, struct route_notes *out, uint64_t now_us)
{
    size_t count = 0;
    write_end(t, out, now_us);
    for (uint32_t at = 0; at < SLOTS; at++) {
        if (is_noted(&t->slot[at], now_us)) {
            write_note(&out->note[count++], t->slot[at].instance_id, &t->slot[at].media_address);
        }
    }
    out->noted_us = now_us;
}

void route_table_recall(struct route_table *t, const struct route_notes *notes, uint64_t now_us)
{
    if (notes->noted_us > now_us || time_since(notes->noted_us, now_us) >= ROUTE_LIFE_US) {
        return;
    }
    for (size_t i = 0; i < ROUTES_MAX && notes->note[i].is_there == 1; i++) {
        route_table_heard(t, notes->note[i].instance_id, &notes->note[i].media_address, now_us);
    }
}
