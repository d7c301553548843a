/* sideband_queue.c - see sideband_queue.h */
#include "services/signaling/sideband_queue.h"

#include <stdlib.h>

struct sideband_queue_entry {
    struct sideband_queue_entry *next;
    struct sideband_queued queued;
    uint8_t text[];
};

bool sideband_queue_put(struct sideband_queue *q, const struct sideband_queued *in)
{
    if (q->count == SIDEBAND_QUEUE_COUNT_MAX ||
        in->text.len > SIDEBAND_QUEUE_BYTES_MAX - q->bytes) {
        return false;
    }
    struct sideband_queue_entry *e = malloc(sizeof(*e) + in->text.len);
    if (e == NULL) {
        return false;
    }
    e->next = NULL;
    e->queued = *in;
    if (in->text.len > 0) {
        memcpy(e->text, in->text.data, in->text.len);
    }
    e->queued.text.data = e->text;
    if (q->last != NULL) {
        q->last->next = e;
    } else {
        q->first = e;
    }
    q->last = e;
    q->bytes += in->text.len;
    q->count++;
    return true;
}

const struct sideband_queued *sideband_queue_peek(const struct sideband_queue *q)
{
    return q->first == NULL ? NULL : &q->first->queued;
}

void sideband_queue_rename_first(struct sideband_queue *q, struct random_source random)
{
    if (q->first != NULL) {
        random_fill(random, q->first->queued.request_id, sizeof(q->first->queued.request_id));
    }
}

void sideband_queue_drop(struct sideband_queue *q)
{
    struct sideband_queue_entry *e = q->first;
    if (e != NULL) {
        q->first = e->next;
        q->last = e->next == NULL ? NULL : q->last;
        q->bytes -= e->queued.text.len;
        q->count--;
        free(e);
    }
}

void sideband_queue_clear(struct sideband_queue *q)
{
    while (q->first != NULL) {
        sideband_queue_drop(q);
    }
}
