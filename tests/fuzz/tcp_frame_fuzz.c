/*
 * tcp_frame_fuzz.c - a stream from a stranger, cut where the stranger likes
 *
 * The first byte says how the stream is cut; the rest is the stream.
 * Checks: the same datagrams come out as from a plain walk over the whole stream; there is room
 * whenever a frame is not complete; what is put into a client's queue comes out of it whole.
 */
#include "services/relay/core/tcp_output.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The next datagram of a stream that is there as a whole; false at its end or where it breaks. */
static bool walk(struct byte_reader *r, struct bytes_view *out)
{
    const size_t len = byte_reader_u16(r);
    if (r->failed || len < TCP_FRAME_DATAGRAM_MIN || len > TCP_FRAME_DATAGRAM_MAX) {
        return false;
    }
    *out = byte_reader_bytes(r, len);
    return !r->failed;
}

/* Out of the queue in pieces of another size, back into frames. */
static void check_output(struct tcp_output *o, struct bytes_view datagram, size_t step)
{
    check(tcp_output_add(o, datagram) == 0);
    uint8_t wire[TCP_FRAME_BYTES_MAX];
    size_t len = 0;
    size_t frames = 0;
    while (tcp_output_frame_count(o) > 0) {
        struct bytes_view piece[TCP_OUTPUT_PIECES];
        check(tcp_output_peek(o, piece) > 0);
        const size_t part = piece[0].len < step ? piece[0].len : step;
        check(part <= sizeof(wire) - len);
        memcpy(wire + len, piece[0].data, part);
        len += part;
        frames += tcp_output_wrote(o, part).frames;
    }
    check(frames == 1 && len == TCP_FRAME_HEADER_BYTES + datagram.len);
    check(memcmp(wire + TCP_FRAME_HEADER_BYTES, datagram.data, datagram.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t ring[TCP_OUTPUT_BYTES];
    if (size == 0) {
        return 0;
    }
    const struct bytes_view stream = bytes_view_of(data + 1, size - 1);
    struct tcp_frame_reader *in = malloc(sizeof(*in)); /* where ASan sees each byte too many */
    check(in != NULL);
    struct tcp_output out;
    struct byte_reader plain;
    tcp_frame_reader_init(in);
    tcp_output_init(&out, ring);
    byte_reader_init(&plain, stream);
    enum tcp_frame_result result = TCP_FRAME_INCOMPLETE;
    size_t at = 0;
    while (at < stream.len && result != TCP_FRAME_BROKEN) {
        const struct bytes_span room = tcp_frame_reader_room(in);
        check(room.cap > 0);
        size_t len = (size_t)1 + data[0] * (at % 7);
        len = len < room.cap ? len : room.cap;
        len = len < stream.len - at ? len : stream.len - at;
        memcpy(room.data, stream.data + at, len);
        tcp_frame_reader_filled(in, len);
        at += len;
        struct bytes_view datagram;
        while ((result = tcp_frame_reader_take(in, &datagram)) == TCP_FRAME_DATAGRAM) {
            struct bytes_view expected;
            check(walk(&plain, &expected) && bytes_equal(datagram, expected));
            check_output(&out, datagram, (size_t)1 + data[0]);
        }
    }
    struct bytes_view left;
    check(!walk(&plain, &left));
    free(in);
    return 0;
}
