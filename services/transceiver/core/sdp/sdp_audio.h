/*
 * sdp_audio.h - the codec of an audio section, and what goes with it
 *
 * Takes:   a section's attributes, and the payload types of its m-line in their order.
 * Gives:   the first of Opus, PCMU and PCMA in that order: it is the client's (RFC 3264 s.5.1);
 *          with Opus the RED whose blocks are all of it; the telephone-event of the codec's clock.
 */
#ifndef EARSHOT_SDP_AUDIO_H
#define EARSHOT_SDP_AUDIO_H

#include "services/transceiver/core/sdp/sdp_attributes.h"

/* False, and nothing of `out` changed, when none of ours is among them. */
MUST_USE bool sdp_audio_choose(const struct sdp_attributes *a, struct bytes_view payload_types,
                               struct sdp_offer *out);

#endif
