/* voice_decoder_fuzz.c - payloads, losses and resets in any order stay within the room */
#include "services/transceiver/core/media/voice_decoder.h"

#include <stdlib.h>

#define OPERATIONS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct target {
    enum voice_codec codec;
    struct voice_decoder *decoder;
    int16_t *pcm;
};

/* A payload to decode, or to take the copy of the packet before out of. */
static enum voice_decoder_result decode(struct target *t, struct bytes_view payload, uint32_t lost,
                                        size_t *samples, uint64_t now_us)
{
    const uint32_t duration = voice_packet_duration(t->codec, payload);
    check(duration <= VOICE_PACKET_DURATION_MAX);
    check(duration % (voice_codec_clock_hz(t->codec) / 400) == 0);
    (void)voice_packet_voice(payload);
    (void)voice_packet_has_fec(payload);
    const enum voice_decoder_result result =
        lost == 0 ? voice_decoder_decode(t->decoder, payload, t->pcm, samples, now_us)
                  : voice_decoder_decode_fec(t->decoder, payload, lost, t->pcm, samples, now_us);
    check(duration > 0 || result == VOICE_DECODER_MALFORMED);
    return result;
}

/* One operation: a byte 0..3 says which, then its arguments. False at the end of the input. */
static bool operate(struct target *t, struct byte_reader *r, uint64_t now_us)
{
    const uint8_t operation = byte_reader_u8(r) % 4;
    const uint16_t argument = byte_reader_u16(r);
    size_t samples = 0;
    if (r->failed) {
        return false;
    }
    if (operation == 0) {
        voice_decoder_reset(t->decoder);
        return true;
    }
    const uint32_t lost = (argument % 48 + 1U) * (voice_codec_clock_hz(t->codec) / 400);
    enum voice_decoder_result result = VOICE_DECODER_OK;
    if (operation == 1) {
        result = voice_decoder_conceal(t->decoder, lost, t->pcm, &samples, now_us);
    } else {
        const size_t left = byte_reader_left(r);
        const struct bytes_view payload = byte_reader_bytes(r, argument < left ? argument : left);
        result = decode(t, payload, operation == 2 ? 0 : lost, &samples, now_us);
    }
    check(samples <= VOICE_DECODER_SAMPLES_MAX);
    check((result == VOICE_DECODER_OK) == (samples > 0));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t rate_hz[] = {16000, 24000, 8000, 48000};
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    const uint8_t choice = byte_reader_u8(&r);
    struct target t = {.codec = (enum voice_codec)(choice / 4 % VOICE_CODEC_COUNT)};
    t.decoder = voice_decoder_create(t.codec, rate_hz[choice % 4]);
    t.pcm = malloc(VOICE_DECODER_SAMPLES_MAX * sizeof(*t.pcm));
    check(t.decoder != NULL && t.pcm != NULL);
    uint64_t now_us = 0;
    for (int i = 0; i < OPERATIONS_MAX && operate(&t, &r, now_us); i++) {
        now_us += 20 * US_PER_MS;
    }
    free(t.pcm);
    voice_decoder_destroy(t.decoder);
    return 0;
}
