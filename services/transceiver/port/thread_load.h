/*
 * thread_load.h - how much of a second the calling thread worked, and how much it wanted to
 *
 * Gives:   the share of CPU, and the share of time in which it was not asleep. The second is more
 *          when others have the CPU: then packets are late although the thread is not at its limit.
 * Owns:    nothing but itself: all zero is the beginning.
 */
#ifndef EARSHOT_THREAD_LOAD_H
#define EARSHOT_THREAD_LOAD_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

struct thread_load {
    uint64_t since_us;
    uint64_t cpu_us;    /* at that time */
    uint64_t asleep_us; /* since then */
};

/* It waited for work. */
void thread_load_note_sleep(struct thread_load *l, uint64_t us);
/* Both in permille of the time since the measurement before; false until that is a second ago. */
MUST_USE bool thread_load_measure(struct thread_load *l, uint64_t *cpu, uint64_t *busy,
                                  uint64_t now_us);

#endif
