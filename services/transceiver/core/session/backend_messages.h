/*
 * backend_messages.h - EVENT and CHANNEL_DATA of a backend, put together from their chunks
 *
 * Takes:   frames in order.
 * Gives:   whole messages; one that came in a single chunk is not copied.
 * Owns:    room for one message of each type, until it is released.
 * Fails:   longer than BACKEND_MESSAGE_BYTES_MAX, or no memory: BACKEND_CHUNK_TOO_LONG, once.
 */
#ifndef EARSHOT_BACKEND_MESSAGES_H
#define EARSHOT_BACKEND_MESSAGES_H

#include "common/backend_link/backend_message.h"

struct message_room;

struct partial_message {
    struct backend_chunks chunks;
    struct message_room *room; /* NULL: nothing is kept */
};

/* Starts as zeros. */
struct backend_messages {
    struct partial_message event;
    struct partial_message channel_data;
};

/* What it borrows is good until release or the next input. */
struct backend_message {
    bool is_event;                         /* else CHANNEL_DATA */
    uint16_t flags;                        /* of the final frame */
    uint32_t utterance;                    /* likewise: a side-band's id where flags say so */
    const struct backend_channel *channel; /* CHANNEL_DATA: where it belongs; else NULL */
    struct bytes_view data;
};

/* *out is filled when the result is BACKEND_CHUNK_WHOLE. */
enum backend_chunk_result backend_messages_input(struct backend_messages *m,
                                                 const struct backend_frame *frame,
                                                 struct backend_message *out);
/* The message that was given is no longer needed. */
void backend_messages_release(struct backend_messages *m);
/* The rest of what was begun will not come. */
void backend_messages_clear(struct backend_messages *m);

#endif
