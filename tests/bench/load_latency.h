/*
 * load_latency.h - many durations in little room: 64 steps in each power of two of nanoseconds
 *
 * Gives:   percentiles, at most 1.6 % too low.
 */
#ifndef EARSHOT_BENCH_LOAD_LATENCY_H
#define EARSHOT_BENCH_LOAD_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#define LOAD_LATENCY_STEPS  64
#define LOAD_LATENCY_POWERS 40 /* the longest: 2^46 ns, many hours */

struct load_latency {
    uint64_t count;
    uint32_t bucket[LOAD_LATENCY_POWERS * LOAD_LATENCY_STEPS];
};

void load_latency_add(struct load_latency *l, uint64_t ns);
/* 0 without durations. */
double load_latency_us(const struct load_latency *l, unsigned percent);

#endif
