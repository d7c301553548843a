/*
 * voice_silence.h - packets of 20 ms of silence that may be sent again and again
 *
 * Owns:    nothing: made once per process, since making them costs an encoder for each rate, and
 *          read by all sessions.
 * Not here: when silence is sent (session/), what ends an utterance in the encoder.
 */
#ifndef EARSHOT_VOICE_SILENCE_H
#define EARSHOT_VOICE_SILENCE_H

#include "common/base/bytes.h"
#include "services/transceiver/core/voice_codec.h"

#define VOICE_SILENCE_RATES     4
#define VOICE_SILENCE_BYTES_MAX 160 /* G.711; Opus takes a few */

struct voice_silences {
    struct {
        uint8_t data[VOICE_SILENCE_BYTES_MAX];
        size_t len;
    } packet[VOICE_CODEC_COUNT][VOICE_SILENCE_RATES];
};

/* False without memory. */
MUST_USE bool voice_silences_make(struct voice_silences *out);
/* rate_hz: of the encoder that speaks before and after, as it takes. Borrowed. */
struct bytes_view voice_silences_find(const struct voice_silences *s, enum voice_codec codec,
                                      uint32_t rate_hz);

#endif
