/* chunked_message.c - see chunked_message.h */
#include "services/inference-stub/chunked_message.h"

#include "common/backend_link/backend_payload.h"

#include <stdlib.h>

static bool make_room(struct bytes_span *b, size_t len)
{
    if (len <= b->cap - b->len) {
        return true;
    }
    uint8_t *data = realloc(b->data, b->len + len);
    if (data == NULL) {
        return false;
    }
    b->data = data;
    b->cap = b->len + len;
    return true;
}

bool chunked_message_append(struct chunked_message *m, struct bytes_view chunk)
{
    struct bytes_span *b = &m->bytes;
    if (chunk.len > BACKEND_MESSAGE_BYTES_MAX - b->len || !make_room(b, chunk.len)) {
        return false;
    }
    if (chunk.len > 0) {
        memcpy(b->data + b->len, chunk.data, chunk.len);
        b->len += chunk.len;
    }
    return true;
}

struct bytes_view chunked_message_view(const struct chunked_message *m)
{
    return bytes_view_of(m->bytes.data, m->bytes.len);
}

void chunked_message_drop(struct chunked_message *m)
{
    free(m->bytes.data);
    m->bytes = (struct bytes_span){0};
}
