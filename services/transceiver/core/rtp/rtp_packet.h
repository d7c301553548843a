/*
 * rtp_packet.h - an RTP packet (RFC 3550 s.5.1) as a plain value
 *
 * Takes:   a datagram after SRTP was taken off; nothing in it is believed.
 * Gives:   the header's fields, and payload and extensions borrowed from the datagram.
 * Fails:   with a reason; then *out is not to be read.
 * Not here: what the payload means (core/media), sequence arithmetic (rtp_receiver.h).
 */
#ifndef EARSHOT_RTP_PACKET_H
#define EARSHOT_RTP_PACKET_H

#include "common/base/bytes.h"

#define RTP_PACKET_HEADER_BYTES 12 /* without CSRC list and extensions, as we send it */

struct rtp_packet {
    bool marker;
    uint8_t payload_type; /* 0..127 */
    uint16_t sequence_number;
    uint32_t timestamp;
    uint32_t ssrc;
    uint16_t extension_profile; /* 0xBEDE or 0x100x (RFC 8285), else not understood; 0 = none */
    struct bytes_view extension;
    struct bytes_view payload; /* without padding; may be empty */
};

enum rtp_packet_result {
    RTP_PACKET_OK,
    RTP_PACKET_TRUNCATED, /* header, CSRC list or extension pass the end */
    RTP_PACKET_VERSION,   /* not 2 */
    RTP_PACKET_PADDING    /* a padding count of 0, or of more than the payload */
};

enum rtp_packet_result rtp_packet_parse(struct bytes_view datagram, struct rtp_packet *out);

/* Bytes of header, CSRC list and extension, 0 when they do not fit the datagram or the version is
 * not 2. These are in the clear under SRTP: to be checked before it is taken off. */
size_t rtp_packet_header_bytes(struct bytes_view datagram);

/* The element `id` (1..255) of the header extensions. False when there is none; an element that is
 * cut short, or reserved, ends the search. Borrowed as `p` is; an element may be empty. */
MUST_USE bool rtp_packet_find_extension(const struct rtp_packet *p, uint8_t id,
                                        struct bytes_view *out);

/* Fields as in p; extension and payload are not written. */
void rtp_packet_write_header(const struct rtp_packet *p, uint8_t out[RTP_PACKET_HEADER_BYTES]);

#endif
