/* socket_error.c - see socket_error.h */
#include "services/signaling/socket_error.h"

#include "common/base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* For a body that holds no error: it came from no answer of ours. */
static const char no_reason[] =
    "{\"type\":\"error\",\"error\":{\"message\":\"The server could not say what went wrong.\","
    "\"type\":\"server_error\",\"param\":null,\"code\":\"internal\"}}";

static_assert(sizeof(no_reason) <= SOCKET_ERROR_BYTES_MAX, "the plain error fits");

size_t socket_error_event(const char *code, const char *message, char text[SOCKET_ERROR_BYTES_MAX])
{
    uint64_t id = 0;
    random_fill(random_system(), (uint8_t *)&id, sizeof(id));
    const int len = snprintf(text, SOCKET_ERROR_BYTES_MAX,
                             "{\"type\":\"error\",\"event_id\":\"event_%016" PRIx64 "\","
                             "\"error\":{\"type\":\"invalid_request_error\",\"code\":\"%s\","
                             "\"message\":\"%s\",\"param\":null,\"event_id\":null}}",
                             id, code, message);
    assert(len > 0 && len < SOCKET_ERROR_BYTES_MAX);
    return (size_t)len;
}

size_t socket_error_message(struct bytes_view body, char text[SOCKET_ERROR_BYTES_MAX])
{
    json_t *answer = json_loadb((const char *)body.data, body.len, 0, NULL);
    json_t *error = json_object_get(answer, "error");
    json_t *message =
        error != NULL ? json_pack("{s:s, s:O}", "type", "error", "error", error) : NULL;
    size_t len =
        message != NULL ? json_dumpb(message, text, SOCKET_ERROR_BYTES_MAX, JSON_COMPACT) : 0;
    if (len == 0 || len > SOCKET_ERROR_BYTES_MAX) {
        len = sizeof(no_reason) - 1;
        memcpy(text, no_reason, len);
    }
    json_decref(message);
    json_decref(answer);
    return len;
}
