/* flow_table.c - linear probing with backward-shift deletion; one idle order for each state */
#include "services/relay/core/flow_table.h"

#include "services/relay/core/flow_remains.h"

#include <stdatomic.h>
#include <stdlib.h>

#define NO_SLOT    UINT32_MAX
#define LINE_BYTES sizeof(struct flow)
/* How early flow_table_settle asks for memory. */
#define LINES_AHEAD 16
#define FLOWS_AHEAD 32

/* Flows of one state, from the longest idle to the last refreshed. */
struct idle_order {
    uint32_t oldest;
    uint32_t newest;
    size_t count;
    uint64_t evicted;
};

struct flow_table {
    struct flow *slot; /* aligned to a line, inside memory or where the table was settled */
    void *memory;      /* the table's own lines; never touched once it was settled elsewhere */
    uint32_t mask;
    size_t flow_cap;
    size_t half_open_cap;
    struct flow_hash_seed seed;
    struct session_tally *tally; /* of half-open flows */
    struct idle_order order[FLOW_STATE_COUNT];
};

static uint32_t slots_for(size_t flow_cap)
{
    uint32_t slots = 1;
    while (slots < 2 * flow_cap) {
        slots *= 2;
    }
    return slots;
}

struct flow_table *flow_table_create(size_t flow_cap, struct flow_hash_seed seed)
{
    assert(flow_cap >= FLOW_CAP_MIN && flow_cap <= FLOW_CAP_MAX);
    const uint32_t slots = slots_for(flow_cap);
    struct flow_table *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->mask = slots - 1;
    t->flow_cap = flow_cap;
    t->half_open_cap = flow_cap / FLOW_HALF_OPEN_SHARE;
    t->seed = seed;
    t->tally = session_tally_create(t->half_open_cap + 1, seed);
    /* Not aligned_alloc: a large table of zeros from calloc costs nothing until it is used. */
    t->memory = calloc(1, (size_t)slots * sizeof(struct flow) + LINE_BYTES);
    if (t->tally == NULL || t->memory == NULL) {
        flow_table_destroy(t);
        return NULL;
    }
    const size_t past_line = (uintptr_t)t->memory % LINE_BYTES;
    t->slot = (struct flow *)(void *)((uint8_t *)t->memory + (LINE_BYTES - past_line));
    for (size_t i = 0; i < FLOW_STATE_COUNT; i++) {
        t->order[i] = (struct idle_order){.oldest = NO_SLOT, .newest = NO_SLOT};
    }
    return t;
}

void flow_table_destroy(struct flow_table *t)
{
    if (t == NULL) {
        return;
    }
    session_tally_destroy(t->tally);
    free(t->memory);
    free(t);
}

struct bytes_span flow_table_lines(const struct flow_table *t)
{
    const size_t bytes = ((size_t)t->mask + 1) * sizeof(struct flow);
    return (struct bytes_span){(uint8_t *)t->slot, bytes, bytes};
}

static void order_append(struct flow_table *t, uint32_t at)
{
    struct flow *flow = &t->slot[at];
    struct idle_order *order = &t->order[flow->state];
    flow->older = order->newest;
    flow->newer = NO_SLOT;
    if (order->newest == NO_SLOT) {
        order->oldest = at;
    } else {
        t->slot[order->newest].newer = at;
    }
    order->newest = at;
    order->count++;
}

/* What pointed at slot `from` of this flow's order now points at `to`. */
static void order_point(struct flow_table *t, const struct flow *flow, uint32_t older_to,
                        uint32_t newer_to)
{
    struct idle_order *order = &t->order[flow->state];
    if (flow->older == NO_SLOT) {
        order->oldest = older_to;
    } else {
        t->slot[flow->older].newer = older_to;
    }
    if (flow->newer == NO_SLOT) {
        order->newest = newer_to;
    } else {
        t->slot[flow->newer].older = newer_to;
    }
}

static void order_remove(struct flow_table *t, uint32_t at)
{
    const struct flow *flow = &t->slot[at];
    order_point(t, flow, flow->newer, flow->older);
    t->order[flow->state].count--;
}

static uint32_t hash_of(const struct flow_table *t, const struct net_addr *client)
{
    return (uint32_t)flow_hash(&t->seed, client, sizeof(*client));
}

/* The client's slot, or the free one where it would stand. */
static uint32_t slot_of(const struct flow_table *t, const struct net_addr *client, uint32_t hash)
{
    uint32_t at = hash & t->mask;
    while (t->slot[at].state != FLOW_FREE &&
           (t->slot[at].hash != hash || !net_addr_equal(&t->slot[at].client, client))) {
        at = (at + 1) & t->mask;
    }
    return at;
}

