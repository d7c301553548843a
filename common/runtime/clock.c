/* clock.c - see clock.h */
#include "common/runtime/clock.h"

#include <time.h>

static uint64_t read_clock_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for the two ids below */
    return (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

uint64_t clock_unix_us(void)
{
    return read_clock_us(CLOCK_REALTIME);
}
