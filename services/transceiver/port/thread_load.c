/* thread_load.c - see thread_load.h */
#include "services/transceiver/port/thread_load.h"

#include <time.h>

void thread_load_note_sleep(struct thread_load *l, uint64_t us)
{
    l->asleep_us += us;
}

bool thread_load_measure(struct thread_load *l, uint64_t *cpu, uint64_t *busy, uint64_t now_us)
{
    const uint64_t passed_us = now_us - l->since_us;
    struct timespec used;
    if (passed_us < US_PER_S || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) {
        return false;
    }
    const uint64_t cpu_us = (uint64_t)used.tv_sec * US_PER_S + (uint64_t)used.tv_nsec / 1000;
    *cpu = (cpu_us - l->cpu_us) * 1000 / passed_us;
    *busy = time_since(l->asleep_us, passed_us) * 1000 / passed_us;
    *l = (struct thread_load){.since_us = now_us, .cpu_us = cpu_us};
    return true;
}
