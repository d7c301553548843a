/*
 * speech_coder.h - frames of speech to payloads, with as much FEC as the client's loss asks
 *
 * Takes:   one frame after another, and what the client's reports ask for (loss_response.h).
 * Gives:   the payload of the codec.
 * Rule:    the encoder begins anew after silence, and only then: in running speech that clicks,
 *          after silence its first frame is better (13 dB SNR against 3).
 * Owns:    the encoder's state, some 44 KB with Opus, and the last frame; no heap after create.
 * Not here: when to speak (voice_sender.h), RED (core/rtp/red_copy.h).
 */
#ifndef EARSHOT_SPEECH_CODER_H
#define EARSHOT_SPEECH_CODER_H

#include "services/transceiver/core/media/encoder_effort.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/rtp/loss_response.h"

#define SPEECH_CODER_FRAME_SAMPLES_MAX 960 /* 20 ms at 48 kHz */

struct speech_coder_config {
    enum voice_codec codec;
    uint32_t rate_hz;                    /* of the frames */
    uint32_t bitrate_bps;                /* of Opus; 0 = as voice_encoder.h has it */
    const struct encoder_effort *effort; /* borrowed; NULL: likewise */
};

struct speech_coder;

struct speech_coder *speech_coder_create(const struct speech_coder_config *config);
void speech_coder_destroy(struct speech_coder *c);

/* A frame of rate_hz / 50 samples. is_first: the slot before was silent. Length written, not 0. */
size_t speech_coder_encode(struct speech_coder *c, const int16_t *frame, bool is_first,
                           const struct loss_response *response,
                           uint8_t out[VOICE_PACKET_BYTES_MAX]);
/* What was encoded so far was taken back: no copy of it leaves any more. */
void speech_coder_cut(struct speech_coder *c);

#endif
