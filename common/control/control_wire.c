/* control_wire.c - see control_wire.h */
#include "common/control/control_wire.h"

#include <assert.h>

char *control_wire_text(struct control_wire_texts *texts, struct bytes_view view)
{
    assert(texts->count < COUNT_OF(texts->text));
    char *text = texts->text[texts->count++];
    text[0] = '\0';
    if (view.len > CONTROL_TEXT_CHARS_MAX ||
        (view.len > 0 && memchr(view.data, '\0', view.len) != NULL)) {
        texts->has_failed = true;
        return text;
    }
    if (view.len > 0) {
        memcpy(text, view.data, view.len);
    }
    text[view.len] = '\0';
    return text;
}

ProtobufCBinaryData control_wire_data(struct bytes_view view)
{
    return (ProtobufCBinaryData){view.len, (uint8_t *)view.data};
}

struct bytes_view control_wire_view(ProtobufCBinaryData data)
{
    return bytes_view_of(data.data, data.len);
}

size_t control_wire_pack(const void *message, struct bytes_span out)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    if (size > out.cap || size > CONTROL_MESSAGE_BYTES_MAX) {
        return 0;
    }
    return protobuf_c_message_pack(message, out.data);
}

void *control_wire_unpack(struct control_decoder *d, const ProtobufCMessageDescriptor *type,
                          struct bytes_view message)
{
    return message.len > CONTROL_MESSAGE_BYTES_MAX ? NULL
                                                   : control_decoder_unpack(d, type, message);
}
