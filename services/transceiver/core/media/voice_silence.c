/* voice_silence.c - see voice_silence.h */
#include "services/transceiver/core/media/voice_silence.h"

#include "services/transceiver/core/media/voice_encoder.h"

#include <assert.h>

#define FRAME_SAMPLES_MAX 960

static const uint32_t rate_hz_of[VOICE_SILENCE_RATES] = {8000, 16000, 24000, 48000};

static bool make(struct voice_silences *out, enum voice_codec codec, size_t rate)
{
    const int16_t zeros[FRAME_SAMPLES_MAX] = {0};
    uint8_t packet[VOICE_PACKET_BYTES_MAX];
    struct voice_encoder *e = voice_encoder_create(codec, rate_hz_of[rate]);
    if (e == NULL) {
        return false;
    }
    const size_t len = voice_encoder_encode(e, zeros, packet);
    voice_encoder_destroy(e);
    assert(len <= VOICE_SILENCE_BYTES_MAX);
    memcpy(out->packet[codec][rate].data, packet, len);
    out->packet[codec][rate].len = len;
    return true;
}

bool voice_silences_make(struct voice_silences *out)
{
    *out = (struct voice_silences){0};
    for (size_t i = 0; i < (size_t)VOICE_CODEC_COUNT * VOICE_SILENCE_RATES; i++) {
        if (!make(out, (enum voice_codec)(i / VOICE_SILENCE_RATES), i % VOICE_SILENCE_RATES)) {
            return false;
        }
    }
    return true;
}

struct bytes_view voice_silences_find(const struct voice_silences *s, enum voice_codec codec,
                                      uint32_t rate_hz)
{
    size_t rate = 0;
    while (rate_hz_of[rate] != rate_hz) {
        rate++;
        assert(rate < VOICE_SILENCE_RATES);
    }
    return bytes_view_of(s->packet[codec][rate].data, s->packet[codec][rate].len);
}
