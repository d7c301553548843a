/*
 * event_queue.h - server events that wait to be sent, as text
 *
 * Gives:   each event its event_id, and the order in which they were added.
 * Fails:   an event that is longer than event_bytes_max, or for which there is no memory, is not
 *          added.
 * Full:    never of itself: who adds for a client asks waiting_bytes first.
 */
#ifndef EARSHOT_EVENT_QUEUE_H
#define EARSHOT_EVENT_QUEUE_H

#include "services/inference-stub/realtime/realtime.h"

#include <jansson.h>

struct waiting_event;

struct event_queue {
    struct random_source random;
    size_t event_bytes_max;
    struct waiting_event *first;
    struct waiting_event *last;
    struct waiting_event *taken; /* borrowed by who took it */
    size_t waiting_bytes;
};

void event_queue_init(struct event_queue *q, struct random_source random, size_t event_bytes_max);
void event_queue_clear(struct event_queue *q);

/* Takes the reference to fields, all of the event but type and event_id; NULL is "no memory". */
void event_queue_add(struct event_queue *q, const char *type, json_t *fields);
void event_queue_add_for(struct event_queue *q, uint32_t sideband, const char *type,
                         json_t *fields);
MUST_USE bool event_queue_take(struct event_queue *q, struct realtime_event *out);

#endif
