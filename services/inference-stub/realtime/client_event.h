/*
 * client_event.h - an event of a client, parsed within bounds, and what may be wrong with it
 *
 * Takes:   foreign bytes of any shape.
 * Fails:   every check that says false has filled the error: it becomes one `error` event.
 */
#ifndef EARSHOT_CLIENT_EVENT_H
#define EARSHOT_CLIENT_EVENT_H

#include "common/base/bytes.h"

#include <jansson.h>

#define CLIENT_EVENT_DEPTH_MAX    32
#define CLIENT_EVENT_MEMBERS_MAX  4096
#define CLIENT_EVENT_ID_BYTES_MAX 512

struct client_error {
    const char *code;
    char param[96]; /* empty: none */
    char message[160];
};

/* Always false. */
bool client_error_set(struct client_error *error, const char *code, const char *param,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The caller json_decref()s; NULL for whatever is not an object within the bounds. */
json_t *client_event_parse(struct bytes_view text);
/* A new reference: the client's event_id, or null where it has none that may be repeated. */
json_t *client_event_id(const json_t *event);

/* A text that must be there. NULL: it is not. */
const char *client_event_text(const json_t *event, const char *key, struct client_error *error);

/* The body of an `error` event: {"error":{...}}. event may be NULL. */
json_t *client_error_fields(const struct client_error *error, const json_t *event);

#endif
