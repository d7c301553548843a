/* datagram_kind.c - see datagram_kind.h */
#include "services/transceiver/core/datagram_kind.h"

enum datagram_kind datagram_kind_of(struct bytes_view datagram)
{
    if (datagram.len < 2) {
        return DATAGRAM_UNKNOWN;
    }
    const uint8_t first = datagram.data[0];
    if (first <= 3) {
        return DATAGRAM_STUN;
    }
    if (first >= 20 && first <= 63) {
        return DATAGRAM_DTLS;
    }
    if (first < 128 || first > 191) {
        return DATAGRAM_UNKNOWN;
    }
    const uint8_t second = datagram.data[1];
    return second >= 192 && second <= 223 ? DATAGRAM_RTCP : DATAGRAM_RTP;
}
