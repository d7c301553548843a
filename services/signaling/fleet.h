/*
 * fleet.h - the transceivers of this cluster, as their announcements tell
 *
 * Takes:   each announcement that was heard; who is silent for FLEET_LEASE_US takes no new call.
 * Gives:   what each instance said last, in slots: an instance keeps its slot until it is removed.
 * Owns:    FLEET_INSTANCES_MAX slots, allocated once.
 * Fails:   an instance beyond the last slot is refused (FLEET_FULL), known ones go on.
 * Source:  docs/wire-formats.md, section 5.
 * Not here: which one gets a call (placement.h), how it is asked (session_client.h).
 */
#ifndef EARSHOT_FLEET_H
#define EARSHOT_FLEET_H

#include "common/base/time_us.h"
#include "common/control/control_message.h"

#define FLEET_INSTANCES_MAX 1024
#define FLEET_LEASE_US      (2 * US_PER_S)
#define FLEET_MEMORY_US     (60 * US_PER_S) /* its calls may outlive the control plane */

enum fleet_news {
    FLEET_ADDED,
    FLEET_UPDATED,
    FLEET_STALE,        /* a sequence number heard before: ignored */
    FLEET_FOREIGN,      /* of another cluster, or of no instance: ignored */
    FLEET_IMPOSTOR,     /* a younger process with the id of a known one: ignored */
    FLEET_IMPOSTOR_OUT, /* the known process was the younger one: replaced */
    FLEET_FULL,
    FLEET_NEWS_COUNT
};

struct fleet_instance {
    struct control_announcement said;
    uint64_t heard_us;
    uint32_t placed_count; /* given to it since it spoke, less those that ended: its own numbers
                              lag by 500 ms */
};

struct fleet;

struct fleet *fleet_create(uint16_t cluster_id);
void fleet_destroy(struct fleet *f);

/* The slot is valid for FLEET_ADDED, FLEET_UPDATED and FLEET_IMPOSTOR_OUT. */
enum fleet_news fleet_hear(struct fleet *f, const struct control_announcement *announcement,
                           size_t *out_slot, uint64_t now_us);
void fleet_remove(struct fleet *f, size_t slot);
/* Counts a call that was given to the instance; an id that is not known is ignored. */
void fleet_note_placed(struct fleet *f, uint32_t instance_id);
/* A call is over, or was refused. One that the instance counts itself makes room for one that it
 * does not count yet. */
void fleet_note_freed(struct fleet *f, uint32_t instance_id);

/* Slots in use lie below this; some of them may be free. */
size_t fleet_slot_end(const struct fleet *f);
/* Borrowed until the next fleet_hear or fleet_remove; NULL for a free slot. */
const struct fleet_instance *fleet_at(const struct fleet *f, size_t slot);
/* The slot of an instance, or FLEET_INSTANCES_MAX. */
size_t fleet_find(const struct fleet *f, uint32_t instance_id);

static inline bool fleet_instance_is_live(const struct fleet_instance *i, uint64_t now_us)
{
    return time_since(i->heard_us, now_us) <= FLEET_LEASE_US;
}

static inline bool fleet_instance_is_forgotten(const struct fleet_instance *i, uint64_t now_us)
{
    return time_since(i->heard_us, now_us) > FLEET_MEMORY_US;
}

#endif
