/*
 * datagram_kind.h - what a client's datagram is, by its first bytes (RFC 7983, RFC 5761)
 */
#ifndef EARSHOT_DATAGRAM_KIND_H
#define EARSHOT_DATAGRAM_KIND_H

#include "common/base/bytes.h"

enum datagram_kind {
    DATAGRAM_UNKNOWN, /* TURN channels, QUIC, shims, anything else */
    DATAGRAM_STUN,    /* 0..3 */
    DATAGRAM_DTLS,    /* 20..63 */
    DATAGRAM_RTP,     /* 128..191 */
    DATAGRAM_RTCP     /* 128..191 with payload type 192..223 */
};

enum datagram_kind datagram_kind_of(struct bytes_view datagram);

#endif
