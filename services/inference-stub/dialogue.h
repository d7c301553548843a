/*
 * dialogue.h - what is said back: a pure machine, samples in, utterances and flushes out
 *
 * Takes:   the user's samples as they come, credit, and what the transceiver tells of the playback.
 * Gives:   audio of at most DIALOGUE_CHUNK_MS a take, as long as there is credit, and flushes.
 *          Utterance ids rise strictly and never repeat.
 * Modes:   echo   every sample goes back at once, in one long utterance while audio is continuous
 *          tone   a sine without end, its phase known from the start of each utterance
 *          parrot greets (unless the user speaks first), listens, says each turn back;
 *                 falls silent when the user speaks
 * Owns:    in parrot one turn of the user, in echo ECHO_QUEUE_MS of audio; no heap after create.
 * Full:    echo drops what has no credit or no room rather than play it late.
 */
#ifndef EARSHOT_DIALOGUE_H
#define EARSHOT_DIALOGUE_H

#include "common/backend_link/backend_payload.h"
#include "services/inference-stub/sound/utterance_audio.h"
#include "services/inference-stub/stub_counters.h"

#define DIALOGUE_CHUNK_MS 100

enum dialogue_mode { DIALOGUE_ECHO, DIALOGUE_TONE, DIALOGUE_PARROT };

struct dialogue_config {
    enum dialogue_mode mode;
    uint32_t rate_hz;         /* of both directions: 16000 or 24000 */
    uint64_t echo_delay_us;   /* silence ahead of an echo */
    uint32_t tone_hz;         /* below half the rate */
    struct pcm_view greeting; /* at rate_hz, not empty, outlives the dialogue */
    uint64_t credit_us;       /* of SESSION_START */
    bool is_restarted;        /* the call had another agent before: no greeting */
    struct stub_counters *counters;
};

struct dialogue;

/* NULL when there is no memory. */
struct dialogue *dialogue_create(const struct dialogue_config *config);
void dialogue_destroy(struct dialogue *d);

/* The user can hear from now on. */
void dialogue_connected(struct dialogue *d);
/* Media time that may be sent in all; a lower limit than before changes nothing. */
void dialogue_credit(struct dialogue *d, uint64_t limit_us);
void dialogue_playback(struct dialogue *d, const struct backend_playback *playback);
/* Another connection: the transceiver has this much, and goes on there. What of the newest
 * utterance was lost on the way is said again if it is still known; else that utterance ends. */
void dialogue_resume(struct dialogue *d, const struct backend_position *position);
/* flags: enum backend_audio_in_flag */
void dialogue_audio_in(struct dialogue *d, struct pcm_view pcm, unsigned flags, uint64_t now_us);
void dialogue_tick(struct dialogue *d, uint64_t now_us);
uint64_t dialogue_next_timeout(const struct dialogue *d);

/* Drain both after each call above, flushes first. Audio is borrowed until the next call. */
bool dialogue_take_flush(struct dialogue *d, uint32_t *utterance);
bool dialogue_take_audio(struct dialogue *d, struct utterance_audio *out);

#endif
