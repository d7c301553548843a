/*
 * step_cutter.h - audio that comes in pieces of any length, cut into steps of 10 ms
 *
 * Owns:    what is left of the last piece, less than a step.
 */
#ifndef EARSHOT_STEP_CUTTER_H
#define EARSHOT_STEP_CUTTER_H

#include "services/inference-stub/sound/pcm.h"
#include "services/inference-stub/sound/voice_activity.h"

struct step_cutter {
    size_t step_samples;
    size_t fill;
    int16_t step[PCM_RATE_HZ_MAX / 1000 * VOICE_STEP_MS];
};

void step_cutter_init(struct step_cutter *c, uint32_t rate_hz);
/* The next whole step, borrowed until the next call; what was used of *pcm is cut off its front.
 * False: all of it is used and no step is whole. */
bool step_cutter_take(struct step_cutter *c, struct pcm_view *pcm, struct pcm_view *step);

#endif
