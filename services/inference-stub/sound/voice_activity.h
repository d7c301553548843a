/*
 * voice_activity.h - does somebody speak?
 *
 * Takes:   steps of 10 ms, 16-bit mono.
 * Rule:    energy against a floor that follows the room. Speech starts when 3 of 4 steps are
 *          onset_db above the floor, and stops after stop_ms below. The floor falls at once and
 *          rises slowly, so speech does not lift it, and a fan that was switched on is forgotten
 *          after some seconds.
 * Not here: turns (turn_recorder.h).
 */
#ifndef EARSHOT_VOICE_ACTIVITY_H
#define EARSHOT_VOICE_ACTIVITY_H

#include "services/inference-stub/sound/pcm.h"

#include <stdbool.h>

#define VOICE_STEP_MS  10
#define VOICE_STOP_MS  500
#define VOICE_ONSET_DB 12.0

struct voice_activity {
    double onset_db; /* both may be changed at any time */
    size_t stop_ms;
    double floor_dbov;
    double energy;   /* of the last step: a share of full scale's */
    unsigned recent; /* the last 4 steps, one bit each */
    bool is_speaking;
    size_t quiet_ms;  /* since the last loud step */
    size_t speech_ms; /* loud steps since speech started */
};

enum voice_change { VOICE_UNCHANGED, VOICE_STARTED, VOICE_STOPPED };

/* With VOICE_ONSET_DB and VOICE_STOP_MS. */
void voice_activity_init(struct voice_activity *v);
enum voice_change voice_activity_step(struct voice_activity *v, struct pcm_view step);
/* Whoever spoke has stopped, as far as the caller knows. */
void voice_activity_stop(struct voice_activity *v);

#endif
