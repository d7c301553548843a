/* resampler.c - see resampler.h */
#include "services/transceiver/core/media/resampler.h"

#include <assert.h>
#include <speex/speex_resampler.h>
#include <stdlib.h>
#include <string.h>

/* Good enough that G.711's own noise is what is heard. */
#define QUALITY 5

struct resampler {
    SpeexResamplerState *speex; /* NULL when there is nothing to do */
    uint32_t from_hz;
    uint32_t to_hz;
};

struct resampler *resampler_create(uint32_t from_hz, uint32_t to_hz)
{
    assert(from_hz % to_hz == 0 || to_hz % from_hz == 0);
    struct resampler *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->from_hz = from_hz;
    r->to_hz = to_hz;
    if (from_hz != to_hz) {
        r->speex = speex_resampler_init(1, from_hz, to_hz, QUALITY, NULL);
        if (r->speex == NULL) {
            resampler_destroy(r);
            return NULL;
        }
    }
    return r;
}

void resampler_destroy(struct resampler *r)
{
    if (r == NULL) {
        return;
    }
    if (r->speex != NULL) {
        speex_resampler_destroy(r->speex);
    }
    free(r);
}

void resampler_reset(struct resampler *r)
{
    if (r->speex != NULL) {
        (void)speex_resampler_reset_mem(r->speex);
    }
}

size_t resampler_run(struct resampler *r, const int16_t *in, size_t samples, int16_t *out)
{
    if (r->speex == NULL) {
        memcpy(out, in, samples * sizeof(*out));
        return samples;
    }
    const spx_uint32_t expected = (spx_uint32_t)((uint64_t)samples * r->to_hz / r->from_hz);
    assert((uint64_t)expected * r->from_hz == (uint64_t)samples * r->to_hz);
    spx_uint32_t taken = (spx_uint32_t)samples;
    spx_uint32_t given = expected;
    const int error = speex_resampler_process_int(r->speex, 0, in, &taken, out, &given);
    assert(error == RESAMPLER_ERR_SUCCESS);
    assert(taken == samples);
    assert(given == expected);
    (void)error;
    return given;
}
