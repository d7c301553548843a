/* speech_coder.c - see speech_coder.h */
#include "services/transceiver/core/session/speech_coder.h"

#include <stdlib.h>

#define BITRATE_BPS  32000
#define COMPLEXITY   5
#define FRAMES_PER_S 50

struct speech_coder {
    struct speech_coder_config config;
    struct voice_encoder *encoder;
    unsigned complexity; /* that the encoder has, as fec_percent */
    unsigned fec_percent;
    bool is_cut; /* the next packet carries nothing of those before */
    int16_t last_frame[SPEECH_CODER_FRAME_SAMPLES_MAX];
};

static unsigned wanted_complexity(const struct speech_coder *c)
{
    return c->config.effort != NULL ? c->config.effort->complexity : COMPLEXITY;
}

static void tune(struct speech_coder *c, unsigned fec_percent)
{
    c->complexity = wanted_complexity(c);
    c->fec_percent = fec_percent;
    voice_encoder_tune(c->encoder, c->config.bitrate_bps, c->complexity);
    voice_encoder_set_loss(c->encoder, c->fec_percent);
}

struct speech_coder *speech_coder_create(const struct speech_coder_config *config)
{
    struct speech_coder *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->config = *config;
    if (c->config.bitrate_bps == 0) {
        c->config.bitrate_bps = BITRATE_BPS;
    }
    c->encoder = voice_encoder_create(config->codec, config->rate_hz);
    if (c->encoder == NULL) {
        speech_coder_destroy(c);
        return NULL;
    }
    tune(c, 0);
    return c;
}

void speech_coder_destroy(struct speech_coder *c)
{
    if (c == NULL) {
        return;
    }
    voice_encoder_destroy(c->encoder);
    free(c);
}

/* libopus writes the copy of a frame into the packet behind it although FEC is off by then (70 of
 * 90 packets had one). So the encoder forgets everything, and is told the frame before once more,
 * without FEC: what it then says of the next one fits to what the client heard. */
static void forget_copies(struct speech_coder *c)
{
    uint8_t unsent[VOICE_PACKET_BYTES_MAX];
    if (c->fec_percent > 0) {
        voice_encoder_reset(c->encoder);
        voice_encoder_set_fec(c->encoder, false);
        (void)voice_encoder_encode(c->encoder, c->last_frame, unsent);
        voice_encoder_set_fec(c->encoder, true);
    }
}

size_t speech_coder_encode(struct speech_coder *c, const int16_t *frame, bool is_first,
                           const struct loss_response *response,
                           uint8_t out[VOICE_PACKET_BYTES_MAX])
{
    const unsigned fec_percent = loss_response_fec_percent(response);
    if (is_first) {
        voice_encoder_reset(c->encoder);
    } else if (c->is_cut) {
        forget_copies(c);
    }
    c->is_cut = false;
    if (wanted_complexity(c) != c->complexity || fec_percent != c->fec_percent) {
        tune(c, fec_percent);
    }
    memcpy(c->last_frame, frame, c->config.rate_hz / FRAMES_PER_S * sizeof(*frame));
    return voice_encoder_encode(c->encoder, frame, out);
}

void speech_coder_cut(struct speech_coder *c)
{
    c->is_cut = true;
}
