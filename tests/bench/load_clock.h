/* load_clock.h - nanoseconds of the monotonic clock */
#ifndef EARSHOT_BENCH_LOAD_CLOCK_H
#define EARSHOT_BENCH_LOAD_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t load_clock_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#endif
