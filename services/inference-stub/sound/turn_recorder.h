/*
 * turn_recorder.h - what the user said, from shortly before the first sound to shortly after the
 * last
 *
 * Takes:   steps of 10 ms at one rate.
 * Gives:   when a turn begins, and the whole of it when it has ended: TURN_PRE_ROLL_MS before the
 *          voice was noticed until TURN_TAIL_MS behind its last loud step.
 * Owns:    one turn of at most TURN_MAX_MS; no heap after create.
 * Full:    a longer turn ends there; the rest of that speech is not kept.
 */
#ifndef EARSHOT_TURN_RECORDER_H
#define EARSHOT_TURN_RECORDER_H

#include "services/inference-stub/sound/voice_activity.h"

#define TURN_PRE_ROLL_MS   300
#define TURN_TAIL_MS       100
#define TURN_SPEECH_MIN_MS 200 /* less is a cough */
#define TURN_MAX_MS        30000

struct turn_recorder;

enum turn_event {
    TURN_NONE,
    TURN_STARTED,
    TURN_ENDED,    /* turn_recorder_turn has it */
    TURN_DISMISSED /* too short to be speech */
};

/* NULL when there is no memory. */
struct turn_recorder *turn_recorder_create(uint32_t rate_hz);
void turn_recorder_destroy(struct turn_recorder *t);

/* step: 10 ms at the rate of create. */
enum turn_event turn_recorder_step(struct turn_recorder *t, struct pcm_view step);
/* The line fell silent without a word: what is being recorded ends now. */
enum turn_event turn_recorder_finish(struct turn_recorder *t);
bool turn_recorder_is_recording(const struct turn_recorder *t);
/* The last turn that ended. Borrowed until TURN_STARTED. */
struct pcm_view turn_recorder_turn(const struct turn_recorder *t);

#endif
