/* load_latency.c - see load_latency.h */
#include "tests/bench/load_latency.h"

/* Bucket 64 * p + s holds what begins with (64 + s) << (p - 1); the first 64 are exact. */
void load_latency_add(struct load_latency *l, uint64_t ns)
{
    unsigned power = 0;
    while (ns >> power >= 2 * LOAD_LATENCY_STEPS) {
        power++;
    }
    size_t at = (ns >> power) + power * LOAD_LATENCY_STEPS;
    const size_t last = sizeof(l->bucket) / sizeof(l->bucket[0]) - 1;
    at = at < last ? at : last;
    l->bucket[at]++;
    l->count++;
}

double load_latency_us(const struct load_latency *l, unsigned percent)
{
    const uint64_t wanted = l->count * percent / 100;
    uint64_t seen = 0;
    size_t at = 0;
    while (at < sizeof(l->bucket) / sizeof(l->bucket[0]) && (seen += l->bucket[at]) <= wanted) {
        at++;
    }
    if (l->count == 0 || at < 2 * LOAD_LATENCY_STEPS) {
        return l->count == 0 ? 0 : (double)at / 1000;
    }
    const unsigned power = (unsigned)(at / LOAD_LATENCY_STEPS) - 1;
    return (double)((at - power * LOAD_LATENCY_STEPS) << power) / 1000;
}
