/* backend_messages.c - see backend_messages.h */
#include "services/transceiver/core/session/backend_messages.h"

#include <stdlib.h>

/* The system gives memory only to what is written of it. */
struct message_room {
    struct backend_channel channel; /* CHANNEL_DATA */
    size_t len;
    uint8_t data[BACKEND_MESSAGE_BYTES_MAX];
};

static struct message_room *room_create(void)
{
    struct message_room *room = malloc(sizeof(*room));
    if (room != NULL) {
        room->len = 0;
    }
    return room;
}

static void room_destroy(struct partial_message *p)
{
    free(p->room);
    p->room = NULL;
}

static void append(struct message_room *room, struct bytes_view part)
{
    if (part.len > 0) {
        memcpy(room->data + room->len, part.data, part.len);
        room->len += part.len;
    }
}

/* False: the message is refused. */
static bool ensure_room(struct partial_message *p)
{
    if (p->room == NULL) {
        p->room = room_create();
        p->chunks.is_refused = p->room == NULL;
    }
    return p->room != NULL;
}

static enum backend_chunk_result keep_header(struct partial_message *p,
                                             const struct backend_frame *frame)
{
    if (!ensure_room(p)) {
        return BACKEND_CHUNK_TOO_LONG;
    }
    return backend_channel_decode(frame->payload, &p->room->channel) ? BACKEND_CHUNK_MORE
                                                                     : BACKEND_CHUNK_BAD_HEADER;
}

/* A chunk that fits, and that others follow. */
static enum backend_chunk_result keep(struct partial_message *p, struct bytes_view part)
{
    if (!ensure_room(p)) {
        return BACKEND_CHUNK_TOO_LONG;
    }
    append(p->room, part);
    return BACKEND_CHUNK_MORE;
}

static void give(struct partial_message *p, const struct backend_frame *last,
                 struct backend_message *out)
{
    *out = (struct backend_message){
        .is_event = last->type == BACKEND_EVENT,
        .flags = last->flags,
        .utterance = last->utterance,
        .data = last->payload,
    };
    if (p->room != NULL) {
        append(p->room, last->payload);
        out->channel = out->is_event ? NULL : &p->room->channel;
        out->data = bytes_view_of(p->room->data, p->room->len);
    }
}

static bool is_begun(const struct partial_message *p)
{
    return p->chunks.bytes > 0 || p->chunks.has_header;
}

static void forget_the_last(struct partial_message *p)
{
    if (!is_begun(p)) {
        room_destroy(p);
    }
}

enum backend_chunk_result backend_messages_input(struct backend_messages *m,
                                                 const struct backend_frame *frame,
                                                 struct backend_message *out)
{
    const bool is_event = frame->type == BACKEND_EVENT;
    struct partial_message *p = is_event ? &m->event : &m->channel_data;
    const bool is_header = !is_event && !p->chunks.has_header;
    forget_the_last(p);
    const enum backend_chunk_result result =
        backend_chunks_input(&p->chunks, frame, BACKEND_MESSAGE_BYTES_MAX);
    switch (result) {
    case BACKEND_CHUNK_MORE:
        if (is_header) {
            return keep_header(p, frame);
        }
        return p->chunks.is_refused || frame->payload.len == 0 ? result : keep(p, frame->payload);
    case BACKEND_CHUNK_WHOLE:
        give(p, frame, out);
        return result;
    default:
        room_destroy(p);
        return result;
    }
}

void backend_messages_release(struct backend_messages *m)
{
    forget_the_last(&m->event);
    forget_the_last(&m->channel_data);
}

void backend_messages_clear(struct backend_messages *m)
{
    room_destroy(&m->event);
    room_destroy(&m->channel_data);
    *m = (struct backend_messages){0};
}
