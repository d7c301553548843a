/*
 * sdp_fragment.h - the fragment of SDP in which WHIP speaks about ICE (RFC 8840, RFC 9725)
 *
 * Takes:   a client's fragment, as it came from a stranger. Its candidates are counted and dropped:
 *          the client's addresses are learnt from its checks.
 * Gives:   its credentials, of the first section or else of the session level, and the names of
 *          that section; our fragment in reply, for the same section.
 * Bounds:  SDP_FRAGMENT_BYTES_MAX, and those of sdp_parser.h and sdp_attributes.h.
 * Fails:   with one line for a person, a constant without any byte of the fragment in it.
 */
#ifndef EARSHOT_SDP_FRAGMENT_H
#define EARSHOT_SDP_FRAGMENT_H

#include "services/transceiver/core/sdp/sdp_candidate.h"
#include "services/transceiver/core/sdp/sdp_offer.h"

#define SDP_FRAGMENT_BYTES_MAX 16384

struct sdp_fragment {
    char ice_ufrag[SDP_UFRAG_CHARS_MAX + 1]; /* both empty when absent */
    char ice_pwd[SDP_PWD_CHARS_MAX + 1];
    struct sdp_section section; /* of media_word, protocol, format and mid; all may be empty */
};

/* What we say of our side. */
struct sdp_fragment_reply {
    const char *ice_ufrag;
    const char *ice_pwd;
    struct sdp_candidate candidate[SDP_CANDIDATES_MAX];
    size_t candidate_count;
};

/* NULL, or what is wrong with it. */
const char *sdp_fragment_parse(struct bytes_view text, struct sdp_fragment *out);

/* Length written; 0 when it does not fit cap (it fits SDP_FRAGMENT_BYTES_MAX). No NUL is added. */
size_t sdp_fragment_write(const struct sdp_fragment *theirs, const struct sdp_fragment_reply *ours,
                          char *text, size_t cap);

#endif
