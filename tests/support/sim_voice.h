/*
 * sim_voice.h - what a simulated client says, 20 ms at a time, and what it hears
 *
 * Says:    Opus of a sine, or of a voice (tests/speech_like.h); or, cheaply, packets that were
 *          encoded once for the whole process, each of which tells its number.
 * Hears:   Opus at SIM_VOICE_RATE_HZ: how loud the last second was, and which tone is in it.
 */
#ifndef EARSHOT_SIM_VOICE_H
#define EARSHOT_SIM_VOICE_H

#include "common/base/random.h"
#include "services/transceiver/core/media/voice_packet.h"

#define SIM_VOICE_RATE_HZ 16000
/* Fixed packets come again after so many. */
#define SIM_VOICE_FIXED_PACKETS 64

enum sim_voice_kind { SIM_VOICE_TONE, SIM_VOICE_SPEECH, SIM_VOICE_FIXED };

struct sim_voice_config {
    enum sim_voice_kind kind;
    unsigned tone_hz;
    uint64_t seed;
};

struct sim_voice;

struct sim_voice *sim_voice_create(const struct sim_voice_config *config);
void sim_voice_destroy(struct sim_voice *v);

/* The packet of the next 20 ms. */
size_t sim_voice_say(struct sim_voice *v, bool is_silent, uint8_t out[VOICE_PACKET_BYTES_MAX]);
/* Fixed packet `number` of them all; borrowed for ever. */
struct bytes_view sim_voice_fixed(uint64_t number);

/* True when there is sound in it. A voice of fixed packets is deaf: never. */
bool sim_voice_hear(struct sim_voice *v, struct bytes_view payload, uint64_t now_us);
/* RMS of the last second heard, of full scale. */
double sim_voice_level(const struct sim_voice *v);
/* Power of `hz` in the last second heard, as a share of all its power: 1 = nothing else. Measured
 * in windows of 50 ms. */
double sim_voice_tone_share(const struct sim_voice *v, double hz);

#endif
