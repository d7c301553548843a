/*
 * order_queue.h - what the agent is to do, in order
 *
 * Owns:    what the orders point at, until the next order is taken.
 * Full:    the agent takes every order after each call, so a call's orders always have room: more
 *          than ORDERS_MAX is a mistake of ours.
 */
#ifndef EARSHOT_ORDER_QUEUE_H
#define EARSHOT_ORDER_QUEUE_H

#include "services/inference-stub/realtime/realtime.h"

#include <jansson.h>

#define ORDERS_MAX     16
#define ORDER_HELD_MAX 3

struct queued_order {
    struct realtime_order order;
    json_t *held[ORDER_HELD_MAX]; /* owners of the texts that the order names, or NULL */
    uint8_t *audio;               /* malloc'ed, or NULL */
};

struct order_queue {
    struct queued_order waiting[ORDERS_MAX];
    size_t first;
    size_t count;
    struct queued_order taken;
};

void order_queue_clear(struct order_queue *q);
/* The slot's held and audio are the caller's to fill: references move to the queue. */
struct queued_order *order_queue_add(struct order_queue *q, struct realtime_order order);
MUST_USE bool order_queue_take(struct order_queue *q, struct realtime_order *out);

#endif
