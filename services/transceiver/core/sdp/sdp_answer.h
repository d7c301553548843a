/*
 * sdp_answer.h - our answer to an offer that was accepted
 *
 * Gives:   same sections, order, mids and protocol words as the offer; CR LF, and a line end after
 *          the last line (Chromium refuses an answer without it).
 * Source:  client contract, section 5.
 */
#ifndef EARSHOT_SDP_ANSWER_H
#define EARSHOT_SDP_ANSWER_H

#include "common/base/net_addr.h"
#include "services/transceiver/core/sdp/sdp_offer.h"

#define SDP_ANSWER_BYTES_MAX      16384
#define SDP_ANSWER_CANDIDATES_MAX 16

struct sdp_candidate {
    struct net_addr address;
    bool is_tcp; /* passive */
};

struct sdp_answer {
    uint64_t origin_id;    /* of the o= line */
    const char *ice_ufrag; /* ROUTING_TOKEN_CHARS characters and a NUL */
    const char *ice_pwd;
    struct sdp_candidate candidate[SDP_ANSWER_CANDIDATES_MAX]; /* in order of preference */
    size_t candidate_count;
    uint8_t fingerprint_sha256[32];
    bool setup_active; /* else passive */
    uint32_t ssrc;     /* of the audio we send */
    uint64_t max_message_bytes;
};

/* Length written, 0 when it does not fit cap. */
size_t sdp_answer_write(const struct sdp_offer *offer, const struct sdp_answer *answer, char *text,
                        size_t cap);

#endif
