/*
 * srtp_transport.h - SRTP and SRTCP of one session (RFC 3711, RFC 7714)
 *
 * Takes:   RTP and RTCP packets, protected or not, and changes them in place.
 * Safety:  lengths are checked before libsrtp sees a packet. Replay window of 256. One context per
 *          direction. At most SRTP_TRANSPORT_SSRC_MAX inbound SSRCs live at once: when one more
 *          authenticates, the one that has been silent longest, for SRTP_TRANSPORT_SILENCE_US or
 *          more, is retired, and refused for the rest of the call, because its replay window is
 *          gone. Else, and after SRTP_TRANSPORT_RETIRED_MAX, the new one is refused.
 * Room:    protect needs SRTP_TRANSPORT_TRAILER_BYTES behind the packet.
 * Not here: what is in a packet (core/rtp), where it came from (session.c).
 */
#ifndef EARSHOT_SRTP_TRANSPORT_H
#define EARSHOT_SRTP_TRANSPORT_H

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/transport/srtp_keys.h"

#define SRTP_TRANSPORT_TRAILER_BYTES 20 /* tag of 16 and, for SRTCP, an index of 4 */
#define SRTP_TRANSPORT_SSRC_MAX      4
#define SRTP_TRANSPORT_RETIRED_MAX   28
#define SRTP_TRANSPORT_SILENCE_US    (30 * US_PER_S)

enum srtp_transport_result {
    SRTP_TRANSPORT_OK,
    SRTP_TRANSPORT_SHORT,      /* no room for its own header and tag */
    SRTP_TRANSPORT_MALFORMED,  /* version, CSRC count or extension do not fit */
    SRTP_TRANSPORT_AUTH,       /* forged or damaged */
    SRTP_TRANSPORT_REPLAY,     /* seen before, or older than the window */
    SRTP_TRANSPORT_SSRC_LIMIT, /* one SSRC too many */
    SRTP_TRANSPORT_NO_ROOM,    /* protect: no space for the trailer */
    SRTP_TRANSPORT_FAILED,     /* libsrtp refused for another reason */
    SRTP_TRANSPORT_RESULT_COUNT
};

struct srtp_transport;

/* Once per process, before any create and before other threads start: libsrtp with our ciphers,
 * each proven by a known answer. */
MUST_USE bool srtp_transport_init(struct fault *fault);

/* keys->profile is not SRTP_PROFILE_NONE; keys may be cleansed after it. NULL: out of memory. */
MUST_USE struct srtp_transport *srtp_transport_create(const struct srtp_keys *keys,
                                                      uint32_t send_ssrc);
void srtp_transport_destroy(struct srtp_transport *t);

/* packet->len grows by the trailer, within packet->cap. Only packets of send_ssrc, each sequence
 * number once: a repeat must be the same protected bytes, not a second call. */
enum srtp_transport_result srtp_transport_protect_rtp(struct srtp_transport *t,
                                                      struct bytes_span *packet);
enum srtp_transport_result srtp_transport_protect_rtcp(struct srtp_transport *t,
                                                       struct bytes_span *packet);

/* packet->len shrinks to the plain packet. Unless OK the bytes are of no use. is_newest: newer than
 * all authentic packets of its SSRC before, so its sender is the peer and not a repeater. */
enum srtp_transport_result srtp_transport_unprotect_rtp(struct srtp_transport *t,
                                                        struct bytes_span *packet, bool *is_newest,
                                                        uint64_t now_us);
enum srtp_transport_result srtp_transport_unprotect_rtcp(struct srtp_transport *t,
                                                         struct bytes_span *packet, bool *is_newest,
                                                         uint64_t now_us);

#endif
