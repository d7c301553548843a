/* server_error.c - see server_error.h */
#include "services/transceiver/core/session/server_error.h"

#include <assert.h>

#define EVENT_ID_BYTES 12

static void put(struct byte_writer *w, const char *text)
{
    byte_writer_bytes(w, bytes_view_of_text(text));
}

static void put_event_id(struct byte_writer *w, struct random_source random)
{
    uint8_t bytes[EVENT_ID_BYTES];
    char id[2 * EVENT_ID_BYTES + 1];
    random_fill(random, bytes, sizeof(bytes));
    const bool fits = bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), id, sizeof(id));
    assert(fits);
    (void)fits;
    put(w, id);
}

size_t server_error_write(enum server_error error, struct random_source random,
                          char text[SERVER_ERROR_BYTES_MAX])
{
    static const struct {
        const char *code;
        const char *message;
    } said[SERVER_ERROR_COUNT] = {
        [SERVER_ERROR_SESSION_EXPIRING] = {"session_expiring", "The session ends in 30 seconds."},
        [SERVER_ERROR_BACKEND_LOST] = {"backend_lost", "The voice agent was lost. The call waits "
                                                       "5 seconds for it to come back."},
        [SERVER_ERROR_MESSAGE_TOO_LARGE] = {"message_too_large",
                                            "A message of more than 262144 bytes was dropped."},
    };
    struct byte_writer w;
    byte_writer_init(&w, text, SERVER_ERROR_BYTES_MAX);
    put(&w, "{\"type\":\"error\",\"event_id\":\"event_");
    put_event_id(&w, random);
    put(&w, "\",\"error\":{\"type\":\"server_error\",\"code\":\"");
    put(&w, said[error].code);
    put(&w, "\",\"message\":\"");
    put(&w, said[error].message);
    put(&w, "\",\"param\":null,\"event_id\":null}}");
    assert(!w.failed);
    return w.len;
}
