/* fleet.c - see fleet.h */
#include "services/signaling/fleet.h"

#include <assert.h>
#include <stdlib.h>

struct fleet {
    uint16_t cluster_id;
    size_t slot_end;
    /* Beside the instances, so that a search walks through 4 KB; 0 is a free slot. */
    uint32_t id[FLEET_INSTANCES_MAX];
    struct fleet_instance instance[FLEET_INSTANCES_MAX];
};

struct fleet *fleet_create(uint16_t cluster_id)
{
    struct fleet *f = calloc(1, sizeof(*f));
    if (f != NULL) {
        f->cluster_id = cluster_id;
    }
    return f;
}

void fleet_destroy(struct fleet *f)
{
    free(f);
}

size_t fleet_slot_end(const struct fleet *f)
{
    return f->slot_end;
}

const struct fleet_instance *fleet_at(const struct fleet *f, size_t slot)
{
    return slot < f->slot_end && f->id[slot] != 0 ? &f->instance[slot] : NULL;
}

size_t fleet_find(const struct fleet *f, uint32_t instance_id)
{
    for (size_t slot = 0; instance_id != 0 && slot < f->slot_end; slot++) {
        if (f->id[slot] == instance_id) {
            return slot;
        }
    }
    return FLEET_INSTANCES_MAX;
}

static size_t free_slot(const struct fleet *f)
{
    size_t slot = 0;
    while (slot < FLEET_INSTANCES_MAX && f->id[slot] != 0) {
        slot++;
    }
    return slot;
}

/* Says how an announcement of an instance that is known relates to what it said before. */
static enum fleet_news judge(const struct control_announcement *known,
                             const struct control_announcement *heard)
{
    if (heard->start_time_unix_us != known->start_time_unix_us) {
        return heard->start_time_unix_us < known->start_time_unix_us ? FLEET_IMPOSTOR_OUT
                                                                     : FLEET_IMPOSTOR;
    }
    if (strcmp(heard->control_url, known->control_url) != 0) {
        return FLEET_IMPOSTOR;
    }
    return heard->sequence > known->sequence ? FLEET_UPDATED : FLEET_STALE;
}

enum fleet_news fleet_hear(struct fleet *f, const struct control_announcement *announcement,
                           size_t *out_slot, uint64_t now_us)
{
    if (announcement->cluster_id != f->cluster_id || announcement->instance_id == 0) {
        return FLEET_FOREIGN;
    }
    enum fleet_news news = FLEET_ADDED;
    size_t slot = fleet_find(f, announcement->instance_id);
    if (slot < FLEET_INSTANCES_MAX) {
        news = judge(&f->instance[slot].said, announcement);
        if (news == FLEET_STALE || news == FLEET_IMPOSTOR) {
            return news;
        }
    } else {
        slot = free_slot(f);
        if (slot == FLEET_INSTANCES_MAX) {
            return FLEET_FULL;
        }
    }
    f->id[slot] = announcement->instance_id;
    f->instance[slot] = (struct fleet_instance){.said = *announcement, .heard_us = now_us};
    if (slot >= f->slot_end) {
        f->slot_end = slot + 1;
    }
    *out_slot = slot;
    return news;
}

void fleet_remove(struct fleet *f, size_t slot)
{
    assert(slot < f->slot_end);
    f->id[slot] = 0;
    while (f->slot_end > 0 && f->id[f->slot_end - 1] == 0) {
        f->slot_end--;
    }
}

void fleet_note_placed(struct fleet *f, uint32_t instance_id)
{
    const size_t slot = fleet_find(f, instance_id);
    if (slot < FLEET_INSTANCES_MAX) {
        f->instance[slot].placed_count++;
    }
}

void fleet_note_freed(struct fleet *f, uint32_t instance_id)
{
    const size_t slot = fleet_find(f, instance_id);
    if (slot < FLEET_INSTANCES_MAX && f->instance[slot].placed_count > 0) {
        f->instance[slot].placed_count--;
    }
}
