/* turn_recorder.c - see turn_recorder.h */
#include "services/inference-stub/sound/turn_recorder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PRE_ROLL_STEPS (TURN_PRE_ROLL_MS / VOICE_STEP_MS)

struct turn_recorder {
    size_t step_samples;
    struct voice_activity voice;
    bool is_recording;
    size_t turn_steps; /* recorded, or of the turn that ended */
    size_t turn_steps_max;
    int16_t *turn;     /* turn_steps_max steps */
    int16_t *pre_roll; /* a ring of the last PRE_ROLL_STEPS steps */
    size_t heard_steps;
};

struct turn_recorder *turn_recorder_create(uint32_t rate_hz)
{
    struct turn_recorder *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->step_samples = pcm_samples_of_ms(rate_hz, VOICE_STEP_MS);
    t->turn_steps_max = TURN_MAX_MS / VOICE_STEP_MS;
    voice_activity_init(&t->voice);
    t->turn = calloc(t->turn_steps_max * t->step_samples, sizeof(*t->turn));
    t->pre_roll = calloc(PRE_ROLL_STEPS * t->step_samples, sizeof(*t->pre_roll));
    if (t->turn == NULL || t->pre_roll == NULL) {
        turn_recorder_destroy(t);
        return NULL;
    }
    return t;
}

void turn_recorder_destroy(struct turn_recorder *t)
{
    if (t == NULL) {
        return;
    }
    free(t->turn);
    free(t->pre_roll);
    free(t);
}

static void append(struct turn_recorder *t, const int16_t *step)
{
    memcpy(t->turn + t->turn_steps * t->step_samples, step, t->step_samples * sizeof(*step));
    t->turn_steps++;
}

/* The step that gave the voice away is in the ring already. */
static void start(struct turn_recorder *t)
{
    t->is_recording = true;
    t->turn_steps = 0;
    const size_t count = t->heard_steps < PRE_ROLL_STEPS ? t->heard_steps : PRE_ROLL_STEPS;
    for (size_t i = t->heard_steps - count; i < t->heard_steps; i++) {
        append(t, t->pre_roll + i % PRE_ROLL_STEPS * t->step_samples);
    }
}

static enum turn_event end(struct turn_recorder *t)
{
    t->is_recording = false;
    if (t->voice.speech_ms < TURN_SPEECH_MIN_MS) {
        t->turn_steps = 0;
        return TURN_DISMISSED;
    }
    const size_t quiet_steps = t->voice.quiet_ms / VOICE_STEP_MS;
    const size_t tail_steps = TURN_TAIL_MS / VOICE_STEP_MS;
    if (quiet_steps > tail_steps) {
        t->turn_steps -= quiet_steps - tail_steps;
    }
    return TURN_ENDED;
}

enum turn_event turn_recorder_step(struct turn_recorder *t, struct pcm_view step)
{
    assert(step.count == t->step_samples);
    memcpy(t->pre_roll + t->heard_steps % PRE_ROLL_STEPS * t->step_samples, step.samples,
           step.count * sizeof(*step.samples));
    t->heard_steps++;
    const enum voice_change change = voice_activity_step(&t->voice, step);
    if (change == VOICE_STARTED) {
        start(t);
        return TURN_STARTED;
    }
    if (!t->is_recording) {
        return TURN_NONE;
    }
    append(t, step.samples);
    if (change == VOICE_STOPPED || t->turn_steps == t->turn_steps_max) {
        return end(t);
    }
    return TURN_NONE;
}

enum turn_event turn_recorder_finish(struct turn_recorder *t)
{
    if (!t->is_recording) {
        return TURN_NONE;
    }
    voice_activity_stop(&t->voice);
    return end(t);
}

bool turn_recorder_is_recording(const struct turn_recorder *t)
{
    return t->is_recording;
}

struct pcm_view turn_recorder_turn(const struct turn_recorder *t)
{
    return (struct pcm_view){t->turn, t->turn_steps * t->step_samples};
}
