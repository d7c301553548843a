/*
 * voice_encoder.h - PCM of the model to packets of the client's codec, 20 ms at a time
 *
 * Takes:   frames of rate_hz / 50 mono 16-bit samples.
 * Gives:   one packet a frame, 1..VOICE_PACKET_BYTES_MAX bytes. Opus: VBR, tuned for speech, 32
 *          kb/s and complexity 5 unless told otherwise. G.711: 160 bytes, with nothing to tune.
 * Owns:    the encoder's state, of Opus some 44 KB; no heap after create.
 * Units:   look-ahead: what was put in last still sounds in the next packet, 6.5 ms of it in Opus,
 *          some 5 ms in G.711 (none at 8 kHz).
 * Not here: when to send (session/), silence (voice_silence.h), the words of a packet
 *          (voice_packet.h).
 */
#ifndef EARSHOT_VOICE_ENCODER_H
#define EARSHOT_VOICE_ENCODER_H

#include "services/transceiver/core/media/voice_packet.h"

struct voice_encoder;

/* rate_hz: 8000, 16000, 24000 or 48000. NULL without memory. */
struct voice_encoder *voice_encoder_create(enum voice_codec codec, uint32_t rate_hz);
void voice_encoder_destroy(struct voice_encoder *e);

/* bitrate_bps: 6000..128000. complexity: 0..10, quality against CPU. */
void voice_encoder_tune(struct voice_encoder *e, uint32_t bitrate_bps, unsigned complexity);
/* percent: 0..100 of our packets that the client does not get. In-band FEC costs bits by it; with
 * 0, as it begins, there is none. */
void voice_encoder_set_loss(struct voice_encoder *e, unsigned percent);
/* Off: the packets from here on carry nothing of the frames before them. On, as it begins: they do
 * when loss is expected. */
void voice_encoder_set_fec(struct voice_encoder *e, bool is_on);

/* Forget the past: the slot before sent the silence packet, not a frame of this encoder. */
void voice_encoder_reset(struct voice_encoder *e);

/* Length written, never 0: a frame of ours can not fail. */
size_t voice_encoder_encode(struct voice_encoder *e, const int16_t *frame,
                            uint8_t out[VOICE_PACKET_BYTES_MAX]);

#endif
