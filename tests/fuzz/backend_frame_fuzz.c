/* backend_frame_fuzz.c - any bytes, in any split: the same frames, and headers that encode back */
#include "common/backend_link/backend_frame.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_encodes_back(const struct backend_frame *frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    backend_frame_encode_header(frame, header);
    /* The payload lies behind its header, wherever the frame was found. */
    assert(memcmp(header, frame->payload.data - sizeof(header), sizeof(header)) == 0);
}

/* Decodes frames from the whole input; the reader gets the same bytes in pieces and must agree. */
static void check_poll(struct backend_frame_reader *r, struct bytes_view *rest,
                       enum backend_frame_result *last)
{
    struct backend_frame polled;
    while ((*last = backend_frame_reader_poll(r, &polled)) == BACKEND_FRAME_OK) {
        struct backend_frame direct;
        size_t direct_bytes = 0;
        const enum backend_frame_result result =
            backend_frame_decode(*rest, &direct, &direct_bytes);
        assert(result == BACKEND_FRAME_OK);
        assert(bytes_equal(polled.payload, direct.payload));
        check_encodes_back(&polled);
        check_encodes_back(&direct);
        *rest = bytes_view_of(rest->data + direct_bytes, rest->len - direct_bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    const size_t piece_max = (size_t)data[0] * 8 + 1;
    struct bytes_view rest = bytes_view_of(data + 1, size - 1);
    struct backend_frame_reader *r = backend_frame_reader_create();
    assert(r != NULL);
    enum backend_frame_result last = BACKEND_FRAME_MORE;
    for (size_t offset = 1; offset < size && last == BACKEND_FRAME_MORE;) {
        const struct bytes_span room = backend_frame_reader_reserve(r);
        assert(room.cap > 0);
        size_t piece = piece_max < room.cap ? piece_max : room.cap;
        piece = piece < size - offset ? piece : size - offset;
        memcpy(room.data, data + offset, piece);
        backend_frame_reader_commit(r, piece);
        offset += piece;
        check_poll(r, &rest, &last);
    }
    struct backend_frame frame;
    size_t frame_bytes = 0;
    const enum backend_frame_result direct = backend_frame_decode(rest, &frame, &frame_bytes);
    assert(direct == last);
    backend_frame_reader_destroy(r);
    return 0;
}
