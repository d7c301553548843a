/* tcp_frame.c - see tcp_frame.h */
#include "services/relay/core/tcp_frame.h"

#include <assert.h>

void tcp_frame_reader_init(struct tcp_frame_reader *r)
{
    r->begin = 0;
    r->end = 0;
}

struct bytes_span tcp_frame_reader_room(struct tcp_frame_reader *r)
{
    const size_t left = (size_t)(r->end - r->begin);
    if (r->begin > 0) {
        memmove(r->bytes, r->bytes + r->begin, left);
        r->begin = 0;
        r->end = (uint16_t)left;
    }
    return (struct bytes_span){.data = r->bytes + r->end, .cap = sizeof(r->bytes) - r->end};
}

void tcp_frame_reader_filled(struct tcp_frame_reader *r, size_t len)
{
    assert(len <= sizeof(r->bytes) - r->end);
    r->end = (uint16_t)(r->end + len);
}

enum tcp_frame_result tcp_frame_reader_take(struct tcp_frame_reader *r, struct bytes_view *out)
{
    struct byte_reader in;
    byte_reader_init(&in, bytes_view_of(r->bytes + r->begin, (size_t)(r->end - r->begin)));
    const size_t len = byte_reader_u16(&in);
    if (in.failed) {
        return TCP_FRAME_INCOMPLETE;
    }
    if (len < TCP_FRAME_DATAGRAM_MIN || len > TCP_FRAME_DATAGRAM_MAX) {
        return TCP_FRAME_BROKEN;
    }
    const struct bytes_view datagram = byte_reader_bytes(&in, len);
    if (in.failed) {
        return TCP_FRAME_INCOMPLETE;
    }
    r->begin = (uint16_t)(r->begin + TCP_FRAME_HEADER_BYTES + len);
    *out = datagram;
    return TCP_FRAME_DATAGRAM;
}