/* The process may be killed between any two of its stores, and the next one finds the lines as they
 * are then: a line that is half written must be a free one. So the state goes first and comes last;
 * the fences keep the compiler to that order, and the kernel shows each store of a dead process. */
static void write_line(struct flow *line, const struct flow *flow)
{
    struct flow unfinished = *flow;
    unfinished.state = FLOW_FREE;
    line->state = FLOW_FREE;
    atomic_signal_fence(memory_order_seq_cst);
    *line = unfinished;
    atomic_signal_fence(memory_order_seq_cst);
    line->state = flow->state;
}

/* Moves later flows of the cluster into the gap, so that none is cut off from its home. */
static void close_gap(struct flow_table *t, uint32_t gap)
{
    for (uint32_t at = (gap + 1) & t->mask; t->slot[at].state != FLOW_FREE;
         at = (at + 1) & t->mask) {
        const uint32_t home = t->slot[at].hash & t->mask;
        if (((at - home) & t->mask) >= ((at - gap) & t->mask)) {
            write_line(&t->slot[gap], &t->slot[at]);
            order_point(t, &t->slot[gap], gap, gap);
            gap = at;
        }
    }
    write_line(&t->slot[gap], &(struct flow){.state = FLOW_FREE});
}

static void take_out(struct flow_table *t, uint32_t at)
{
    if (t->slot[at].state == FLOW_HALF_OPEN) {
        session_tally_remove(t->tally, t->slot[at].owner);
    }
    order_remove(t, at);
    close_gap(t, at);
}

static size_t flow_count(const struct flow_table *t)
{
    return t->order[FLOW_HALF_OPEN].count + t->order[FLOW_CONFIRMED].count;
}

static void evict_oldest(struct flow_table *t, enum flow_state state)
{
    take_out(t, t->order[state].oldest);
    t->order[state].evicted++;
}

struct flow *flow_table_find(struct flow_table *t, const struct net_addr *client, uint64_t now_us)
{
    const uint32_t at = slot_of(t, client, hash_of(t, client));
    if (t->slot[at].state == FLOW_FREE) {
        return NULL;
    }
    if (flow_is_over(&t->slot[at], now_us)) {
        take_out(t, at);
        return NULL;
    }
    return &t->slot[at];
}

void flow_table_prefetch(const struct flow_table *t, const struct net_addr *client)
{
    __builtin_prefetch(&t->slot[hash_of(t, client) & t->mask]);
}

/* Frees the slot if a flow stands there; the public socket that its client uses. */
static uint8_t release(struct flow_table *t, uint32_t at)
{
    if (t->slot[at].state == FLOW_FREE) {
        return FLOW_SOCKET_UNKNOWN;
    }
    const uint8_t socket = t->slot[at].socket;
    take_out(t, at);
    return socket;
}

/* The client has no flow and there is room for one. */
static struct flow *put(struct flow_table *t, const struct flow *flow)
{
    const uint32_t at = slot_of(t, &flow->client, flow->hash);
    assert(t->slot[at].state == FLOW_FREE && flow_count(t) < t->flow_cap);
    write_line(&t->slot[at], flow);
    order_append(t, at);
    return &t->slot[at];
}

struct flow *flow_table_open(struct flow_table *t, const struct net_addr *client,
                             struct flow_owner owner, uint64_t now_us)
{
    flow_table_tick(t, now_us);
    const uint32_t hash = hash_of(t, client);
    const uint32_t at = slot_of(t, client, hash);
    const bool is_new = t->slot[at].state == FLOW_FREE;
    if (is_new && t->order[FLOW_CONFIRMED].count == t->flow_cap) {
        return NULL;
    }
    if (!session_tally_add(t->tally, owner)) {
        return NULL;
    }
    const uint8_t socket = release(t, at);
    if (t->order[FLOW_HALF_OPEN].count == t->half_open_cap || flow_count(t) == t->flow_cap) {
        evict_oldest(t, FLOW_HALF_OPEN);
    }
    return put(t, &(struct flow){
                      .client = *client,
                      .owner = owner,
                      .refreshed_us = now_us,
                      .hash = hash,
                      .state = FLOW_HALF_OPEN,
                      .socket = socket,
                  });
}

