/* order_queue.c - see order_queue.h */
#include "services/inference-stub/realtime/order_queue.h"

#include <assert.h>
#include <stdlib.h>

static void queued_order_destroy(struct queued_order *o)
{
    for (size_t i = 0; i < ORDER_HELD_MAX; i++) {
        json_decref(o->held[i]);
    }
    free(o->audio);
    *o = (struct queued_order){0};
}

void order_queue_clear(struct order_queue *q)
{
    struct realtime_order order;
    while (order_queue_take(q, &order)) {
    }
}

struct queued_order *order_queue_add(struct order_queue *q, struct realtime_order order)
{
    assert(q->count < ORDERS_MAX);
    struct queued_order *slot = &q->waiting[(q->first + q->count++) % ORDERS_MAX];
    *slot = (struct queued_order){.order = order};
    return slot;
}

bool order_queue_take(struct order_queue *q, struct realtime_order *out)
{
    queued_order_destroy(&q->taken);
    if (q->count == 0) {
        return false;
    }
    q->taken = q->waiting[q->first];
    q->first = (q->first + 1) % ORDERS_MAX;
    q->count--;
    *out = q->taken.order;
    return true;
}
