/*
 * g711_gap.h - what a listener would expect in a gap of G.711
 *
 * Takes:   the samples that came, in order, and how long each gap is.
 * Gives:   the last pitch period again and again: as it was for 10 ms, then fading, zeros from
 *          60 ms on; the first 4 ms after the gap grow out of it. No click at either end, no delay.
 * Units:   samples at 8 kHz.
 * Owns:    the last 64 ms, in your memory.
 */
#ifndef EARSHOT_G711_GAP_H
#define EARSHOT_G711_GAP_H

#include <stddef.h>
#include <stdint.h>

#define G711_GAP_PAST_SAMPLES 512 /* a power of two */

struct g711_gap {
    int16_t past[G711_GAP_PAST_SAMPLES]; /* a ring; a gap is in it without the fade */
    size_t position;                     /* of the next sample */
    size_t lag;                          /* the pitch period that is repeated */
    size_t filled;                       /* of the gap that is open; 0 = none */
    int step;                            /* from the repetition to the last sample before it */
};

/* As after silence. */
void g711_gap_init(struct g711_gap *g);
/* Samples that came; the first after a gap are changed. */
void g711_gap_hear(struct g711_gap *g, int16_t *pcm, size_t samples);
void g711_gap_fill(struct g711_gap *g, int16_t *pcm, size_t samples);

#endif
