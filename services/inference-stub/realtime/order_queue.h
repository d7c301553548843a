/*
 * order_queue.h - what the agent is to do, in order
 *
 * Owns:    what the orders point at, until the next order is taken.
 * Full:    never: one call gives a few orders, and seconds of appended audio a few for each step.
 */
#ifndef EARSHOT_ORDER_QUEUE_H
#define EARSHOT_ORDER_QUEUE_H

#include "services/inference-stub/realtime/realtime.h"

#include <jansson.h>

#define ORDER_HELD_MAX 3

struct queued_order {
    struct realtime_order order;
    json_t *held[ORDER_HELD_MAX]; /* owners of the texts that the order names, or NULL */
    uint8_t *audio;               /* malloc'ed, or NULL */
    struct queued_order *next;
};

struct order_queue {
    struct queued_order *first;
    struct queued_order *last;
    struct queued_order *taken; /* borrowed by who took it */
};

void order_queue_clear(struct order_queue *q);
/* What the order holds moves to the queue. False without memory: it is not given. */
bool order_queue_add(struct order_queue *q, const struct queued_order *order);
MUST_USE bool order_queue_take(struct order_queue *q, struct realtime_order *out);

#endif
