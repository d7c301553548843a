/*
 * sim_speech.h - the speech of a simulated agent: what it is tells whose it is
 *
 * PCM:   a tone for each utterance, of eight that can be told apart.
 * Opus:  packets of 20 ms that no codec made: the utterance and its position stand in them.
 */
#ifndef EARSHOT_SIM_SPEECH_H
#define EARSHOT_SIM_SPEECH_H

#include "common/backend_link/backend_payload.h"

#define SIM_SPEECH_OPUS_US   UINT64_C(20000)
#define SIM_SPEECH_BYTES_MAX 48000 /* 0.5 s of PCM16 at 48 kHz */
#define SIM_SPEECH_TONES     8

unsigned sim_speech_tone_hz(uint32_t utterance);
/* Bytes of `us` of that utterance from `from_us`; out: SIM_SPEECH_BYTES_MAX. Opus: one packet. */
size_t sim_speech_write(struct backend_format format, uint32_t utterance, uint64_t from_us,
                        uint64_t us, uint8_t *out);
/* The utterance of such an Opus packet; 0: it is none. */
uint32_t sim_speech_utterance(struct bytes_view opus);
/* Where in it the packet begins. */
uint64_t sim_speech_position_us(struct bytes_view opus);

#endif
