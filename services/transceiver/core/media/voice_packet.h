/*
 * voice_packet.h - what a payload says about itself, without decoding it (Opus: RFC 6716 s.3)
 *
 * Takes:   a stranger's payload.
 * Units:   durations at voice_codec_clock_hz: 48 kHz with Opus.
 * Not here: samples (voice_decoder.h).
 */
#ifndef EARSHOT_VOICE_PACKET_H
#define EARSHOT_VOICE_PACKET_H

#include "common/base/bytes.h"
#include "services/transceiver/core/voice_codec.h"

#define VOICE_PACKET_BYTES_MAX    1275 /* RFC 6716 s.3.2.1; we accept one frame's worth a packet */
#define VOICE_PACKET_DURATION_MAX 5760 /* 120 ms of Opus */

/* How much audio it holds: 2.5 ms .. 120 ms. 0 when it is empty, too long or malformed: such a
 * payload fills its place in the sequence and never reaches the decoder. */
uint32_t voice_packet_duration(enum voice_codec codec, struct bytes_view payload);

/* The encoder's own ear, where the packet tells of it: mono SILK or hybrid (RFC 6716 s.4.2.3). */
enum voice_packet_voice {
    VOICE_PACKET_VOICE_UNKNOWN,
    VOICE_PACKET_VOICE_NONE,
    VOICE_PACKET_VOICE_HEARD /* in one frame of 20 ms at least */
};

enum voice_packet_voice voice_packet_voice(struct bytes_view opus);
/* The packet carries the frame before it once more, coarser (RFC 6716 s.4.2.4). */
bool voice_packet_has_fec(struct bytes_view opus);

#endif
