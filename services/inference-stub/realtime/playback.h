/*
 * playback.h - which response is being heard: output_audio_buffer.* in pairs
 *
 *     open --> queued --started--> playing --done--> stopped
 *                 +---- clear ------+----> flushing --FLUSHED or done--> cleared, truncated
 *
 * Takes:   what the transceiver tells; it is believed only where it fits.
 * Gives:   for each `started` one `stopped` or `cleared`, before the next `started`.
 * Full:    beyond PLAYS_MAX utterances whose flush is not confirmed, the oldest one that never
 *          began to play is taken for confirmed.
 */
#ifndef EARSHOT_PLAYBACK_H
#define EARSHOT_PLAYBACK_H

#include "services/inference-stub/realtime/conversation.h"
#include "services/inference-stub/realtime/event_queue.h"
#include "services/inference-stub/realtime/order_queue.h"

#define PLAYS_MAX 16

struct play {
    uint32_t utterance;
    char response_id[REALTIME_ID_CAP];
    char item_id[REALTIME_ID_CAP];
    bool has_started;
    bool is_flushing;
    uint64_t heard_us;
};

struct playback {
    struct event_queue *events;
    struct order_queue *orders;
    struct conversation *conversation;
    struct play plays[PLAYS_MAX]; /* utterances rise */
    size_t count;
    uint32_t newest; /* utterance of all */
};

/* Its parts outlive it. */
void playback_init(struct playback *p, struct event_queue *events, struct order_queue *orders,
                   struct conversation *conversation);

/* A response begins to speak. What is queued or plays is cleared first. */
void playback_open(struct playback *p, uint32_t utterance, const char *response_id,
                   const char *item_id);
/* Orders a FLUSH, if anything is queued or plays. */
void playback_clear(struct playback *p);
/* Orders it again, if it was not confirmed. */
void playback_clear_again(struct playback *p);

void playback_hear(struct playback *p, enum realtime_playback_state state, uint32_t utterance,
                   uint64_t heard_us);
void playback_flushed(struct playback *p, const struct realtime_flushed *flushed);

#endif
