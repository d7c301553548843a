/* tcp_output.c - a ring of frames as they go over the wire, and the one that was begun */
#include "services/relay/core/tcp_output.h"

#include <assert.h>

void tcp_output_init(struct tcp_output *o, uint8_t *ring)
{
    o->ring = ring;
    o->head = 0;
    o->len = 0;
    o->frame_count = 0;
    o->begun_at = 0;
    o->begun_end = 0;
}

size_t tcp_output_frame_count(const struct tcp_output *o)
{
    return o->frame_count;
}

static size_t begun_left(const struct tcp_output *o)
{
    return (size_t)(o->begun_end - o->begun_at);
}

static size_t tail(const struct tcp_output *o)
{
    return (o->head + o->len) % TCP_OUTPUT_BYTES;
}

static void put(struct tcp_output *o, const uint8_t *bytes, size_t len)
{
    const size_t at = tail(o);
    const size_t until_end = TCP_OUTPUT_BYTES - at;
    const size_t first = len < until_end ? len : until_end;
    memcpy(o->ring + at, bytes, first);
    memcpy(o->ring, bytes + first, len - first);
    o->len += len;
}

/* An empty ring begins at its beginning: so it touches no more memory than it needs. */
static void advance(struct tcp_output *o, size_t len)
{
    o->len -= len;
    o->head = o->len > 0 ? (o->head + len) % TCP_OUTPUT_BYTES : 0;
}

static size_t first_frame_bytes(const struct tcp_output *o)
{
    const size_t high = o->ring[o->head];
    const size_t low = o->ring[(o->head + 1) % TCP_OUTPUT_BYTES];
    return TCP_FRAME_HEADER_BYTES + (high << 8 | low);
}

size_t tcp_output_add(struct tcp_output *o, struct bytes_view datagram)
{
    assert(datagram.len >= 1 && datagram.len <= TCP_FRAME_DATAGRAM_MAX);
    const size_t need = TCP_FRAME_HEADER_BYTES + datagram.len;
    size_t dropped = 0;
    while (begun_left(o) + o->len + need > TCP_OUTPUT_BYTES) {
        advance(o, first_frame_bytes(o));
        o->frame_count--;
        dropped++;
    }
    const uint8_t header[TCP_FRAME_HEADER_BYTES] = {(uint8_t)(datagram.len >> 8),
                                                    (uint8_t)datagram.len};
    put(o, header, sizeof(header));
    put(o, datagram.data, datagram.len);
    o->frame_count++;
    return dropped;
}

size_t tcp_output_peek(const struct tcp_output *o, struct bytes_view piece[TCP_OUTPUT_PIECES])
{
    const size_t until_end = TCP_OUTPUT_BYTES - o->head;
    const size_t first = o->len < until_end ? o->len : until_end;
    const struct bytes_view all[TCP_OUTPUT_PIECES] = {
        bytes_view_of(o->begun + o->begun_at, begun_left(o)),
        bytes_view_of(o->ring + o->head, first),
        bytes_view_of(o->ring, o->len - first),
    };
    size_t count = 0;
    for (size_t i = 0; i < TCP_OUTPUT_PIECES; i++) {
        if (all[i].len > 0) {
            piece[count++] = all[i];
        }
    }
    return count;
}

/* Moves the first frame out of the ring, where it could be dropped. */
static void begin_frame(struct tcp_output *o)
{
    const size_t len = first_frame_bytes(o);
    const size_t until_end = TCP_OUTPUT_BYTES - o->head;
    const size_t first = len < until_end ? len : until_end;
    memcpy(o->begun, o->ring + o->head, first);
    memcpy(o->begun + first, o->ring, len - first);
    o->begun_at = 0;
    o->begun_end = (uint16_t)len;
    advance(o, len);
}

struct tcp_output_sent tcp_output_wrote(struct tcp_output *o, size_t len)
{
    assert(len <= begun_left(o) + o->len);
    struct tcp_output_sent sent = {0};
    while (len > 0) {
        if (begun_left(o) == 0) {
            begin_frame(o);
        }
        const size_t left = begun_left(o);
        const size_t step = len < left ? len : left;
        o->begun_at = (uint16_t)(o->begun_at + step);
        len -= step;
        if (begun_left(o) == 0) {
            sent.frames++;
            sent.datagram_bytes += (size_t)(o->begun_end - TCP_FRAME_HEADER_BYTES);
        }
    }
    o->frame_count -= sent.frames;
    return sent;
}
