/* voice_decoder.c - see voice_decoder.h */
#include "services/transceiver/core/media/voice_decoder.h"

#include "services/transceiver/core/media/g711.h"
#include "services/transceiver/core/media/g711_gap.h"
#include "services/transceiver/core/media/resampler.h"

#include <assert.h>
#include <opus.h>
#include <stdlib.h>

#define UNITS_PER_S_2500US 400
#define CLOCK_HZ_OPUS      48000

#define G711_RATE_HZ     8000
#define G711_SAMPLES_MAX 960 /* 120 ms */

#define BUDGET_US_MAX (10 * US_PER_S)

/* G.711 is decoded, and its gaps are filled, at its own 8 kHz. */
struct narrow {
    struct g711_gap gap;
    struct resampler *up;
    int16_t pcm[G711_SAMPLES_MAX];
};

struct voice_decoder {
    enum voice_codec codec;
    OpusDecoder *opus; /* one of these two */
    struct narrow *narrow;
    uint32_t rate_hz;
    uint64_t budget_us; /* of media, as of budget_at_us */
    uint64_t budget_at_us;
};

static struct narrow *narrow_create(uint32_t rate_hz)
{
    struct narrow *n = calloc(1, sizeof(*n));
    if (n == NULL) {
        return NULL;
    }
    g711_gap_init(&n->gap);
    n->up = resampler_create(G711_RATE_HZ, rate_hz);
    if (n->up == NULL) {
        free(n);
        return NULL;
    }
    return n;
}

struct voice_decoder *voice_decoder_create(enum voice_codec codec, uint32_t rate_hz)
{
    struct voice_decoder *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return NULL;
    }
    d->codec = codec;
    d->rate_hz = rate_hz;
    d->budget_us = BUDGET_US_MAX;
    if (codec == VOICE_CODEC_OPUS) {
        d->opus = opus_decoder_create((opus_int32)rate_hz, 1, NULL);
    } else {
        d->narrow = narrow_create(rate_hz);
    }
    if (d->opus == NULL && d->narrow == NULL) {
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
    if (d->narrow != NULL) {
        resampler_destroy(d->narrow->up);
        free(d->narrow);
    }
    free(d);
}

void voice_decoder_reset(struct voice_decoder *d)
{
    if (d->narrow != NULL) {
        g711_gap_init(&d->narrow->gap);
        resampler_reset(d->narrow->up);
        return;
    }
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
    const uint64_t cost_us = duration * US_PER_S / voice_codec_clock_hz(d->codec);
    if (cost_us > d->budget_us) {
        return false;
    }
    d->budget_us -= cost_us;
    return true;
}

static void assert_duration(const struct voice_decoder *d, uint32_t duration)
{
    const uint32_t clock_hz = voice_codec_clock_hz(d->codec);
    assert(duration > 0);
    assert(duration <= VOICE_PACKET_DURATION_MAX / (CLOCK_HZ_OPUS / clock_hz));
    assert(duration % (clock_hz / UNITS_PER_S_2500US) == 0);
    (void)clock_hz;
    (void)duration;
}

static int decode_opus(struct voice_decoder *d, struct bytes_view payload, bool is_fec,
                       uint32_t duration, int16_t *pcm)
{
    const int samples_max = (int)(duration * (uint64_t)d->rate_hz / CLOCK_HZ_OPUS);
    return opus_decode(d->opus, payload.data, (opus_int32)payload.len, pcm, samples_max, is_fec);
}

static int decode_g711(struct voice_decoder *d, struct bytes_view payload, uint32_t duration,
                       int16_t *pcm)
{
    struct narrow *n = d->narrow;
    const bool is_pcmu = d->codec == VOICE_CODEC_PCMU;
    for (size_t i = 0; i < payload.len; i++) {
        n->pcm[i] = is_pcmu ? g711_decode_pcmu(payload.data[i]) : g711_decode_pcma(payload.data[i]);
    }
    if (payload.len > 0) {
        g711_gap_hear(&n->gap, n->pcm, duration);
    } else {
        g711_gap_fill(&n->gap, n->pcm, duration);
    }
    return (int)resampler_run(n->up, n->pcm, duration, pcm);
}

/* An empty payload asks for concealment. */
static enum voice_decoder_result decode(struct voice_decoder *d, struct bytes_view payload,
                                        bool is_fec, uint32_t duration, int16_t *pcm,
                                        size_t *out_samples, uint64_t now_us)
{
    *out_samples = 0;
    if (!spend(d, duration, now_us)) {
        return VOICE_DECODER_OVER_BUDGET;
    }
    const int samples = d->codec == VOICE_CODEC_OPUS
                            ? decode_opus(d, payload, is_fec, duration, pcm)
                            : decode_g711(d, payload, duration, pcm);
    if (samples <= 0) {
        return VOICE_DECODER_MALFORMED;
    }
    *out_samples = (size_t)samples;
    return VOICE_DECODER_OK;
}

enum voice_decoder_result voice_decoder_decode(struct voice_decoder *d, struct bytes_view payload,
                                               int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                               size_t *out_samples, uint64_t now_us)
{
    const uint32_t duration = voice_packet_duration(d->codec, payload);
    if (duration == 0) {
        *out_samples = 0;
        return VOICE_DECODER_MALFORMED;
    }
    return decode(d, payload, false, duration, pcm, out_samples, now_us);
}

enum voice_decoder_result voice_decoder_decode_fec(struct voice_decoder *d, struct bytes_view next,
                                                   uint32_t duration,
                                                   int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                   size_t *out_samples, uint64_t now_us)
{
    assert_duration(d, duration);
    if (voice_packet_duration(d->codec, next) == 0) {
        *out_samples = 0;
        return VOICE_DECODER_MALFORMED;
    }
    const bool is_opus = d->codec == VOICE_CODEC_OPUS; /* no other carries a copy */
    return decode(d, is_opus ? next : (struct bytes_view){0}, is_opus, duration, pcm, out_samples,
                  now_us);
}

enum voice_decoder_result voice_decoder_conceal(struct voice_decoder *d, uint32_t duration,
                                                int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                size_t *out_samples, uint64_t now_us)
{
    assert_duration(d, duration);
    return decode(d, (struct bytes_view){0}, false, duration, pcm, out_samples, now_us);
}
