/* control_decoder.c - see control_decoder.h */
#include "common/control/control_decoder.h"

#include "common/control/control_arena.h"

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>

/* Some four times the largest message that we send ourselves. */
#define ARENA_BYTES (1024 * 1024)

struct control_decoder {
    struct control_arena *arena;
    ProtobufCAllocator allocator;
    bool has_failed; /* a field of the current message is out of its bound */
};

static void *allocate(void *arena, size_t bytes)
{
    return control_arena_take(arena, bytes);
}

static void release(void *arena, void *piece)
{
    (void)arena; /* the next reset takes all pieces back at once */
    (void)piece;
}

struct control_decoder *control_decoder_create(void)
{
    struct control_decoder *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return NULL;
    }
    d->arena = control_arena_create(ARENA_BYTES);
    if (d->arena == NULL) {
        free(d);
        return NULL;
    }
    d->allocator = (ProtobufCAllocator){allocate, release, d->arena};
    return d;
}

void control_decoder_destroy(struct control_decoder *d)
{
    if (d != NULL) {
        control_arena_destroy(d->arena);
        free(d);
    }
}

void *control_decoder_unpack(struct control_decoder *d,
                             const struct ProtobufCMessageDescriptor *type,
                             struct bytes_view message)
{
    control_arena_reset(d->arena);
    d->has_failed = false;
    return protobuf_c_message_unpack(type, &d->allocator, message.len, message.data);
}

bool control_decoder_has_failed(const struct control_decoder *d)
{
    return d->has_failed;
}

/* The piece that protobuf-c took for the string tells how long the field was. */
static size_t text_len(struct control_decoder *d, const char *text, size_t len_max)
{
    const size_t piece_bytes = control_arena_piece_bytes(d->arena, text);
    const size_t len = piece_bytes > 0 ? piece_bytes - 1 : 0; /* none: an absent field, "" */
    if (len > len_max || memchr(text, '\0', len) != NULL) {
        d->has_failed = true;
        return 0;
    }
    return len;
}

struct bytes_view control_decoder_text(struct control_decoder *d, const char *text, size_t len_max)
{
    return bytes_view_of(text, text_len(d, text, len_max));
}

void control_decoder_copy_text(struct control_decoder *d, const char *text, char *out,
                               size_t out_cap)
{
    const size_t len = text_len(d, text, out_cap - 1);
    memcpy(out, text, len);
    out[len] = '\0';
}

void control_decoder_copy_addr(struct control_decoder *d, const char *text, struct net_addr *out)
{
    char copy[NET_ADDR_TEXT_CAP];
    control_decoder_copy_text(d, text, copy, sizeof(copy));
    if (!net_addr_parse(copy, out)) {
        d->has_failed = true;
    }
}

struct bytes_view control_decoder_data(struct control_decoder *d, struct bytes_view data,
                                       size_t len_max)
{
    if (data.len > len_max) {
        d->has_failed = true;
        return (struct bytes_view){0};
    }
    return data;
}

void control_decoder_copy_data(struct control_decoder *d, struct bytes_view data, uint8_t *out,
                               size_t out_len)
{
    if (data.len != out_len) {
        d->has_failed = true;
        return;
    }
    memcpy(out, data.data, out_len);
}

void *control_decoder_take(struct control_decoder *d, size_t bytes)
{
    void *piece = control_arena_take(d->arena, bytes);
    d->has_failed |= piece == NULL;
    return piece;
}

uint32_t control_decoder_number(struct control_decoder *d, uint32_t value, uint32_t max)
{
    if (value > max) {
        d->has_failed = true;
        return 0;
    }
    return value;
}
