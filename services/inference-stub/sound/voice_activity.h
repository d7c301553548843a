/*
 * voice_activity.h - does somebody speak?
 *
 * Takes:   steps of 10 ms, 16-bit mono.
 * Rule:    energy against a floor that follows the room. Speech starts when 3 of 4 steps are 12 dB
 *          above the floor, and stops after VOICE_STOP_MS below. The floor falls at once and rises
 *          slowly, so speech does not lift it, and a fan that was switched on is forgotten after
 *          some seconds.
 * Not here: turns (turn_recorder.h).
 */
#ifndef EARSHOT_VOICE_ACTIVITY_H
#define EARSHOT_VOICE_ACTIVITY_H

#include "services/inference-stub/sound/pcm.h"

#include <stdbool.h>

#define VOICE_STEP_MS 10
#define VOICE_STOP_MS 500

struct voice_activity {
    double floor_dbov;
    unsigned recent; /* the last 4 steps, one bit each */
    bool is_speaking;
    size_t quiet_ms;  /* since the last loud step */
    size_t speech_ms; /* loud steps since speech started */
};

enum voice_change { VOICE_UNCHANGED, VOICE_STARTED, VOICE_STOPPED };

void voice_activity_init(struct voice_activity *v);
enum voice_change voice_activity_step(struct voice_activity *v, struct pcm_view step);
/* Whoever spoke has stopped, as far as the caller knows. */
void voice_activity_stop(struct voice_activity *v);

#endif
