/*
 * voice_uplink.h - the client's voice on its way to the backend
 *
 * Takes:   RTP packets that SRTP let through, and time.
 * Gives:   AUDIO_IN frames in the outbox, in order, the moment each can be given; where audio is
 *          missing a frame says so (concealed, silence, discontinuity). Never a playout delay.
 * Owns:    numbering, reorder buffer, decoder; no heap after attach.
 * Units:   time_us of a frame is the session clock: microseconds since the session began.
 * Until:   voice_uplink_attach the rate is not known: packets are counted and dropped.
 * Fails:   a packet that is not decoded leaves a hole: the next frame says discontinuity.
 * Source:  docs/architecture.md, "Follow one packet".
 * Not here: SRTP (session.c), reports to the peer (voice_rtcp.h).
 */
#ifndef EARSHOT_VOICE_UPLINK_H
#define EARSHOT_VOICE_UPLINK_H

#include "common/backend_link/backend_payload.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"
#include "services/transceiver/core/voice_codec.h"

struct voice_uplink_config {
    uint32_t session_id;
    enum voice_codec codec;
    uint8_t payload_type;
    uint64_t start_us;     /* when the session clock was 0 */
    struct outbox *outbox; /* borrowed */
};

enum voice_uplink_result {
    VOICE_UPLINK_TAKEN,
    VOICE_UPLINK_NOT_ACCEPTED,  /* dropped: the backend has not accepted the session yet */
    VOICE_UPLINK_OTHER_PAYLOAD, /* fills its place in the order, carries no audio */
    VOICE_UPLINK_RETIRED_SSRC,
    VOICE_UPLINK_JUMP,
    VOICE_UPLINK_DUPLICATE,
    VOICE_UPLINK_LATE,
    VOICE_UPLINK_REFUSED, /* too large, or the reorder buffer is full */
    VOICE_UPLINK_RESULT_COUNT
};

/* "not_accepted": the label of the counter. */
const char *voice_uplink_result_name(enum voice_uplink_result result);

struct voice_uplink_stats {
    uint64_t packets[VOICE_UPLINK_RESULT_COUNT]; /* what became of each */
    uint64_t frames;                             /* AUDIO_IN with samples */
    uint64_t concealed;                          /* of those, invented ones */
    uint64_t undecoded; /* taken packets, and gaps, that gave no samples: malformed, over budget */
};

struct voice_uplink;

struct voice_uplink *voice_uplink_create(const struct voice_uplink_config *config);
void voice_uplink_destroy(struct voice_uplink *u);

/* A backend listens from here on, and from the session time from_us on: what is held since then is
 * sent first. False: a format that is not PCM16 at 16 or 24 kHz, or no memory. */
MUST_USE bool voice_uplink_attach(struct voice_uplink *u, struct backend_format in,
                                  uint64_t from_us, uint64_t now_us);
/* The backend is away: nothing is sent until the next attach. */
void voice_uplink_detach(struct voice_uplink *u);
/* The session time of the oldest audio that an attach can still send. */
uint64_t voice_uplink_history_from_us(const struct voice_uplink *u);

enum voice_uplink_result voice_uplink_input(struct voice_uplink *u, const struct rtp_packet *packet,
                                            uint64_t now_us);
void voice_uplink_tick(struct voice_uplink *u, uint64_t now_us);
uint64_t voice_uplink_next_timeout(const struct voice_uplink *u);

/* Borrowed: the numbers that reports are made of. */
struct rtp_receiver *voice_uplink_receiver(struct voice_uplink *u);
const struct voice_uplink_stats *voice_uplink_stats(const struct voice_uplink *u);

#endif
