/*
 * client_queue.h - events for the client, until its event channel is open
 *
 * Gives:   the texts as they were put, in order.
 * Owns:    a copy of each.
 * Full:    CLIENT_QUEUE_BYTES_MAX of text, CLIENT_QUEUE_COUNT_MAX of them, or no memory: the newest
 *          is refused.
 */
#ifndef EARSHOT_CLIENT_QUEUE_H
#define EARSHOT_CLIENT_QUEUE_H

#include "common/base/bytes.h"

#define CLIENT_QUEUE_BYTES_MAX (1024 * 1024)
#define CLIENT_QUEUE_COUNT_MAX 16384 /* empty texts take room too */

struct queued_event;

/* Starts as zeros. */
struct client_queue {
    struct queued_event *first;
    struct queued_event *last;
    uint32_t bytes;
    uint32_t count;
};

void client_queue_clear(struct client_queue *q);
bool client_queue_put(struct client_queue *q, struct bytes_view text);
/* The oldest; borrowed until it is dropped. False when there is none. */
MUST_USE bool client_queue_peek(const struct client_queue *q, struct bytes_view *out);
void client_queue_drop(struct client_queue *q);

#endif
