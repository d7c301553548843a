/* tone.c - see tone.h */
#include "services/inference-stub/sound/tone.h"

#include <assert.h>
#include <math.h>

void tone_init(struct tone *t, uint32_t frequency_hz, uint32_t rate_hz)
{
    assert(frequency_hz < rate_hz);
    *t = (struct tone){.rate_hz = rate_hz, .frequency_hz = frequency_hz};
}

void tone_generate(struct tone *t, int16_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double turn = (double)t->phase / t->rate_hz;
        out[i] = (int16_t)lround(TONE_AMPLITUDE * sin(2 * M_PI * turn));
        t->phase = (t->phase + t->frequency_hz) % t->rate_hz;
    }
}
