/*
 * realtime_events.h - what the stub answers on a call's event channel
 *
 * Takes:   one event of a client as it came: foreign JSON of any shape.
 * Gives:   the answering event.
 */
#ifndef EARSHOT_REALTIME_EVENTS_H
#define EARSHOT_REALTIME_EVENTS_H

#include "common/base/bytes.h"

/* The text of an answer never exceeds it. */
#define REALTIME_EVENT_BYTES_MAX 4096

/* An `error` event that names the client's event_id, so that a client that waits for an answer to
 * that event goes on. event_number makes its own id unique in the call. Returns the length of text,
 * 0 when there is no memory. */
size_t realtime_events_refuse(struct bytes_view event, const char *mode, uint64_t event_number,
                              char text[REALTIME_EVENT_BYTES_MAX]);

#endif
