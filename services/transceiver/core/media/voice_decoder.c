/* voice_decoder.c - see voice_decoder.h */
#include "services/transceiver/core/media/voice_decoder.h"

#include <assert.h>
#include <opus.h>
#include <stdlib.h>

#define CLOCK_HZ      48000
#define UNITS_2500_US 120

#define BUDGET_US_MAX (10 * US_PER_S)

struct voice_decoder {
    OpusDecoder *opus;
    uint32_t rate_hz;
    uint64_t budget_us; /* of media, as of budget_at_us */
    uint64_t budget_at_us;
};

struct voice_decoder *voice_decoder_create(uint32_t rate_hz)
{
    struct voice_decoder *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return NULL;
    }
    d->rate_hz = rate_hz;
    d->budget_us = BUDGET_US_MAX;
    d->opus = opus_decoder_create((opus_int32)rate_hz, 1, NULL);
    if (d->opus == NULL) {
        voice_decoder_destroy(d);
        return NULL;
    }
    return d;
}

void voice_decoder_destroy(struct voice_decoder *d)
{
    if (d == NULL) {
        return;
    }
    if (d->opus != NULL) {
        opus_decoder_destroy(d->opus);
    }
    free(d);
}

void voice_decoder_reset(struct voice_decoder *d)
{
    const int error = opus_decoder_ctl(d->opus, OPUS_RESET_STATE);
    assert(error == OPUS_OK);
    (void)error;
}

/* Takes the media's length out of the bucket, which fills at 1.5 times real time. */
static bool spend(struct voice_decoder *d, uint32_t duration, uint64_t now_us)
{
    const uint64_t elapsed_us = time_earlier(time_since(d->budget_at_us, now_us), BUDGET_US_MAX);
    d->budget_at_us = now_us;
    d->budget_us = time_earlier(d->budget_us + elapsed_us * 3 / 2, BUDGET_US_MAX);
    const uint64_t cost_us = duration * US_PER_S / CLOCK_HZ;
    if (cost_us > d->budget_us) {
        return false;
    }
    d->budget_us -= cost_us;
    return true;
}

/* The room that libopus is given: as much as is asked of it, and no more. */
static int samples_in(const struct voice_decoder *d, uint32_t duration)
{
    return (int)(duration * (uint64_t)d->rate_hz / CLOCK_HZ);
}

static enum voice_decoder_result give(int opus_result, size_t *out_samples)
{
    *out_samples = opus_result > 0 ? (size_t)opus_result : 0;
    return opus_result > 0 ? VOICE_DECODER_OK : VOICE_DECODER_MALFORMED;
}

enum voice_decoder_result voice_decoder_decode(struct voice_decoder *d, struct bytes_view payload,
                                               int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                               size_t *out_samples, uint64_t now_us)
{
    *out_samples = 0;
    const uint32_t duration = voice_packet_duration(payload);
    if (duration == 0) {
        return VOICE_DECODER_MALFORMED;
    }
    if (!spend(d, duration, now_us)) {
        return VOICE_DECODER_OVER_BUDGET;
    }
    return give(opus_decode(d->opus, payload.data, (opus_int32)payload.len, pcm,
                            samples_in(d, duration), 0),
                out_samples);
}

static void assert_missing(uint32_t duration)
{
    assert(duration > 0);
    assert(duration <= VOICE_PACKET_DURATION_MAX);
    assert(duration % UNITS_2500_US == 0);
    (void)duration;
}

enum voice_decoder_result voice_decoder_decode_fec(struct voice_decoder *d, struct bytes_view next,
                                                   uint32_t duration,
                                                   int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                   size_t *out_samples, uint64_t now_us)
{
    assert_missing(duration);
    *out_samples = 0;
    if (voice_packet_duration(next) == 0) {
        return VOICE_DECODER_MALFORMED;
    }
    if (!spend(d, duration, now_us)) {
        return VOICE_DECODER_OVER_BUDGET;
    }
    return give(
        opus_decode(d->opus, next.data, (opus_int32)next.len, pcm, samples_in(d, duration), 1),
        out_samples);
}

enum voice_decoder_result voice_decoder_conceal(struct voice_decoder *d, uint32_t duration,
                                                int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                size_t *out_samples, uint64_t now_us)
{
    assert_missing(duration);
    *out_samples = 0;
    if (!spend(d, duration, now_us)) {
        return VOICE_DECODER_OVER_BUDGET;
    }
    return give(opus_decode(d->opus, NULL, 0, pcm, samples_in(d, duration), 0), out_samples);
}
