/*
 * reorder_window.h - how long a gap is worth waiting for
 *
 * Takes:   what became of numbers: given up, came late, came out of order.
 * Gives:   K, the newer packets that end a wait (1; 2 for 10 s after reordering was seen), and the
 *          window, the time that ends it: 1.25 times the longest lateness seen, shrinking by 0.05 %
 *          with every packet.
 * Owns:    the last REORDER_WINDOW_SPAN numbers that were given up; nothing to free.
 * Not here: the packets (reorder_buffer.h).
 */
#ifndef EARSHOT_REORDER_WINDOW_H
#define EARSHOT_REORDER_WINDOW_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define REORDER_WINDOW_SPAN   64
#define REORDER_WINDOW_US_MIN (2 * US_PER_MS)
#define REORDER_WINDOW_US_MAX (60 * US_PER_MS)
/* Reordering is expected for this long after it was seen. */
#define REORDER_WINDOW_MEMORY_US (10 * US_PER_S)

struct reorder_window {
    uint64_t window_us;
    uint64_t reordered_until_us; /* K is 2 until then */
    struct {
        uint64_t sequence; /* 0 = none */
        uint64_t gap_since_us;
    } given_up[REORDER_WINDOW_SPAN]; /* by sequence % SPAN */
};

void reorder_window_init(struct reorder_window *w);
/* A new numbering: its numbers were not given up. The network is the same. */
void reorder_window_forget_numbers(struct reorder_window *w);

/* K */
size_t reorder_window_newer_needed(const struct reorder_window *w, uint64_t now_us);

/* One more packet was taken. */
void reorder_window_decay(struct reorder_window *w);
/* A number that was waited for since gap_since_us is not waited for any more. */
void reorder_window_give_up(struct reorder_window *w, uint64_t sequence, uint64_t gap_since_us);
/* A packet came whose number has passed. True when it was given up before: it is late. */
MUST_USE bool reorder_window_note_passed(struct reorder_window *w, uint64_t sequence,
                                         uint64_t now_us);
/* A packet closed a gap that was known since gap_since_us. */
void reorder_window_note_reordered(struct reorder_window *w, uint64_t gap_since_us,
                                   uint64_t now_us);

#endif
