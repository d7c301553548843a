/* session_event.c - see session_event.h */
#include "services/transceiver/core/session/session_event.h"

#include <assert.h>

void session_events_push(struct session_events *e, struct session_event event)
{
    const bool is_once = event.kind == SESSION_EVENT_CONNECTED || event.kind == SESSION_EVENT_ENDED;
    if (is_once || e->count < SESSION_EVENTS_MAX - 2) {
        assert(e->count < SESSION_EVENTS_MAX);
        e->event[e->count++] = event;
    }
}

bool session_events_poll(struct session_events *e, struct session_event *out)
{
    if (e->count == 0) {
        return false;
    }
    *out = e->event[0];
    e->count--;
    memmove(e->event, e->event + 1, e->count * sizeof(e->event[0]));
    return true;
}
