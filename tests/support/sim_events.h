/*
 * sim_events.h - numbered texts through an event channel, and whether they came as they were said
 *
 * Checks:  each comes whole, once, in order. One may be missing only when a backend was lost: what
 *          was written to its connection is gone.
 * Tells:   the journal. Errors of the transceiver itself are passed over.
 */
#ifndef EARSHOT_SIM_EVENTS_H
#define EARSHOT_SIM_EVENTS_H

#include "common/base/bytes.h"
#include "tests/support/sim_journal.h"

#define SIM_EVENTS_BYTES_MAX 65536

enum sim_events_way { SIM_EVENTS_UP, SIM_EVENTS_DOWN, SIM_EVENTS_WAYS };

struct sim_events_count {
    uint32_t said;
    uint32_t next; /* the number that is to come */
    uint32_t came;
};

struct sim_events {
    struct sim_journal *journal;
    bool may_be_missing;
    struct sim_events_count way[SIM_EVENTS_WAYS];
    char text[SIM_EVENTS_BYTES_MAX];
};

void sim_events_init(struct sim_events *e, struct sim_journal *journal);
/* The next text of this way; borrowed until the next call. Say so when it was taken. */
struct bytes_view sim_events_next(struct sim_events *e, enum sim_events_way way);
void sim_events_said(struct sim_events *e, enum sim_events_way way);
void sim_events_came(struct sim_events *e, enum sim_events_way way, struct bytes_view text,
                     uint64_t now_us);
void sim_events_lost_backend(struct sim_events *e);

#endif
