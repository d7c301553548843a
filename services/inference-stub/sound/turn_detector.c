/* turn_detector.c - see turn_detector.h */
#include "services/inference-stub/sound/turn_detector.h"

#include <math.h>

#define LEVEL_NONE_DBOV (-127)

void turn_detector_init(struct turn_detector *d)
{
    *d = (struct turn_detector){.is_on = true};
    voice_activity_init(&d->voice);
}

void turn_detector_tune(struct turn_detector *d, const struct turn_rule *rule)
{
    d->is_on = rule->is_on;
    d->is_in_turn = d->is_in_turn && rule->is_on;
    d->voice.onset_db =
        TURN_ONSET_DB_MIN + rule->threshold * (TURN_ONSET_DB_MAX - TURN_ONSET_DB_MIN);
    d->voice.stop_ms = rule->silence_ms;
}

static void measure(struct turn_detector *d)
{
    const bool is_loud = (d->voice.recent & 1) != 0;
    if (!is_loud) {
        return;
    }
    if (d->speech.loud_steps == 0) {
        d->speech.begin_ms = d->heard_ms - VOICE_STEP_MS;
    }
    d->speech.end_ms = d->heard_ms;
    d->speech.loud_steps++;
    d->speech.energy += d->voice.energy;
}

/* Loud steps shortly before count as its beginning, clicks of long ago do not. */
static void begin(struct turn_detector *d)
{
    d->is_in_turn = true;
    if (d->speech.begin_ms + 4 * VOICE_STEP_MS < d->heard_ms) {
        d->speech = (struct turn_speech){.begin_ms = d->heard_ms - 3 * VOICE_STEP_MS,
                                         .end_ms = d->heard_ms,
                                         .loud_steps = 1,
                                         .energy = d->voice.energy};
    }
}

enum turn_change turn_detector_step(struct turn_detector *d, struct pcm_view step)
{
    d->heard_ms += VOICE_STEP_MS;
    const enum voice_change change = voice_activity_step(&d->voice, step);
    measure(d);
    if (!d->is_on) {
        return TURN_UNCHANGED;
    }
    if (change == VOICE_STARTED && !d->is_in_turn) {
        begin(d);
        return TURN_BEGAN;
    }
    return change == VOICE_STOPPED ? turn_detector_finish(d) : TURN_UNCHANGED;
}

enum turn_change turn_detector_finish(struct turn_detector *d)
{
    voice_activity_stop(&d->voice);
    if (!d->is_in_turn) {
        return TURN_UNCHANGED;
    }
    d->is_in_turn = false;
    turn_detector_forget(d);
    return TURN_OVER;
}

void turn_detector_forget(struct turn_detector *d)
{
    if (d->speech.loud_steps > 0) {
        d->last = d->speech;
    }
    d->speech = (struct turn_speech){0};
    d->is_in_turn = false;
    voice_activity_stop(&d->voice);
}

static const struct turn_speech *newest(const struct turn_detector *d)
{
    return d->speech.loud_steps > 0 ? &d->speech : &d->last;
}

uint32_t turn_detector_speech_ms(const struct turn_detector *d)
{
    return (uint32_t)(newest(d)->end_ms - newest(d)->begin_ms);
}

int turn_detector_level_dbov(const struct turn_detector *d)
{
    const struct turn_speech *speech = newest(d);
    return speech->loud_steps == 0
               ? LEVEL_NONE_DBOV
               : (int)lround(10 * log10(speech->energy / (double)speech->loud_steps));
}
