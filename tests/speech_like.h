/*
 * speech_like.h - sounds for tests of hearing: room noise, and bursts that rise and fall as speech
 *
 * Levels are in dBov (0 = full scale). The same seed gives the same sound.
 */
#ifndef EARSHOT_SPEECH_LIKE_H
#define EARSHOT_SPEECH_LIKE_H

#include "common/base/random.h"

#include <math.h>

/* Uniform noise of that level. */
static inline void speech_like_noise(struct random_generator *g, double level_dbov, int16_t *out,
                                     size_t count)
{
    const double peak = 32768 * pow(10, level_dbov / 20) * sqrt(3);
    for (size_t i = 0; i < count; i++) {
        const double unit = (double)(random_generator_next(g) >> 11) / (double)(UINT64_C(1) << 53);
        out[i] = (int16_t)lround((2 * unit - 1) * peak);
    }
}

/* A voice: 150 Hz and its harmonics under syllables of 250 ms, over a room of -65 dBov. The level
 * is that of the loud part of a syllable. first = samples of this burst that went before. */
static inline void speech_like_voice(struct random_generator *g, double level_dbov,
                                     uint32_t rate_hz, size_t first, int16_t *out, size_t count)
{
    const double peak = 32768 * pow(10, level_dbov / 20);
    speech_like_noise(g, -65, out, count);
    for (size_t i = 0; i < count; i++) {
        const double t = (double)(first + i) / rate_hz;
        const double syllable = fabs(sin(M_PI * t / 0.25 + 0.3));
        double voice = 0;
        for (int harmonic = 1; harmonic <= 5; harmonic++) {
            voice += sin(2 * M_PI * 150 * harmonic * t) / harmonic;
        }
        out[i] = (int16_t)(out[i] + lround(peak * syllable * voice));
    }
}

#endif
