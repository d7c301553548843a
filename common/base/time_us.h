/*
 * time_us.h - time as one number
 *
 * Units:   microseconds of a monotonic clock, or of a simulation. Names end in _us.
 * Rule:    every machine is told `now_us`, as its last argument, and it never goes backwards.
 */
#ifndef EARSHOT_TIME_US_H
#define EARSHOT_TIME_US_H

#include <stdint.h>

#define US_PER_MS UINT64_C(1000)
#define US_PER_S  UINT64_C(1000000)

/* No deadline. Later than every time. */
#define TIME_NEVER UINT64_MAX

static inline uint64_t time_earlier(uint64_t a_us, uint64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

static inline uint64_t time_later(uint64_t a_us, uint64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

/* How long since then_us; 0 when it lies ahead. */
static inline uint64_t time_since(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? now_us - then_us : 0;
}

#endif
