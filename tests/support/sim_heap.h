/*
 * sim_heap.h - whether a change of a call asked for memory, when it should have had all it needs
 *
 * A call is steady when both directions have spoken, for SIM_HEAP_STEADY_US: codecs and histories
 * are made at first audio. Words may take the memory of the playout queue again when none were
 * spoken for as long as it keeps it.
 */
#ifndef EARSHOT_SIM_HEAP_H
#define EARSHOT_SIM_HEAP_H

#include "services/transceiver/core/session/session.h"
#include "tests/support/sim_journal.h"

#define SIM_HEAP_STEADY_US (200 * US_PER_MS)

struct sim_heap {
    const size_t *allocations; /* of the process so far; NULL: not counted */
    size_t before;
    const char *by;          /* what has allocated since the last report; NULL: nothing */
    uint64_t speech_packets; /* sent so far */
    uint64_t spoken_us;      /* the latest of them */
};

/* Around one change of a session. */
void sim_heap_begin(struct sim_heap *h);
void sim_heap_end(struct sim_heap *h, const struct session *s, const char *what, uint64_t now_us);
/* This change may allocate. */
void sim_heap_excuse(struct sim_heap *h);
/* The change was that the agent said something. */
void sim_heap_excuse_words(struct sim_heap *h, uint64_t now_us);
void sim_heap_report(struct sim_heap *h, struct sim_journal *journal, uint64_t now_us);

#endif
