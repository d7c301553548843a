/* g711.c - see g711.h */
#include "services/transceiver/core/media/g711.h"

/* A code is a sign, one of eight segments, each with twice the step of the one below, and one of
 * sixteen steps in it. */
#define STEP_BITS    4
#define STEP_MASK    0x0f
#define SEGMENT_MASK 0x07
#define SIGN         0x80

/* PCMU counts the upper 14 bits, and from 33 on: so each segment ends at a power of two. */
#define PCMU_BIAS          33
#define PCMU_MAGNITUDE_MAX 8191

/* PCMA goes with every second bit turned. */
#define PCMA_TURNED 0x55

static unsigned highest_bit(unsigned value)
{
    return 31U - (unsigned)__builtin_clz(value);
}

/* Of a negative sample one less, so that both halves have 32,768 values. */
static unsigned magnitude_of(int16_t sample)
{
    return (unsigned)(sample < 0 ? ~sample : sample);
}

uint8_t g711_encode_pcmu(int16_t sample)
{
    const unsigned biased = (magnitude_of(sample) >> 2) + PCMU_BIAS;
    const unsigned magnitude = biased < PCMU_MAGNITUDE_MAX ? biased : PCMU_MAGNITUDE_MAX;
    const unsigned segment = highest_bit(magnitude) - 5;
    const unsigned step = magnitude >> (segment + 1) & STEP_MASK;
    const unsigned sign = sample < 0 ? SIGN : 0;
    return (uint8_t) ~(sign | segment << STEP_BITS | step);
}

int16_t g711_decode_pcmu(uint8_t code)
{
    const unsigned plain = (uint8_t)~code;
    const unsigned segment = plain >> STEP_BITS & SEGMENT_MASK;
    const int biased = (int)((2 * (plain & STEP_MASK) + PCMU_BIAS) << segment);
    const int magnitude = 4 * (biased - PCMU_BIAS);
    return (int16_t)((plain & SIGN) != 0 ? -magnitude : magnitude);
}

uint8_t g711_encode_pcma(int16_t sample)
{
    const unsigned magnitude = magnitude_of(sample) >> 4;
    unsigned code = magnitude; /* the two lowest segments have the same step */
    if (magnitude > STEP_MASK) {
        const unsigned segment = highest_bit(magnitude) - 3;
        code = segment << STEP_BITS | (magnitude >> (segment - 1) & STEP_MASK);
    }
    return (uint8_t)((code | (sample < 0 ? 0 : SIGN)) ^ PCMA_TURNED);
}

int16_t g711_decode_pcma(uint8_t code)
{
    const unsigned plain = code ^ PCMA_TURNED;
    const unsigned segment = plain >> STEP_BITS & SEGMENT_MASK;
    const unsigned middle = 2 * (plain & STEP_MASK) + 1;
    const int magnitude = 8 * (int)(segment == 0 ? middle : (middle + 32) << (segment - 1));
    return (int16_t)((plain & SIGN) != 0 ? magnitude : -magnitude);
}
