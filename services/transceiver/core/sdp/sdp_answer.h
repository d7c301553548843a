/*
 * sdp_answer.h - our answer to an offer that was accepted
 *
 * Gives:   same sections, order, mids and protocol words as the offer; CR LF, and a line end after
 *          the last line (Chromium refuses an answer without it). Directions are mirrored, what is
 *          not used has port 0 and is outside the BUNDLE group.
 * Rule:    all of the audio section that sdp_offer.h has a field for is used. What is not to be
 *          used, as RED where the configuration says so, is taken out of the offer before.
 * Units:   max_message_bytes: the longest data channel message that we take.
 * Source:  RFC 9429 s.5.3; RFC 8839 and RFC 6544 (candidates), RFC 8841 (data), RFC 7587 (Opus).
 */
#ifndef EARSHOT_SDP_ANSWER_H
#define EARSHOT_SDP_ANSWER_H

#include "services/transceiver/core/sdp/sdp_candidate.h"
#include "services/transceiver/core/sdp/sdp_offer.h"

#define SDP_ANSWER_BYTES_MAX 16384
#define SDP_ANSWER_SCTP_PORT 5000 /* ours; the client's is in the offer */

struct sdp_answer {
    uint64_t origin_id;    /* of the o= line */
    const char *ice_ufrag; /* ROUTING_TOKEN_CHARS characters and a NUL */
    const char *ice_pwd;
    struct sdp_candidate candidate[SDP_CANDIDATES_MAX]; /* in order of preference */
    size_t candidate_count;
    uint8_t fingerprint_sha256[32];
    bool setup_active; /* else passive: so when the offer is SDP_SETUP_ACTIVE */
    uint32_t ssrc;     /* of the audio we send */
    uint64_t max_message_bytes;
};

/* Length written, 0 when it does not fit cap (it fits SDP_ANSWER_BYTES_MAX). No NUL is added. */
size_t sdp_answer_write(const struct sdp_offer *offer, const struct sdp_answer *answer, char *text,
                        size_t cap);

#endif
