/*
 * turn_detector.h - where the user's turns begin and end, by the parameters of a session
 *
 * Takes:   steps of 10 ms at any rate, and the parameters whenever they change.
 * Gives:   that a turn began or ended, where, and how long and how loud its speech was.
 * Units:   *_ms count the audio that was heard, from the first step on.
 * Rule:    voice_activity.h; threshold 0..1 stands for TURN_ONSET_DB_MIN..TURN_ONSET_DB_MAX above
 *          the room. Switched off it finds no turn, but still measures: the speech since it was
 *          last told to forget.
 * Not here: what is said about it (agent_brain.h).
 */
#ifndef EARSHOT_TURN_DETECTOR_H
#define EARSHOT_TURN_DETECTOR_H

#include "services/inference-stub/sound/voice_activity.h"

#define TURN_ONSET_DB_MIN 6.0
#define TURN_ONSET_DB_MAX 18.0

struct turn_rule {
    bool is_on;
    double threshold; /* 0..1 */
    uint32_t silence_ms;
};

/* The speech of a turn, from its first loud step to its last one. */
struct turn_speech {
    uint64_t begin_ms;
    uint64_t end_ms;
    size_t loud_steps; /* 0: none was heard */
    double energy;     /* of the loud steps, summed */
};

struct turn_detector {
    struct voice_activity voice;
    bool is_on;
    bool is_in_turn;
    uint64_t heard_ms;
    struct turn_speech speech;
    struct turn_speech last; /* of what was forgotten */
};

enum turn_change { TURN_UNCHANGED, TURN_BEGAN, TURN_OVER };

void turn_detector_init(struct turn_detector *d);
/* A turn that is under way ends without a word when detection is switched off. */
void turn_detector_tune(struct turn_detector *d, const struct turn_rule *rule);

enum turn_change turn_detector_step(struct turn_detector *d, struct pcm_view step);
/* The line fell silent without a word: a turn under way is over. */
enum turn_change turn_detector_finish(struct turn_detector *d);
/* What was heard so far belongs to no turn to come. */
void turn_detector_forget(struct turn_detector *d);

/* Since the turn began, or of what was forgotten last. */
uint32_t turn_detector_speech_ms(const struct turn_detector *d);
/* Its mean; -127 for none. */
int turn_detector_level_dbov(const struct turn_detector *d);

#endif
