/*
 * control_wire.h - what the three parts of control_message.h share: protobuf-c's way of memory
 *
 * Private to them.
 * Fails:   unpack gives NULL for what is malformed, or above CONTROL_MESSAGE_BYTES_MAX; pack gives
 *          0 for what does not fit.
 */
#ifndef EARSHOT_CONTROL_WIRE_H
#define EARSHOT_CONTROL_WIRE_H

#include "common/control/control_message.h"

#include <protobuf-c/protobuf-c.h>

#define CONTROL_WIRE_TEXTS_MAX 6

/* The views of a message as the C strings that protobuf-c wants. Starts as zeros. */
struct control_wire_texts {
    char text[CONTROL_WIRE_TEXTS_MAX][CONTROL_TEXT_CHARS_MAX + 1];
    size_t count;
    bool has_failed; /* a text is too long or holds a NUL: the other side would refuse it */
};

char *control_wire_text(struct control_wire_texts *texts, struct bytes_view view);
/* Borrowed: protobuf-c only reads what it packs. */
ProtobufCBinaryData control_wire_data(struct bytes_view view);
struct bytes_view control_wire_view(ProtobufCBinaryData data);

size_t control_wire_pack(const void *message, struct bytes_span out);
void *control_wire_unpack(struct control_decoder *d, const ProtobufCMessageDescriptor *type,
                          struct bytes_view message);

#endif
