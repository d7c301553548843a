/* realtime_events.c - see realtime_events.h */
#include "services/inference-stub/realtime/realtime_events.h"

#include "common/base/json_bounds.h"

#include <jansson.h>
#include <stdio.h>

#define EVENT_DEPTH_MAX    32
#define EVENT_MEMBERS_MAX  4096
#define EVENT_ID_BYTES_MAX 512

/* The caller json_decref()s; NULL for whatever is not an object within the bounds. */
static json_t *parse(struct bytes_view event)
{
    if (!json_bounds_hold(event, EVENT_DEPTH_MAX, EVENT_MEMBERS_MAX)) {
        return NULL;
    }
    json_t *json = json_loadb((const char *)event.data, event.len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json)) {
        return json;
    }
    json_decref(json);
    return NULL;
}

/* A new reference: the client's id, or null where it has none that may be repeated. */
static json_t *client_event_id(const json_t *event)
{
    json_t *id = json_object_get(event, "event_id");
    const bool may_be_repeated = json_is_string(id) && json_string_length(id) <= EVENT_ID_BYTES_MAX;
    return may_be_repeated ? json_incref(id) : json_null();
}

size_t realtime_events_refuse(struct bytes_view event, const char *mode, uint64_t event_number,
                              char text[REALTIME_EVENT_BYTES_MAX])
{
    char event_id[32];
    char message[96];
    json_t *asked = parse(event);
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
        answer == NULL ? 0 : json_dumpb(answer, text, REALTIME_EVENT_BYTES_MAX, JSON_COMPACT);
    json_decref(answer);
    return len <= REALTIME_EVENT_BYTES_MAX ? len : 0;
}
