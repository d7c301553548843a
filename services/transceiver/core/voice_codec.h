/*
 * voice_codec.h - the codecs that a client may speak, and the clock of each
 *
 * Units:   RTP timestamps and every duration of a packet count at voice_codec_clock_hz.
 * Source:  RFC 7874 s.3: what a WebRTC endpoint must support; RFC 7587 and RFC 3551 the clocks.
 */
#ifndef EARSHOT_VOICE_CODEC_H
#define EARSHOT_VOICE_CODEC_H

#include <stdint.h>

enum voice_codec { VOICE_CODEC_OPUS, VOICE_CODEC_PCMU, VOICE_CODEC_PCMA, VOICE_CODEC_COUNT };

/* RFC 7587 s.4.1: 48 kHz whatever Opus codes; RFC 3551 s.4.5.14: G.711 its 8 kHz. */
static inline uint32_t voice_codec_clock_hz(enum voice_codec codec)
{
    return codec == VOICE_CODEC_OPUS ? 48000 : 8000;
}

#endif
