/* event_queue.c - see event_queue.h */
#include "services/inference-stub/realtime/event_queue.h"

#include "common/base/json_bounds.h"
#include "services/inference-stub/realtime/realtime_id.h"

#include <stdlib.h>

struct waiting_event {
    struct waiting_event *next;
    uint32_t sideband;
    size_t len;
    char text[];
};

/* NULL without memory, or when the text is longer than bytes_max. */
static struct waiting_event *waiting_event_create(const json_t *event, size_t bytes_max)
{
    const size_t len = event == NULL ? 0 : json_dumpb(event, NULL, 0, JSON_TEXT_FLAGS);
    if (len == 0 || len > bytes_max) {
        return NULL;
    }
    struct waiting_event *e = malloc(sizeof(*e) + len);
    if (e != NULL) {
        e->next = NULL;
        e->len = json_dumpb(event, e->text, len, JSON_TEXT_FLAGS);
    }
    return e;
}

static void waiting_event_destroy(struct waiting_event *e)
{
    free(e);
}

void event_queue_init(struct event_queue *q, struct random_source random, size_t event_bytes_max)
{
    *q = (struct event_queue){.random = random, .event_bytes_max = event_bytes_max};
}

void event_queue_clear(struct event_queue *q)
{
    struct realtime_event event;
    while (event_queue_take(q, &event)) {
    }
}

void event_queue_add_for(struct event_queue *q, uint32_t sideband, const char *type, json_t *fields)
{
    char id[REALTIME_ID_CAP];
    realtime_id_make(q->random, "event_", id);
    json_t *event = json_pack("{s:s, s:s}", "type", type, "event_id", id);
    const bool is_whole = fields != NULL && json_object_update(event, fields) == 0;
    struct waiting_event *e = is_whole ? waiting_event_create(event, q->event_bytes_max) : NULL;
    json_decref(event);
    json_decref(fields);
    if (e == NULL) {
        return;
    }
    e->sideband = sideband;
    if (q->first == NULL) {
        q->first = e;
    } else {
        q->last->next = e;
    }
    q->last = e;
    q->waiting_bytes += e->len;
}

void event_queue_add(struct event_queue *q, const char *type, json_t *fields)
{
    event_queue_add_for(q, 0, type, fields);
}

bool event_queue_take(struct event_queue *q, struct realtime_event *out)
{
    waiting_event_destroy(q->taken);
    q->taken = q->first;
    if (q->taken == NULL) {
        return false;
    }
    q->first = q->taken->next;
    q->waiting_bytes -= q->taken->len;
    out->text = bytes_view_of(q->taken->text, q->taken->len);
    out->sideband = q->taken->sideband;
    return true;
}
