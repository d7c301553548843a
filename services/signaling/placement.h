/*
 * placement.h - which transceiver gets the next call
 *
 * The one with the smallest share of its capacity in use, among those that are live, ready, have
 * room and a backend, and were not tried for this call before. Equal ones take turns by `random`.
 * Pure: reads the fleet, changes nothing.
 */
#ifndef EARSHOT_PLACEMENT_H
#define EARSHOT_PLACEMENT_H

#include "services/signaling/fleet.h"

/* A call is offered to at most this many transceivers. */
#define PLACEMENT_TRIES_MAX 3

enum placement_result {
    PLACEMENT_FOUND,
    PLACEMENT_NO_TRANSCEIVER, /* none is live */
    PLACEMENT_NO_ROOM,        /* all that are live are full, draining or tried */
    PLACEMENT_NO_BACKEND      /* some have room, none of them has a backend */
};

struct placement_tried {
    uint32_t instance_id[PLACEMENT_TRIES_MAX];
    size_t count;
};

/* *out is the slot of the fleet, for PLACEMENT_FOUND. */
enum placement_result placement_choose(const struct fleet *f, const struct placement_tried *tried,
                                       uint32_t random, size_t *out, uint64_t now_us);

#endif
