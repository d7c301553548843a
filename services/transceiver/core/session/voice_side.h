/*
 * voice_side.h - the voice of a call: both directions, and the RTCP between them
 *
 * Takes:   plain RTP and RTCP of the client, time. What the backend says goes to the two directions
 *          by itself (backend_side.h).
 * Gives:   packets through the client's leg.
 * Owns:    the two directions.
 * Not here: the client's transport (client_leg.h), when a call ends (session.c).
 */
#ifndef EARSHOT_VOICE_SIDE_H
#define EARSHOT_VOICE_SIDE_H

#include "services/transceiver/core/session/client_leg.h"
#include "services/transceiver/core/session/session_timeline.h"
#include "services/transceiver/core/session/voice_downlink.h"
#include "services/transceiver/core/session/voice_rtcp.h"
#include "services/transceiver/core/session/voice_uplink.h"

struct voice_side_config {
    uint32_t session_id;
    const struct sdp_offer *offer; /* read by init only */
    struct outbox *outbox;         /* borrowed */
    struct random_source random;
    uint64_t unix_offset_us;
    uint64_t credit_us;
    uint32_t bitrate_bps;
    bool idle_sparse;
    const struct encoder_effort *effort;   /* borrowed; NULL: a constant */
    const struct voice_silences *silences; /* borrowed */
    struct session_timeline *timeline;     /* borrowed: the first audio each way */
};

struct voice_side {
    bool client_sends; /* its direction of the audio section */
    bool client_receives;
    struct voice_uplink *uplink;
    struct voice_downlink *downlink;
    struct voice_rtcp rtcp;
    uint64_t sent_again; /* packets that the client asked for with a NACK */
    struct session_timeline *timeline;
};

MUST_USE bool voice_side_init(struct voice_side *v, const struct voice_side_config *config,
                              uint64_t now_us);
/* Also after an init that failed, and of zeros. */
void voice_side_deinit(struct voice_side *v);
/* Borrowed: the numbers of the audio that leaves. */
struct rtp_sender *voice_side_sender(const struct voice_side *v);

/* Media can flow. */
void voice_side_start(struct voice_side *v, uint64_t now_us);
void voice_side_take_rtp(struct voice_side *v, struct bytes_view datagram, uint64_t now_us);
void voice_side_take_rtcp(struct voice_side *v, struct client_leg *client,
                          struct bytes_view compound, uint64_t now_us);
void voice_side_send_bye(struct voice_side *v, struct client_leg *client, uint64_t now_us);
/* All that was to be spoken has left, or nobody listens. */
bool voice_side_is_said(const struct voice_side *v);

void voice_side_tick(struct voice_side *v, struct client_leg *client, uint64_t now_us);
uint64_t voice_side_next_timeout(const struct voice_side *v);

#endif
