/* sim_ear.c - see sim_ear.h */
#include "tests/support/sim_ear.h"

#include "services/transceiver/core/media/voice_decoder.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define RATE_HZ 16000

struct sim_ear {
    struct voice_decoder *decoder;
    uint64_t now_us; /* the decoder has a budget by time */
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
};

struct sim_ear *sim_ear_create(void)
{
    struct sim_ear *e = calloc(1, sizeof(*e));
    assert(e != NULL);
    e->decoder = voice_decoder_create(VOICE_CODEC_OPUS, RATE_HZ);
    assert(e->decoder != NULL);
    return e;
}

void sim_ear_destroy(struct sim_ear *e)
{
    if (e != NULL) {
        voice_decoder_destroy(e->decoder);
        free(e);
    }
}

double sim_ear_hear(struct sim_ear *e, struct bytes_view payload, double hz)
{
    size_t samples = 0;
    double real = 0;
    double imaginary = 0;
    e->now_us += 20 * US_PER_MS;
    if (voice_decoder_decode(e->decoder, payload, e->pcm, &samples, e->now_us) !=
        VOICE_DECODER_OK) {
        return 0;
    }
    for (size_t i = 0; i < samples; i++) {
        const double angle = 2 * M_PI * hz * (double)i / RATE_HZ;
        real += e->pcm[i] * cos(angle);
        imaginary += e->pcm[i] * sin(angle);
    }
    return 2 * sqrt(real * real + imaginary * imaginary) / (double)samples / 32768;
}
