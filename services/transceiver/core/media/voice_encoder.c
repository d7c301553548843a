/* voice_encoder.c - see voice_encoder.h */
#include "services/transceiver/core/media/voice_encoder.h"

#include <assert.h>
#include <opus.h>
#include <stdlib.h>

#define FRAMES_PER_S      50
#define BITRATE           32000
#define COMPLEXITY        5
#define FRAME_SAMPLES_MAX 960

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

struct voice_encoder *voice_encoder_create(uint32_t rate_hz)
{
    struct voice_encoder *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
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

void voice_encoder_tune(struct voice_encoder *e, uint32_t bitrate_bps, unsigned complexity)
{
    const int bitrate_error = opus_encoder_ctl(e->opus, OPUS_SET_BITRATE((opus_int32)bitrate_bps));
    const int complexity_error =
        opus_encoder_ctl(e->opus, OPUS_SET_COMPLEXITY((opus_int32)complexity));
    assert(bitrate_error == OPUS_OK);
    assert(complexity_error == OPUS_OK);
    (void)bitrate_error;
    (void)complexity_error;
}

void voice_encoder_reset(struct voice_encoder *e)
{
    const int error = opus_encoder_ctl(e->opus, OPUS_RESET_STATE);
    assert(error == OPUS_OK);
    (void)error;
}

size_t voice_encoder_encode(struct voice_encoder *e, const int16_t *frame,
                            uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    const opus_int32 len =
        opus_encode(e->opus, frame, e->frame_samples, out, VOICE_PACKET_BYTES_MAX);
    assert(len > 0);
    return (size_t)len;
}

bool voice_encoder_make_silence(uint32_t rate_hz, struct voice_silence *out)
{
    struct voice_encoder *e = voice_encoder_create(rate_hz);
    if (e == NULL) {
        return false;
    }
    const int16_t zeros[FRAME_SAMPLES_MAX] = {0};
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    out->len = voice_encoder_encode(e, zeros, packet);
    voice_encoder_destroy(e);
    assert(out->len <= sizeof(out->data));
    memcpy(out->data, packet, out->len);
    return true;
}
