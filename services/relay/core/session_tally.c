/* session_tally.c - linear probing with backward-shift deletion, at most half full */
#include "services/relay/core/session_tally.h"

#include <assert.h>
#include <stdlib.h>

struct tally {
    struct flow_owner owner;
    uint32_t count; /* 0 = free */
};

struct session_tally {
    struct flow_hash_seed seed;
    size_t mask;
    size_t used;
    size_t used_max;
    struct tally slot[];
};

struct session_tally *session_tally_create(size_t cap, struct flow_hash_seed seed)
{
    size_t slots = 2;
    while (slots < 2 * cap) {
        slots *= 2;
    }
    struct session_tally *t = calloc(1, sizeof(*t) + slots * sizeof(t->slot[0]));
    if (t == NULL) {
        return NULL;
    }
    t->seed = seed;
    t->mask = slots - 1;
    t->used_max = cap;
    return t;
}

void session_tally_destroy(struct session_tally *t)
{
    free(t);
}

static size_t home_of(const struct session_tally *t, struct flow_owner owner)
{
    return (size_t)flow_hash(&t->seed, &owner, sizeof(owner)) & t->mask;
}

/* The owner's slot, or the free one where it would stand. */
static size_t slot_of(const struct session_tally *t, struct flow_owner owner)
{
    size_t at = home_of(t, owner);
    while (t->slot[at].count > 0 && !flow_owner_equal(t->slot[at].owner, owner)) {
        at = (at + 1) & t->mask;
    }
    return at;
}

bool session_tally_add(struct session_tally *t, struct flow_owner owner)
{
    struct tally *tally = &t->slot[slot_of(t, owner)];
    if (tally->count == SESSION_TALLY_MAX) {
        return false;
    }
    if (tally->count == 0) {
        assert(t->used < t->used_max);
        t->used++;
        tally->owner = owner;
    }
    tally->count++;
    return true;
}

static void close_gap(struct session_tally *t, size_t gap)
{
    for (size_t at = (gap + 1) & t->mask; t->slot[at].count > 0; at = (at + 1) & t->mask) {
        const size_t home = home_of(t, t->slot[at].owner);
        if (((at - home) & t->mask) >= ((at - gap) & t->mask)) {
            t->slot[gap] = t->slot[at];
            gap = at;
        }
    }
    t->slot[gap] = (struct tally){0};
}

void session_tally_remove(struct session_tally *t, struct flow_owner owner)
{
    const size_t at = slot_of(t, owner);
    assert(t->slot[at].count > 0);
    t->slot[at].count--;
    if (t->slot[at].count == 0) {
        t->used--;
        close_gap(t, at);
    }
}

unsigned session_tally_count(const struct session_tally *t, struct flow_owner owner)
{
    return t->slot[slot_of(t, owner)].count;
}
