/* voice_encoder.c - see voice_encoder.h */
#include "services/transceiver/core/media/voice_encoder.h"

#include <assert.h>
#include <opus.h>
#include <stdlib.h>

#define FRAMES_PER_S 50
#define BITRATE      32000
#define COMPLEXITY   5

struct voice_encoder {
    OpusEncoder *opus;
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
    assert(codec == VOICE_CODEC_OPUS);
    (void)codec;
    e->frame_samples = (int)rate_hz / FRAMES_PER_S;
    e->opus = opus_encoder_create((opus_int32)rate_hz, 1, OPUS_APPLICATION_VOIP, NULL);
    if (e->opus == NULL || !configure(e->opus)) {
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
    free(e);
}

/* No setting of ours is out of range. */
static void must(int opus_error)
{
    assert(opus_error == OPUS_OK);
    (void)opus_error;
}

void voice_encoder_tune(struct voice_encoder *e, uint32_t bitrate_bps, unsigned complexity)
{
    must(opus_encoder_ctl(e->opus, OPUS_SET_BITRATE((opus_int32)bitrate_bps)));
    must(opus_encoder_ctl(e->opus, OPUS_SET_COMPLEXITY((opus_int32)complexity)));
}

void voice_encoder_set_loss(struct voice_encoder *e, unsigned percent)
{
    must(opus_encoder_ctl(e->opus, OPUS_SET_PACKET_LOSS_PERC((opus_int32)percent)));
}

void voice_encoder_set_fec(struct voice_encoder *e, bool is_on)
{
    must(opus_encoder_ctl(e->opus, OPUS_SET_INBAND_FEC(is_on ? 1 : 0)));
}

void voice_encoder_reset(struct voice_encoder *e)
{
    must(opus_encoder_ctl(e->opus, OPUS_RESET_STATE));
}

size_t voice_encoder_encode(struct voice_encoder *e, const int16_t *frame,
                            uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    const opus_int32 len =
        opus_encode(e->opus, frame, e->frame_samples, out, VOICE_PACKET_BYTES_MAX);
    assert(len > 0);
    return (size_t)len;
}
