/* client_queue.c - see client_queue.h */
#include "services/transceiver/core/session/client_queue.h"

#include <assert.h>
#include <stdlib.h>

struct queued_event {
    struct queued_event *next;
    size_t len;
    uint8_t text[];
};

static struct queued_event *queued_event_create(struct bytes_view text)
{
    struct queued_event *e = malloc(sizeof(*e) + text.len);
    if (e != NULL) {
        e->next = NULL;
        e->len = text.len;
        if (text.len > 0) {
            memcpy(e->text, text.data, text.len);
        }
    }
    return e;
}

static void queued_event_destroy(struct queued_event *e)
{
    free(e);
}

bool client_queue_put(struct client_queue *q, struct bytes_view text)
{
    if (text.len > CLIENT_QUEUE_BYTES_MAX - q->bytes || q->count == CLIENT_QUEUE_COUNT_MAX) {
        return false;
    }
    struct queued_event *e = queued_event_create(text);
    if (e == NULL) {
        return false;
    }
    if (q->last == NULL) {
        q->first = e;
    } else {
        q->last->next = e;
    }
    q->last = e;
    q->bytes += (uint32_t)text.len;
    q->count++;
    return true;
}

bool client_queue_peek(const struct client_queue *q, struct bytes_view *out)
{
    if (q->first == NULL) {
        return false;
    }
    *out = bytes_view_of(q->first->text, q->first->len);
    return true;
}

void client_queue_drop(struct client_queue *q)
{
    struct queued_event *e = q->first;
    assert(e != NULL);
    q->first = e->next;
    if (q->first == NULL) {
        q->last = NULL;
    }
    q->bytes -= (uint32_t)e->len;
    q->count--;
    queued_event_destroy(e);
}

void client_queue_clear(struct client_queue *q)
{
    while (q->first != NULL) {
        client_queue_drop(q);
    }
}
