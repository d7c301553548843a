/*
 * encoder_effort.h - how hard the encoders of a shard may try, by how busy its thread is
 *
 * Takes:   the busy share of the thread, measured about once a second.
 * Gives:   Opus complexity for all its sessions: as configured, and under load 5 and then 1, the
 *          steps at which CPU time halves (docs/performance.md).
 * Rule:    down at once, since a late packet is worse than a plain one; up one step when
 *          ENCODER_EFFORT_CALM_US were calm. Calm is so low that the step up does not end it:
 *          from 1 to 5 an encoder costs three times as much.
 * Owns:    nothing but itself: init, no destroy. Sessions of the shard read `complexity`.
 */
#ifndef EARSHOT_ENCODER_EFFORT_H
#define EARSHOT_ENCODER_EFFORT_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define ENCODER_EFFORT_CALM_US (5 * US_PER_S)
#define ENCODER_EFFORT_BUSY    800 /* permille: from here on one step down */
#define ENCODER_EFFORT_CALM    250 /* below: one step up, after a while */

struct encoder_effort {
    unsigned complexity; /* 0..10, what holds now */
    unsigned complexity_max;
    unsigned complexity_min;
    uint64_t calm_since_us; /* TIME_NEVER = not calm */
    uint64_t steps_down;
};

/* max: as configured. min: no step goes below; equal to max, there are none. */
void encoder_effort_init(struct encoder_effort *e, unsigned complexity_max,
                         unsigned complexity_min);
void encoder_effort_note(struct encoder_effort *e, uint64_t busy_permille, uint64_t now_us);

#endif
