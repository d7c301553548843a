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

/* One operation: a byte 0..3 says which, then its arguments. False at the end of the input. */
static bool operate(struct voice_decoder *d, struct byte_reader *r, int16_t *pcm, uint64_t now_us)
{
    const uint8_t operation = byte_reader_u8(r) % 4;
    const uint16_t argument = byte_reader_u16(r);
    size_t samples = 0;
    if (r->failed) {
        return false;
    }
    if (operation == 0) {
        voice_decoder_reset(d);
        return true;
    }
    enum voice_decoder_result result = VOICE_DECODER_OK;
    if (operation == 1) {
        const uint32_t duration = (argument % (VOICE_PACKET_DURATION_MAX / 120) + 1u) * 120;
        result = voice_decoder_conceal(d, duration, pcm, &samples, now_us);
    } else {
        const size_t left = byte_reader_left(r);
        const struct bytes_view payload = byte_reader_bytes(r, argument < left ? argument : left);
        const uint32_t duration = voice_packet_duration(VOICE_CODEC_OPUS, payload);
        check(duration <= VOICE_PACKET_DURATION_MAX && duration % 120 == 0);
        result = voice_decoder_decode(d, payload, pcm, &samples, now_us);
        check(duration > 0 || result == VOICE_DECODER_MALFORMED);
    }
    check(samples <= VOICE_DECODER_SAMPLES_MAX);
    check((result == VOICE_DECODER_OK) == (samples > 0));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t rate_hz[] = {16000, 24000};
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    struct voice_decoder *d =
        voice_decoder_create(VOICE_CODEC_OPUS, rate_hz[byte_reader_u8(&r) % 2]);
    int16_t *pcm = malloc(VOICE_DECODER_SAMPLES_MAX * sizeof(*pcm));
    check(d != NULL && pcm != NULL);
    uint64_t now_us = 0;
    for (int i = 0; i < OPERATIONS_MAX && operate(d, &r, pcm, now_us); i++) {
        now_us += 20 * US_PER_MS;
    }
    free(pcm);
    voice_decoder_destroy(d);
    return 0;
}
