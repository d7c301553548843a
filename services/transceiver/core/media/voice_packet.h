/*
 * voice_packet.h - what an Opus payload says about itself, without decoding it (RFC 6716 s.3)
 *
 * Takes:   a stranger's payload.
 * Units:   duration in RTP timestamp units, 48 kHz.
 * Not here: samples (voice_decoder.h).
 */
#ifndef EARSHOT_VOICE_PACKET_H
#define EARSHOT_VOICE_PACKET_H

#include "common/base/bytes.h"

#define VOICE_PACKET_BYTES_MAX    1275 /* RFC 6716 s.3.2.1; we accept one frame's worth a packet */
#define VOICE_PACKET_DURATION_MAX 5760 /* 120 ms */

/* How much audio it holds: 120 (2.5 ms) .. 5,760. 0 when it is empty, too long or malformed: such a
 * payload fills its place in the sequence and never reaches the decoder. */
uint32_t voice_packet_duration(struct bytes_view payload);

#endif
