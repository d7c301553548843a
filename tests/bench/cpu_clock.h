/* cpu_clock.h - seconds of CPU that a thread or the process has used */
#ifndef EARSHOT_BENCH_CPU_CLOCK_H
#define EARSHOT_BENCH_CPU_CLOCK_H

#include <assert.h>
#include <time.h>

static inline double cpu_clock_s(clockid_t clock)
{
    struct timespec t;
    const int result = clock_gettime(clock, &t);
    assert(result == 0);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double cpu_clock_thread_s(void)
{
    return cpu_clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static inline double cpu_clock_process_s(void)
{
    return cpu_clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
