/* client_event.c - see client_event.h */
#include "services/inference-stub/realtime/client_event.h"

#include "common/base/json_bounds.h"

#include <stdarg.h>
#include <stdio.h>

/* A message may repeat what the client wrote, and cut it anywhere: ASCII alone stays UTF-8. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x20 || *text > 0x7e) {
            *text = '?';
        }
    }
}

bool client_error_set(struct client_error *error, const char *code, const char *param,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);
    make_printable(error->message);
    (void)snprintf(error->param, sizeof(error->param), "%s", param);
    error->code = code;
    return false;
}

json_t *client_event_parse(struct bytes_view text)
{
    if (!json_bounds_hold(text, CLIENT_EVENT_DEPTH_MAX, CLIENT_EVENT_MEMBERS_MAX)) {
        return NULL;
    }
    json_t *json = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json)) {
        return json;
    }
    json_decref(json);
    return NULL;
}

json_t *client_event_id(const json_t *event)
{
    json_t *id = json_object_get(event, "event_id");
    const bool may_be_repeated =
        json_is_string(id) && json_string_length(id) <= CLIENT_EVENT_ID_BYTES_MAX;
    return may_be_repeated ? json_incref(id) : json_null();
}

const char *client_event_text(const json_t *event, const char *key, struct client_error *error)
{
    const char *text = json_string_value(json_object_get(event, key));
    if (text == NULL) {
        (void)client_error_set(error, "invalid_value", key, "'%s' must be a string.", key);
    }
    return text;
}

json_t *client_error_fields(const struct client_error *error, const json_t *event)
{
    json_t *param = error->param[0] == '\0' ? json_null() : json_string(error->param);
    return json_pack("{s:{s:s, s:s, s:s, s:o, s:o}}", "error", "type", "invalid_request_error",
                     "code", error->code, "message", error->message, "param", param, "event_id",
                     client_event_id(event));
}
