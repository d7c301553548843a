/* voice_encoder.c - see voice_encoder.h */
#include "services/transceiver/core/media/voice_encoder.h"

#include "services/transceiver/core/media/g711.h"
#include "services/transceiver/core/media/resampler.h"

#include <assert.h>
#include <opus.h>
#include <stdlib.h>

#define FRAMES_PER_S 50
#define BITRATE      32000
#define COMPLEXITY   5

#define G711_RATE_HZ       8000
#define G711_FRAME_SAMPLES (G711_RATE_HZ / FRAMES_PER_S)

struct voice_encoder {
    enum voice_codec codec;
    OpusEncoder *opus;      /* one of these two */
    struct resampler *down; /* to the rate of G.711 */
    int frame_samples;
};

static bool configure(OpusEncoder *opus)
{
    return opus_encoder_ctl(opus, OPUS_SET_SIGNAL(OPUS_SIGNAL_VOICE)) == OPUS_OK &&
           opus_encoder_ctl(opus, OPUS_SET_BITRATE(BITRATE)) == OPUS_OK &&
           opus_encoder_ctl(opus, OPUS_SET_VBR(1)) == OPUS_OK &&
           opus_encoder_ctl(opus, OPUS_SET_INBAND_FEC(1)) == OPUS_OK &&
           opus_encoder_ctl(opus, OPUS_SET_COMPLEXITY(COMPLEXITY)) == OPUS_OK;
}

struct voice_encoder *voice_encoder_create(enum voice_codec codec, uint32_t rate_hz)
{
    struct voice_encoder *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    e->codec = codec;
    e->frame_samples = (int)rate_hz / FRAMES_PER_S;
    if (codec == VOICE_CODEC_OPUS) {
        e->opus = opus_encoder_create((opus_int32)rate_hz, 1, OPUS_APPLICATION_VOIP, NULL);
    } else {
        e->down = resampler_create(rate_hz, G711_RATE_HZ);
    }
    if (e->down == NULL && (e->opus == NULL || !configure(e->opus))) {
        voice_encoder_destroy(e);
        return NULL;
    }
    return e;
}

void voice_encoder_destroy(struct voice_encoder *e)
{
    if (e == NULL) {
        return;
    }
    if (e->opus != NULL) {
        opus_encoder_destroy(e->opus);
    }
    resampler_destroy(e->down);
    free(e);
}

/* No value of ours is out of range; and G.711 has nothing to set. */
static void set(struct voice_encoder *e, int request, opus_int32 value)
{
    const int error = e->opus == NULL ? OPUS_OK : opus_encoder_ctl(e->opus, request, value);
    assert(error == OPUS_OK);
    (void)error;
}

void voice_encoder_tune(struct voice_encoder *e, uint32_t bitrate_bps, unsigned complexity)
{
    set(e, OPUS_SET_BITRATE_REQUEST, (opus_int32)bitrate_bps);
    set(e, OPUS_SET_COMPLEXITY_REQUEST, (opus_int32)complexity);
}

void voice_encoder_set_loss(struct voice_encoder *e, unsigned percent)
{
    set(e, OPUS_SET_PACKET_LOSS_PERC_REQUEST, (opus_int32)percent);
}

void voice_encoder_set_fec(struct voice_encoder *e, bool is_on)
{
    set(e, OPUS_SET_INBAND_FEC_REQUEST, is_on ? 1 : 0);
}

void voice_encoder_reset(struct voice_encoder *e)
{
    if (e->down != NULL) {
        resampler_reset(e->down);
        return;
    }
    const int error = opus_encoder_ctl(e->opus, OPUS_RESET_STATE);
    assert(error == OPUS_OK);
    (void)error;
}

static size_t encode_g711(struct voice_encoder *e, const int16_t *frame, uint8_t *out)
{
    int16_t pcm[G711_FRAME_SAMPLES];
    const size_t samples = resampler_run(e->down, frame, (size_t)e->frame_samples, pcm);
    for (size_t i = 0; i < samples; i++) {
        out[i] = e->codec == VOICE_CODEC_PCMU ? g711_encode_pcmu(pcm[i]) : g711_encode_pcma(pcm[i]);
    }
    return samples;
}

size_t voice_encoder_encode(struct voice_encoder *e, const int16_t *frame,
                            uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    if (e->down != NULL) {
        return encode_g711(e, frame, out);
    }
    const opus_int32 len =
        opus_encode(e->opus, frame, e->frame_samples, out, VOICE_PACKET_BYTES_MAX);
    assert(len > 0);
    return (size_t)len;
}
