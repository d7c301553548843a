/*
 * slot_clock.h - when the slots of a call leave: one grid for life, and never a burst
 *
 * Gives:   one slot after another at absolute times, 20 ms apart unless a slot says otherwise.
 *          Sessions are spread over SLOT_CLOCK_PHASES of 2 ms, so that their packets leave as
 *          trains and not in one spike.
 * Early:   the first slot of speech need not wait for the grid: it, and those behind it, come up to
 *          one slot earlier, until silence gives the time back. So timestamps never run away.
 * Late:    by two slots or more: slots are left out until two are due, which go back to back.
 * Owns:    nothing but itself: init, no destroy.
 * Not here: what a slot carries (session/voice_sender.h).
 */
#ifndef EARSHOT_SLOT_CLOCK_H
#define EARSHOT_SLOT_CLOCK_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define SLOT_CLOCK_SLOT_US (20 * US_PER_MS)
#define SLOT_CLOCK_PHASES  10

struct slot_clock {
    uint64_t next_us;  /* when the next slot leaves; TIME_NEVER until started */
    uint64_t early_us; /* how much that is before the grid */
};

struct slot {
    uint64_t grid_us; /* where it is on the grid, which nothing moves */
    uint64_t skipped; /* slots of 20 ms that were left out before it */
};

void slot_clock_init(struct slot_clock *c);
/* The grid begins, at the phase of this number modulo SLOT_CLOCK_PHASES, within one slot. */
void slot_clock_start(struct slot_clock *c, uint32_t number, uint64_t now_us);
bool slot_clock_is_running(const struct slot_clock *c);
uint64_t slot_clock_next_timeout(const struct slot_clock *c);

/* Speech waits and nothing sounds: the next slot is now. */
void slot_clock_hasten(struct slot_clock *c, uint64_t now_us);
/* The slot that is due; false if none. Then say how long it is. */
MUST_USE bool slot_clock_take(struct slot_clock *c, struct slot *out, uint64_t now_us);
void slot_clock_advance(struct slot_clock *c, uint64_t duration_us);
/* The slot just taken was silent: the next one is on the grid again. */
void slot_clock_settle(struct slot_clock *c);

#endif
