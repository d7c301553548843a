/*
 * transit_window.h - how long packets take, against the fastest of the last seconds
 *
 * Takes:   the transit of each packet: arrival less capture. Only differences count, so the clocks
 *          of the two ends need not agree.
 * Gives:   the minimum over 10 s, and the drift of the sender's clock against ours over 30 s.
 * Owns:    the fastest packet of each of the last 30 seconds; nothing to free.
 * Why:     the fastest packet of a second has waited in no queue: what is left is the way, which is
 *          constant, and the clocks.
 */
#ifndef EARSHOT_TRANSIT_WINDOW_H
#define EARSHOT_TRANSIT_WINDOW_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define TRANSIT_WINDOW_SECONDS         30
#define TRANSIT_WINDOW_MINIMUM_SECONDS 10

struct transit_window {
    uint64_t newest_second;
    struct {
        uint64_t second; /* 0 = none */
        uint64_t arrived_us;
        int64_t transit_us;
    } fastest[TRANSIT_WINDOW_SECONDS]; /* by second % SECONDS */
};

/* A new clock of the sender: what was before says nothing. */
void transit_window_init(struct transit_window *w);
void transit_window_note(struct transit_window *w, int64_t transit_us, uint64_t now_us);

/* How much longer than the fastest of the 10 s up to the newest packet; 0 without a packet. */
uint64_t transit_window_lateness_us(const struct transit_window *w, int64_t transit_us);

/* Parts per million that the sender's clock is faster than ours (negative: slower). 0 before 10 s
 * are known. */
int32_t transit_window_drift_ppm(const struct transit_window *w);

#endif
