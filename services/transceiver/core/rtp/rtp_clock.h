/*
 * rtp_clock.h - the 48 kHz media clock of Opus (RFC 7587 s.4.1) and microseconds
 *
 * A `timestamp` counts this clock; a `*_us` counts microseconds. These are the only places where
 * one becomes the other.
 */
#ifndef EARSHOT_RTP_CLOCK_H
#define EARSHOT_RTP_CLOCK_H

#include <stdint.h>

#define RTP_CLOCK_HZ         48000
#define RTP_CLOCK_SLOT_UNITS 960 /* 20 ms */

/* 48 units are exactly 1,000 us; both round down, and hold beyond 2^56 of either. */
static inline uint64_t rtp_clock_to_us(uint64_t units)
{
    return units * 125 / 6;
}

static inline uint64_t rtp_clock_from_us(uint64_t us)
{
    return us * 6 / 125;
}

#endif