struct flow *flow_table_confirm(struct flow_table *t, const struct net_addr *client,
                                struct flow_owner owner, uint64_t now_us)
{
    flow_table_tick(t, now_us);
    const uint32_t hash = hash_of(t, client);
    const uint8_t socket = release(t, slot_of(t, client, hash));
    if (flow_count(t) == t->flow_cap) {
        evict_oldest(t, t->order[FLOW_CONFIRMED].count > 0 ? FLOW_CONFIRMED : FLOW_HALF_OPEN);
    }
    return put(t, &(struct flow){
                      .client = *client,
                      .owner = owner,
                      .refreshed_us = now_us,
                      .owner_sent_us = now_us,
                      .hash = hash,
                      .state = FLOW_CONFIRMED,
                      .socket = socket,
                      .heard_second = flow_second(now_us),
                  });
}

void flow_table_refresh(struct flow_table *t, struct flow *flow, uint64_t now_us)
{
    const uint64_t grain_us = flow->state == FLOW_CONFIRMED ? FLOW_REFRESH_GRAIN_US : 0;
    if (time_since(flow->refreshed_us, now_us) < grain_us) {
        return;
    }
    const uint32_t at = (uint32_t)(flow - t->slot);
    flow->refreshed_us = now_us;
    order_remove(t, at);
    order_append(t, at);
}

void flow_table_owner_sent(struct flow_table *t, struct flow *flow, uint64_t now_us)
{
    flow->owner_sent_us = now_us;
    flow_table_refresh(t, flow, now_us);
}

bool flow_take_unproven(struct flow *flow, uint64_t now_us)
{
    const uint8_t second = flow_second(now_us);
    if (flow->unproven_second != second) {
        flow->unproven_second = second;
        flow->unproven_count = 0;
    }
    if (flow->unproven_count == FLOW_UNPROVEN_PER_S) {
        return false;
    }
    flow->unproven_count++;
    return true;
}

void flow_table_tick(struct flow_table *t, uint64_t now_us)
{
    static const enum flow_state state[] = {FLOW_HALF_OPEN, FLOW_CONFIRMED};
    for (size_t i = 0; i < COUNT_OF(state); i++) {
        const struct idle_order *order = &t->order[state[i]];
        for (size_t freed = 0; freed < FLOW_TICK_MAX && order->oldest != NO_SLOT &&
                               flow_is_over(&t->slot[order->oldest], now_us);
             freed++) {
            take_out(t, order->oldest);
        }
    }
}

/* --- Lines that outlive the process ---------------------------------------------------------- */

size_t flow_table_bytes(size_t flow_cap)
{
    return slots_for(flow_cap) * LINE_BYTES;
}

/* A flow may lie there twice, when the process was killed while it closed a gap. */
static bool take_up(struct flow_table *t, struct flow *flow)
{
    flow->rival = FLOW_RIVAL_NONE; /* rivals are not kept; a half-open flow's count begins anew */
    if (flow_count(t) == t->flow_cap ||
        t->slot[slot_of(t, &flow->client, flow->hash)].state != FLOW_FREE) {
        return false;
    }
    if (flow->state == FLOW_HALF_OPEN && (t->order[FLOW_HALF_OPEN].count == t->half_open_cap ||
                                          !session_tally_add(t->tally, flow->owner))) {
        return false;
    }
    (void)put(t, flow);
    return true;
}

/* The flows lie in the order of their age, their lines in that of a hash: each look at either would
 * be a wait for memory. Both are asked for in time. */
static void look_ahead(struct flow_table *t, struct flow_remains *r, size_t i)
{
    if (i + FLOWS_AHEAD < flow_remains_count(r)) {
        __builtin_prefetch(flow_remains_at(r, i + FLOWS_AHEAD), 1);
    }
    if (i + LINES_AHEAD < flow_remains_count(r)) {
        struct flow *flow = flow_remains_at(r, i + LINES_AHEAD);
        flow->hash = hash_of(t, &flow->client);
        __builtin_prefetch(&t->slot[flow->hash & t->mask], 1);
    }
}

size_t flow_table_settle(struct flow_table *t, void *lines, struct flow_remains *remains)
{
    assert(flow_count(t) == 0 && (uintptr_t)lines % LINE_BYTES == 0);
    t->slot = lines;
    const size_t count = remains == NULL ? 0 : flow_remains_count(remains);
    for (size_t i = 0; i < count && i < LINES_AHEAD; i++) {
        struct flow *flow = flow_remains_at(remains, i);
        flow->hash = hash_of(t, &flow->client);
    }
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        look_ahead(t, remains, i);
        taken += take_up(t, flow_remains_at(remains, i));
    }
    return taken;
}

size_t flow_table_count(const struct flow_table *t, enum flow_state state)
{
    return t->order[state].count;
}

uint64_t flow_table_evicted(const struct flow_table *t, enum flow_state state)
{
    return t->order[state].evicted;
}
