/*
 * input_buffer.h - what the user says, until it becomes an item: input_audio_buffer.*
 *
 * Gives:   `speech_started` and `speech_stopped` in pairs, then `committed` and the item. A commit
 *          of the client in the middle of a turn ends the turn there.
 * Units:   the clock is the audio that came in.
 */
#ifndef EARSHOT_INPUT_BUFFER_H
#define EARSHOT_INPUT_BUFFER_H

#include "services/inference-stub/realtime/conversation.h"
#include "services/inference-stub/realtime/event_queue.h"
#include "services/inference-stub/realtime/order_queue.h"

struct input_buffer {
    struct event_queue *events;
    struct order_queue *orders;
    struct conversation *conversation;
    uint64_t clock_us;  /* audio that came in, in all */
    uint64_t filled_us; /* of it, not committed */
    bool is_in_speech;
    uint64_t speech_start_ms;
    char item_id[REALTIME_ID_CAP]; /* of the turn */
    uint32_t spoken_turns;
};

/* Its parts outlive it. */
void input_buffer_init(struct input_buffer *b, struct event_queue *events,
                       struct order_queue *orders, struct conversation *conversation);

void input_buffer_fill(struct input_buffer *b, uint64_t duration_us);
/* False: a turn had begun before, and nothing is said. */
bool input_buffer_speech_started(struct input_buffer *b, uint64_t audio_start_ms);
/* Commits. False: no turn had begun. */
bool input_buffer_speech_stopped(struct input_buffer *b, uint64_t audio_end_ms, bool transcribe);
MUST_USE bool input_buffer_commit(struct input_buffer *b, bool transcribe,
                                  struct client_error *error);
/* What was heard of a turn is forgotten with it. */
void input_buffer_clear(struct input_buffer *b);

/* The audio of input_audio_buffer.append becomes an order. */
MUST_USE bool input_buffer_append(struct input_buffer *b, const json_t *event,
                                  struct client_error *error);

#endif
