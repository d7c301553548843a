/*
 * sdp_candidate.h - where clients may reach us, as candidate lines
 *
 * Source:  RFC 8839 s.5.1, RFC 6544 (TCP), priorities by RFC 8445 s.5.1.2.
 */
#ifndef EARSHOT_SDP_CANDIDATE_H
#define EARSHOT_SDP_CANDIDATE_H

#include "common/base/bytes.h"
#include "common/base/net_addr.h"

#define SDP_CANDIDATES_MAX 16

struct sdp_candidate {
    struct net_addr address;
    bool is_tcp; /* passive */
};

/* In order of preference; then says that there are no more. */
void sdp_candidates_write(struct byte_writer *w, const struct sdp_candidate *candidates,
                          size_t count);

#endif
