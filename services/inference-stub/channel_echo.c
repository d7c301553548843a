/* channel_echo.c - see channel_echo.h */
#include "services/inference-stub/channel_echo.h"

void channel_echo_clear(struct channel_echo *c)
{
    chunked_message_drop(&c->bytes);
    *c = (struct channel_echo){0};
}

/* False when there is no memory. */
static bool keep(struct channel_echo *c, const struct backend_frame *frame, bool is_head)
{
    struct backend_channel channel;
    if (!is_head) {
        return !c->is_echoed || chunked_message_append(&c->bytes, frame->payload);
    }
    c->is_echoed = backend_channel_decode(frame->payload, &channel) &&
                   strcmp(channel.label, CHANNEL_ECHO_LABEL) == 0;
    c->head_len = c->is_echoed ? backend_channel_encode(&channel, c->head, sizeof(c->head)) : 0;
    return true;
}

enum channel_echo_result channel_echo_input(struct channel_echo *c,
                                            const struct backend_frame *frame,
                                            struct outbox_message *out)
{
    const bool is_head = !c->chunks.has_header;
    switch (backend_chunks_input(&c->chunks, frame, BACKEND_MESSAGE_BYTES_MAX)) {
    case BACKEND_CHUNK_TOO_LONG:
    case BACKEND_CHUNK_BAD_HEADER:
        return CHANNEL_ECHO_BROKEN;
    case BACKEND_CHUNK_MORE:
        return keep(c, frame, is_head) ? CHANNEL_ECHO_NOTHING : CHANNEL_ECHO_BROKEN;
    case BACKEND_CHUNK_WHOLE:
        break;
    }
    if (!keep(c, frame, is_head)) {
        return CHANNEL_ECHO_BROKEN;
    }
    if (!c->is_echoed) {
        channel_echo_clear(c);
        return CHANNEL_ECHO_NOTHING;
    }
    *out = (struct outbox_message){.type = BACKEND_CHANNEL_DATA,
                                   .head = bytes_view_of(c->head, c->head_len),
                                   .bytes = chunked_message_view(&c->bytes)};
    return CHANNEL_ECHO_MESSAGE;
}
