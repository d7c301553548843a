/* voice_packet.c - see voice_packet.h */
#include "services/transceiver/core/media/voice_packet.h"

#include <opus.h>

/* RFC 6716 s.3.2.5: 120 ms of 2.5 ms frames. */
#define FRAMES_MAX 48

/* G.711 is a byte a sample; the shortest packet we take, and the step, is 2.5 ms. */
#define G711_UNITS_2500US 20
#define G711_DURATION_MAX 960

static uint32_t opus_duration(struct bytes_view payload)
{
    if (payload.len == 0 || payload.len > VOICE_PACKET_BYTES_MAX) {
        return 0;
    }
    const unsigned char *frame[FRAMES_MAX];
    opus_int16 frame_bytes[FRAMES_MAX];
    const int frames =
        opus_packet_parse(payload.data, (opus_int32)payload.len, NULL, frame, frame_bytes, NULL);
    if (frames <= 0) {
        return 0;
    }
    return (uint32_t)(frames * opus_packet_get_samples_per_frame(payload.data, 48000));
}

uint32_t voice_packet_duration(enum voice_codec codec, struct bytes_view payload)
{
    if (codec == VOICE_CODEC_OPUS) {
        return opus_duration(payload);
    }
    const bool is_whole = payload.len % G711_UNITS_2500US == 0;
    return is_whole && payload.len <= G711_DURATION_MAX ? (uint32_t)payload.len : 0;
}

/* The bits at the front of a mono SILK layer (RFC 6716 s.4.2.3): a voice bit for each 20 ms of the
 * first Opus frame, then the one of FEC. They are range coded, but at even odds, and so they stand
 * in the first byte as they are. False where the packet has no such layer. */
struct silk_bits {
    uint8_t voice; /* any of them */
    uint8_t fec;
};

static bool peek_silk(struct bytes_view opus, struct silk_bits *out)
{
    const bool is_celt = opus.len == 0 || (opus.data[0] & 0x80) != 0;
    if (is_celt || opus_duration(opus) == 0 || opus_packet_get_nb_channels(opus.data) != 1) {
        return false;
    }
    const unsigned char *frame[FRAMES_MAX];
    opus_int16 frame_bytes[FRAMES_MAX];
    (void)opus_packet_parse(opus.data, (opus_int32)opus.len, NULL, frame, frame_bytes, NULL);
    if (frame_bytes[0] == 0) {
        return false;
    }
    const int samples = opus_packet_get_samples_per_frame(opus.data, 48000);
    const int voice_bits = samples > 960 ? samples / 960 : 1;
    const uint8_t bits = frame[0][0];
    *out = (struct silk_bits){
        .voice = (uint8_t)(bits >> (8 - voice_bits)),
        .fec = (uint8_t)(bits >> (7 - voice_bits) & 1),
    };
    return true;
}

enum voice_packet_voice voice_packet_voice(struct bytes_view opus)
{
    struct silk_bits bits;
    if (!peek_silk(opus, &bits)) {
        return VOICE_PACKET_VOICE_UNKNOWN;
    }
    return bits.voice != 0 ? VOICE_PACKET_VOICE_HEARD : VOICE_PACKET_VOICE_NONE;
}

bool voice_packet_has_fec(struct bytes_view opus)
{
    struct silk_bits bits;
    return peek_silk(opus, &bits) && bits.fec != 0;
}
