/*
 * session_event.h - what a session tells its owner, in order
 *
 * Full:    connected and ended come at most once and have their place; news of the backend beyond
 *          two that were not polled is dropped.
 */
#ifndef EARSHOT_SESSION_EVENT_H
#define EARSHOT_SESSION_EVENT_H

#include "services/transceiver/core/session/session_timeline.h"

#define SESSION_EVENTS_MAX 4

enum session_event_kind {
    SESSION_EVENT_CONNECTED,
    SESSION_EVENT_ENDED,
    SESSION_EVENT_BACKEND_LOST,
    SESSION_EVENT_BACKEND_RESUMED,
    SESSION_EVENT_BACKEND_RESTARTED /* by one that knows nothing of the call so far */
};

struct session_event {
    enum session_event_kind kind;
    enum session_end_reason reason; /* ENDED */
    uint64_t away_us;               /* RESUMED, RESTARTED: how long there was no backend */
};

struct session_events {
    struct session_event event[SESSION_EVENTS_MAX];
    size_t count;
};

void session_events_push(struct session_events *e, struct session_event event);
MUST_USE bool session_events_poll(struct session_events *e, struct session_event *out);

#endif
