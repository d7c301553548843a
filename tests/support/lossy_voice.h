/*
 * lossy_voice.h - a recording, coded as a browser does, and what is heard of it over a bad network
 *
 * Takes:   speech at 48 kHz.
 * Gives:   what the real reorder buffer and decoder make of its packets at 16 kHz, in virtual time;
 *          each sample at the place that its timestamp says.
 * Owns:    the packets.
 */
#ifndef EARSHOT_LOSSY_VOICE_H
#define EARSHOT_LOSSY_VOICE_H

#include "common/base/random.h"
#include "services/transceiver/core/media/voice_packet.h"

#define LOSSY_VOICE_IN_HZ         48000
#define LOSSY_VOICE_OUT_HZ        16000
#define LOSSY_VOICE_FRAME_IN      960 /* 20 ms: a sample in is a unit of the timestamp */
#define LOSSY_VOICE_FRAME_SAMPLES 320

enum lossy_voice_repair {
    LOSSY_VOICE_CONCEALED,
    LOSSY_VOICE_FEC,
    LOSSY_VOICE_RED, /* one redundant block */
    LOSSY_VOICE_RED_AND_FEC
};

struct lossy_voice;

/* The whole frames of the speech: 32 kb/s, complexity 9, FEC for the loss that the encoder is told
 * of. NULL without memory. */
struct lossy_voice *lossy_voice_create(const int16_t *speech, size_t samples,
                                       unsigned loss_percent_told);
void lossy_voice_destroy(struct lossy_voice *v);
size_t lossy_voice_frames(const struct lossy_voice *v);

/* share of `frames` packets that are lost, to a twentieth, and never the first; in bursts of that
 * mean length (Gilbert), or each for itself with burst 1. */
void lossy_voice_lose(double share, double burst, struct random_generator *g, size_t frames,
                      bool *is_lost);

/* is_lost: of each frame. heard: frames * LOSSY_VOICE_FRAME_SAMPLES. Asserts that every slot is
 * decoded to its whole length. */
void lossy_voice_hear(const struct lossy_voice *v, const bool *is_lost,
                      enum lossy_voice_repair repair, int16_t *heard);

#endif
