/* order_queue.c - see order_queue.h */
#include "services/inference-stub/realtime/order_queue.h"

#include <stdlib.h>

static void let_go(const struct queued_order *o)
{
    for (size_t i = 0; i < ORDER_HELD_MAX; i++) {
        json_decref(o->held[i]);
    }
}

static void queued_order_destroy(struct queued_order *o)
{
    if (o != NULL) {
        let_go(o);
        free(o->audio);
        free(o);
    }
}

/* What the order holds moves, or is gone. NULL without memory. */
static struct queued_order *queued_order_create(const struct queued_order *order)
{
    struct queued_order *o = malloc(sizeof(*o));
    if (o == NULL) {
        let_go(order);
        free(order->audio);
        return NULL;
    }
    *o = *order;
    o->next = NULL;
    return o;
}

void order_queue_clear(struct order_queue *q)
{
    struct realtime_order order;
    while (order_queue_take(q, &order)) {
    }
}

bool order_queue_add(struct order_queue *q, const struct queued_order *order)
{
    struct queued_order *o = queued_order_create(order);
    if (o == NULL) {
        return false;
    }
    if (q->first == NULL) {
        q->first = o;
    } else {
        q->last->next = o;
    }
    q->last = o;
    return true;
}

bool order_queue_take(struct order_queue *q, struct realtime_order *out)
{
    queued_order_destroy(q->taken);
    q->taken = q->first;
    if (q->taken == NULL) {
        return false;
    }
    q->first = q->taken->next;
    *out = q->taken->order;
    return true;
}
