/*
 * audio_frames.h - samples in frames, as they come from a transceiver and as they go there
 *
 * Owns:    how far the user was heard: what a transceiver repeats after a loss is heard once.
 */
#ifndef EARSHOT_AUDIO_FRAMES_H
#define EARSHOT_AUDIO_FRAMES_H

#include "common/backend_link/backend_frame.h"
#include "services/inference-stub/sound/utterance_audio.h"

struct audio_frames {
    uint8_t rate_khz;        /* of both directions */
    uint64_t heard_until_us; /* session time */
};

enum audio_frames_result {
    AUDIO_FRAMES_OK,
    AUDIO_FRAMES_CODEC, /* not the format that was accepted; nothing was heard */
    AUDIO_FRAMES_BROKEN /* half a sample */
};

/* What is left to be heard of an AUDIO_IN. */
struct audio_frames_input {
    unsigned flags; /* enum backend_audio_in_flag */
    unsigned silent_steps;
    size_t silent_samples; /* a step */
    struct byte_reader samples;
    int16_t piece[PCM_RATE_HZ_MAX / 50];
};

/* The frame stays until the last piece was taken. */
enum audio_frames_result audio_frames_open(struct audio_frames *a,
                                           const struct backend_frame *frame,
                                           struct audio_frames_input *out);
/* The next piece, borrowed until the next call. A discontinuity is told with the first one. */
bool audio_frames_next(struct audio_frames_input *input, struct pcm_view *out, unsigned *flags);
/* An AUDIO_OUT; its payload is written to `payload`, 2 bytes a sample. */
void audio_frames_write(const struct audio_frames *a, const struct utterance_audio *audio,
                        uint8_t *payload, size_t cap, struct backend_frame *out);

#endif
