/*
 * tcp_output.h - frames that a TCP client has not taken yet
 *
 * A network that stalls is no reason to keep old voice: when the queue is full its oldest frame
 * goes. A frame that was begun is finished, or the stream would break.
 * Takes:   datagrams of 1..TCP_FRAME_DATAGRAM_MAX bytes.
 * Gives:   the bytes to write next, framed; which frames left, when the caller says how many bytes
 *          the kernel took.
 * Owns:    nothing: the ring is the caller's. Of a ring that is seldom full only the first pages
 *          are touched.
 * Bounds:  TCP_OUTPUT_BYTES with all headers.
 */
#ifndef EARSHOT_TCP_OUTPUT_H
#define EARSHOT_TCP_OUTPUT_H

#include "services/relay/core/tcp_frame.h"

#define TCP_OUTPUT_BYTES  ((size_t)64 << 10)
#define TCP_OUTPUT_PIECES 3

struct tcp_output {
    uint8_t *ring; /* TCP_OUTPUT_BYTES; whole frames, none of which was begun */
    size_t head;
    size_t len;
    size_t frame_count; /* and the begun one */
    uint16_t begun_at;  /* what is left of the frame that was begun: begun[begun_at..begun_end) */
    uint16_t begun_end;
    uint8_t begun[TCP_FRAME_BYTES_MAX];
};

struct tcp_output_sent {
    size_t frames;
    size_t datagram_bytes; /* without the frames' headers */
};

void tcp_output_init(struct tcp_output *o, uint8_t *ring);
size_t tcp_output_frame_count(const struct tcp_output *o);

/* Returns how many old frames it cost. */
size_t tcp_output_add(struct tcp_output *o, struct bytes_view datagram);
/* What is to be written next, one piece behind the other; returns how many. Valid until the queue
 * changes. */
size_t tcp_output_peek(const struct tcp_output *o, struct bytes_view piece[TCP_OUTPUT_PIECES]);
/* The kernel took the first len bytes of it. Tells of the frames that are through. */
struct tcp_output_sent tcp_output_wrote(struct tcp_output *o, size_t len);

#endif
