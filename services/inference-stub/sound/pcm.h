/*
 * pcm.h - 16-bit mono samples, borrowed
 *
 * Units:   samples at a rate the holder knows; both rates the stub speaks are whole kHz, so that a
 *          10 ms step has a whole number of samples.
 */
#ifndef EARSHOT_PCM_H
#define EARSHOT_PCM_H

#include "common/base/time_us.h"

#include <stddef.h>
#include <stdint.h>

#define PCM_RATE_HZ_MAX 24000

struct pcm_view {
    const int16_t *samples;
    size_t count;
};

static inline size_t pcm_samples_of_ms(uint32_t rate_hz, size_t ms)
{
    return rate_hz / 1000 * ms;
}

/* Rounded down; cannot overflow for the rates we speak. */
static inline uint64_t pcm_samples_of_us(uint32_t rate_hz, uint64_t us)
{
    const uint64_t rate_khz = rate_hz / 1000;
    return us / 1000 * rate_khz + us % 1000 * rate_khz / 1000;
}

#endif
