/*
 * audio_frames.h - samples in frames, as they come from a transceiver and as they go there
 *
 * Owns:    how far the user was heard: what a transceiver repeats after a loss is heard once.
 */
#ifndef EARSHOT_AUDIO_FRAMES_H
#define EARSHOT_AUDIO_FRAMES_H

#include "services/inference-stub/dialogue.h"

struct audio_frames {
    uint8_t rate_khz;        /* of both directions */
    uint64_t heard_until_us; /* session time */
};

enum audio_frames_result {
    AUDIO_FRAMES_OK,
    AUDIO_FRAMES_CODEC, /* not the format that was accepted; nothing was heard */
    AUDIO_FRAMES_BROKEN /* half a sample */
};

/* An AUDIO_IN for the dialogue. */
enum audio_frames_result audio_frames_input(struct audio_frames *a,
                                            const struct backend_frame *frame, struct dialogue *d,
                                            uint64_t now_us);
/* An AUDIO_OUT; its payload is written to `payload`, 2 bytes a sample. */
void audio_frames_write(const struct audio_frames *a, const struct dialogue_audio *audio,
                        uint8_t *payload, size_t cap, struct backend_frame *out);

#endif
