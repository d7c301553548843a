/* backend_frame.c - see backend_frame.h */
#include "common/backend_link/backend_frame.h"

#include <assert.h>
#include <stdlib.h>

/* The length field counts what follows it. */
#define LENGTH_FIELD_BYTES 4

static_assert(LENGTH_FIELD_BYTES + BACKEND_FRAME_LENGTH_MIN == BACKEND_FRAME_HEADER_BYTES,
              "the smallest frame is a header alone");

void backend_frame_encode_header(const struct backend_frame *frame,
                                 uint8_t out[BACKEND_FRAME_HEADER_BYTES])
{
    assert(frame->payload.len <= BACKEND_FRAME_PAYLOAD_MAX);
    struct byte_writer w;
    byte_writer_init(&w, out, BACKEND_FRAME_HEADER_BYTES);
    byte_writer_u32_le(&w, BACKEND_FRAME_LENGTH_MIN + (uint32_t)frame->payload.len);
    byte_writer_u8(&w, BACKEND_FRAME_MAGIC);
    byte_writer_u8(&w, frame->type);
    byte_writer_u16_le(&w, frame->flags);
    byte_writer_u32_le(&w, frame->session);
    byte_writer_u32_le(&w, frame->sequence);
    byte_writer_u64_le(&w, frame->time_us);
    byte_writer_u32_le(&w, frame->utterance);
    byte_writer_u8(&w, frame->codec);
    byte_writer_u8(&w, frame->rate_khz);
    byte_writer_u8(&w, frame->channels);
    byte_writer_u8(&w, frame->duration_2500us);
    assert(!w.failed && w.len == BACKEND_FRAME_HEADER_BYTES);
}

static bool length_is_valid(uint32_t length)
{
    return length >= BACKEND_FRAME_LENGTH_MIN && length <= BACKEND_FRAME_LENGTH_MAX;
}

static struct backend_frame read_fields(struct byte_reader *r)
{
    struct backend_frame frame = {0};
    frame.type = byte_reader_u8(r);
    frame.flags = byte_reader_u16_le(r);
    frame.session = byte_reader_u32_le(r);
    frame.sequence = byte_reader_u32_le(r);
    frame.time_us = byte_reader_u64_le(r);
    frame.utterance = byte_reader_u32_le(r);
    frame.codec = byte_reader_u8(r);
    frame.rate_khz = byte_reader_u8(r);
    frame.channels = byte_reader_u8(r);
    frame.duration_2500us = byte_reader_u8(r);
    return frame;
}

/* A wrong length or magic is told as soon as its bytes are there: a stranger's greeting is refused
 * at once and not after the 64 KB its first letters announce. */
enum backend_frame_result backend_frame_decode(struct bytes_view bytes, struct backend_frame *out,
                                               size_t *out_bytes)
{
    struct byte_reader r;
    byte_reader_init(&r, bytes);
    const uint32_t length = byte_reader_u32_le(&r);
    if (r.failed) {
        return BACKEND_FRAME_MORE;
    }
    if (!length_is_valid(length)) {
        return BACKEND_FRAME_LENGTH;
    }
    const uint8_t magic = byte_reader_u8(&r);
    if (r.failed) {
        return BACKEND_FRAME_MORE;
    }
    if (magic != BACKEND_FRAME_MAGIC) {
        return BACKEND_FRAME_BAD_MAGIC;
    }
    struct backend_frame frame = read_fields(&r);
    frame.payload = byte_reader_bytes(&r, length - BACKEND_FRAME_LENGTH_MIN);
    if (r.failed) {
        return BACKEND_FRAME_MORE;
    }
    *out = frame;
    *out_bytes = LENGTH_FIELD_BYTES + length;
    return BACKEND_FRAME_OK;
}

/* Bytes first..end are not yet polled. A frame that began is moved to the front before more is
 * read, so that the largest one always finds room. */
struct backend_frame_reader {
    size_t first;
    size_t end;
    _Alignas(8) uint8_t bytes[BACKEND_FRAME_BYTES_MAX];
};

struct backend_frame_reader *backend_frame_reader_create(void)
{
    struct backend_frame_reader *r = malloc(sizeof(*r));
    if (r != NULL) {
        r->first = 0;
        r->end = 0;
    }
    return r;
}

void backend_frame_reader_destroy(struct backend_frame_reader *r)
{
    free(r);
}

struct bytes_span backend_frame_reader_reserve(struct backend_frame_reader *r)
{
    if (r->first > 0) {
        memmove(r->bytes, r->bytes + r->first, r->end - r->first);
        r->end -= r->first;
        r->first = 0;
    }
    return (struct bytes_span){.data = r->bytes + r->end, .cap = sizeof(r->bytes) - r->end};
}

void backend_frame_reader_commit(struct backend_frame_reader *r, size_t len)
{
    assert(len <= sizeof(r->bytes) - r->end);
    r->end += len;
}

enum backend_frame_result backend_frame_reader_poll(struct backend_frame_reader *r,
                                                    struct backend_frame *out)
{
    size_t frame_bytes = 0;
    const enum backend_frame_result result = backend_frame_decode(
        bytes_view_of(r->bytes + r->first, r->end - r->first), out, &frame_bytes);
    if (result == BACKEND_FRAME_OK) {
        r->first += frame_bytes;
    }
    return result;
}
