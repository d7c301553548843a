/*
 * chunked_message.h - a message that comes in several frames, put together
 *
 * Owns:    the bytes so far, at most BACKEND_MESSAGE_BYTES_MAX; nothing between two messages.
 */
#ifndef EARSHOT_CHUNKED_MESSAGE_H
#define EARSHOT_CHUNKED_MESSAGE_H

#include "common/base/bytes.h"

struct chunked_message {
    struct bytes_span bytes; /* malloc'ed; zeros are an empty message */
};

/* False when the message becomes longer than the protocol allows, or without memory. */
MUST_USE bool chunked_message_append(struct chunked_message *m, struct bytes_view chunk);
/* Borrowed until the next call. */
struct bytes_view chunked_message_view(const struct chunked_message *m);
void chunked_message_drop(struct chunked_message *m);

#endif
