/* backend_start.c - see backend_start.h */
#include "common/backend_link/backend_start.h"

#include "common/backend_link/backend_json.h"
#include "common/base/json_bounds.h"

#include <stdlib.h>

static char *copy_bytes(struct bytes_view *view, char *to)
{
    if (view->len > 0) {
        memcpy(to, view->data, view->len);
    }
    view->data = (const uint8_t *)to;
    return to + view->len;
}

/* The struct, and behind it every text that it names. */
struct backend_start *backend_start_copy(const struct backend_start *start)
{
    const size_t call_id_bytes = strlen(start->call_id) + 1;
    struct backend_start *copy =
        malloc(sizeof(*copy) + call_id_bytes + start->trace_id.len + start->client_agent.len +
               start->client_language.len + start->client_place.len + start->session_json.len);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *start;
    char *to = (char *)(copy + 1);
    copy->call_id = memcpy(to, start->call_id, call_id_bytes);
    to = copy_bytes(&copy->trace_id, to + call_id_bytes);
    to = copy_bytes(&copy->client_agent, to);
    to = copy_bytes(&copy->client_language, to);
    to = copy_bytes(&copy->client_place, to);
    (void)copy_bytes(&copy->session_json, to);
    return copy;
}

void backend_start_destroy(struct backend_start *start)
{
    free(start);
}

char *backend_start_text_create(const struct backend_start *start, size_t *out_len)
{
    const size_t cap = backend_start_cap(start);
    char *text = malloc(cap);
    *out_len = text == NULL ? 0 : backend_start_encode(start, text, cap);
    if (*out_len == 0) {
        free(text);
        return NULL;
    }
    return text;
}

void backend_start_text_destroy(char *text, size_t len)
{
    if (text != NULL) {
        explicit_bzero(text, len);
        free(text);
    }
}

char *backend_start_session_create(struct bytes_view payload, size_t *out_len)
{
    struct backend_json o =
        backend_json_open(payload, BACKEND_MESSAGE_BYTES_MAX, BACKEND_START_DEPTH_MAX);
    const json_t *session = json_object_get(o.object, "session");
    *out_len = session == NULL ? 0 : json_dumpb(session, NULL, 0, JSON_TEXT_FLAGS);
    char *text = *out_len == 0 ? NULL : malloc(*out_len);
    *out_len = text == NULL ? 0 : json_dumpb(session, text, *out_len, JSON_TEXT_FLAGS);
    if (!backend_json_close(&o)) {
        backend_start_text_destroy(text, *out_len);
        return NULL;
    }
    return text;
}
