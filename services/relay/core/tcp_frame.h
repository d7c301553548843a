/*
 * tcp_frame.h - datagrams in a TCP stream: two bytes of length, then the datagram
 *
 * Takes:   bytes of the stream, read into the room that the reader offers.
 * Gives:   one whole datagram after the other, borrowed until more room is asked for.
 * Owns:    room for one frame: nothing is read ahead beyond it.
 * Fails:   a length outside TCP_FRAME_DATAGRAM_MIN..TCP_FRAME_DATAGRAM_MAX breaks the stream for
 *          good: nobody knows where its next frame begins.
 * Source:  RFC 4571 s.2 as RFC 6544 s.3 uses it; bounds: docs/wire-formats.md, 4.
 */
#ifndef EARSHOT_TCP_FRAME_H
#define EARSHOT_TCP_FRAME_H

#include "common/base/bytes.h"

#define TCP_FRAME_HEADER_BYTES 2
#define TCP_FRAME_DATAGRAM_MIN 20 /* a STUN header; media is longer */
#define TCP_FRAME_DATAGRAM_MAX 1500
#define TCP_FRAME_BYTES_MAX    (TCP_FRAME_HEADER_BYTES + TCP_FRAME_DATAGRAM_MAX)

enum tcp_frame_result {
    TCP_FRAME_DATAGRAM,
    TCP_FRAME_INCOMPLETE, /* there is room for the rest */
    TCP_FRAME_BROKEN
};

struct tcp_frame_reader {
    uint16_t begin; /* of what was not taken yet */
    uint16_t end;
    uint8_t bytes[TCP_FRAME_BYTES_MAX];
};

void tcp_frame_reader_init(struct tcp_frame_reader *r);

/* Where the next bytes of the stream go; cap is never 0 after TCP_FRAME_INCOMPLETE. */
struct bytes_span tcp_frame_reader_room(struct tcp_frame_reader *r);
/* len bytes were read into the room. */
void tcp_frame_reader_filled(struct tcp_frame_reader *r, size_t len);
/* *out is set only on TCP_FRAME_DATAGRAM. */
enum tcp_frame_result tcp_frame_reader_take(struct tcp_frame_reader *r, struct bytes_view *out);

#endif
