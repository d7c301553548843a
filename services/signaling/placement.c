/* placement.c - see placement.h */
#include "services/signaling/placement.h"

static bool was_tried(const struct placement_tried *tried, uint32_t instance_id)
{
    for (size_t i = 0; i < tried->count; i++) {
        if (tried->instance_id[i] == instance_id) {
            return true;
        }
    }
    return false;
}

/* The pending ones are among the active. */
static uint64_t sessions_of(const struct fleet_instance *i)
{
    return (uint64_t)i->said.sessions_active + i->placed_count;
}

static bool has_room(const struct fleet_instance *i, const struct placement_tried *tried)
{
    return i->said.state == CONTROL_STATE_READY && sessions_of(i) < i->said.capacity &&
           !was_tried(tried, i->said.instance_id);
}

/* Shares compared by cross products: no fractions, no rounding. */
static bool is_less_loaded(const struct fleet_instance *a, const struct fleet_instance *b)
{
    return sessions_of(a) * b->said.capacity < sessions_of(b) * a->said.capacity;
}

enum placement_result placement_choose(const struct fleet *f, const struct placement_tried *tried,
                                       uint32_t random, size_t *out, uint64_t now_us)
{
    const size_t slot_end = fleet_slot_end(f);
    const struct fleet_instance *best = NULL;
    bool some_are_live = false;
    bool some_have_room = false;
    for (size_t i = 0; i < slot_end; i++) {
        const size_t slot = (random % slot_end + i) % slot_end;
        const struct fleet_instance *instance = fleet_at(f, slot);
        if (instance == NULL || !fleet_instance_is_live(instance, now_us)) {
            continue;
        }
        some_are_live = true;
        if (!has_room(instance, tried)) {
            continue;
        }
        some_have_room = true;
        if (instance->said.backend_up && (best == NULL || is_less_loaded(instance, best))) {
            best = instance;
            *out = slot;
        }
    }
    if (best != NULL) {
        return PLACEMENT_FOUND;
    }
    if (!some_are_live) {
        return PLACEMENT_NO_TRANSCEIVER;
    }
    return some_have_room ? PLACEMENT_NO_BACKEND : PLACEMENT_NO_ROOM;
}
