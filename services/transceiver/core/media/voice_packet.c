/* voice_packet.c - see voice_packet.h */
#include "services/transceiver/core/media/voice_packet.h"

#include <opus.h>

/* RFC 6716 s.3.2.5: 120 ms of 2.5 ms frames. */
#define FRAMES_MAX 48

uint32_t voice_packet_duration(struct bytes_view payload)
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
