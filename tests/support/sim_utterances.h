/*
 * sim_utterances.h - what a scripted backend has to say: its utterances, in the order of their ids
 *
 * Owns:    SIM_UTTERANCES_MAX that are not sent to their end, and the latest that were: their end
 *          may get lost with the connection.
 * Not here: frames, credit (sim_backend.c).
 */
#ifndef EARSHOT_SIM_UTTERANCES_H
#define EARSHOT_SIM_UTTERANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_UTTERANCES_MAX      32
#define SIM_UTTERANCES_SENT_MAX 8

struct sim_utterance {
    uint32_t id;
    uint64_t position_us;
    uint64_t duration_us;
    uint64_t pace_us; /* of its pieces; 0: as fast as credit allows */
    uint64_t next_us; /* when its next piece is due */
    bool is_complete; /* it says so with LAST */
};

struct sim_utterances {
    struct sim_utterance waiting[SIM_UTTERANCES_MAX];
    size_t count;
    struct sim_utterance sent[SIM_UTTERANCES_SENT_MAX]; /* by age */
    size_t sent_count;
};

bool sim_utterances_are_full(const struct sim_utterances *u);
/* Not when they are full. */
void sim_utterances_add(struct sim_utterances *u, const struct sim_utterance *one);
/* The first that waits was sent to its end; of many such the oldest is forgotten. */
void sim_utterances_finish(struct sim_utterances *u);
/* Forgets all up to this one; 0: all. */
void sim_utterances_flush(struct sim_utterances *u, uint32_t id);
/* The transceiver has heard this one up to there, and nothing of those after it. */
void sim_utterances_resume(struct sim_utterances *u, uint64_t id, uint64_t received_us);
void sim_utterances_clear(struct sim_utterances *u);

#endif
