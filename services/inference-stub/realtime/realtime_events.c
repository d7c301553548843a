/* realtime_events.c - see realtime_events.h */
#include "services/inference-stub/realtime/realtime_events.h"

#include "common/base/json_bounds.h"
#include "services/inference-stub/realtime/client_event.h"

#include <stdio.h>

size_t realtime_events_refuse(struct bytes_view event, const char *mode, uint64_t event_number,
                              char text[REALTIME_EVENT_BYTES_MAX])
{
    char event_id[32];
    char message[96];
    json_t *asked = client_event_parse(event);
    (void)snprintf(event_id, sizeof(event_id), "event_%llu", (unsigned long long)event_number);
    (void)snprintf(message, sizeof(message),
                   asked == NULL ? "The event is not a JSON object within the limits."
                                 : "This backend runs in mode %s and takes no events.",
                   mode);
    json_t *answer = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:n, s:o}}", "type", "error",
                               "event_id", event_id, "error", "type", "invalid_request_error",
                               "code", asked == NULL ? "invalid_json" : "not_supported", "message",
                               message, "param", "event_id", client_event_id(asked));
    json_decref(asked);
    const size_t len =
        answer == NULL ? 0 : json_dumpb(answer, text, REALTIME_EVENT_BYTES_MAX, JSON_TEXT_FLAGS);
    json_decref(answer);
    return len <= REALTIME_EVENT_BYTES_MAX ? len : 0;
}
