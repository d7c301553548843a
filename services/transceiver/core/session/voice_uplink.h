/*
 * voice_uplink.h - the client's voice on its way to the backend
 *
 * Takes:   RTP packets that SRTP let through, and time.
 * Gives:   AUDIO_IN frames in the outbox, in order, the moment each can be given; where audio is
 *          missing a frame says so (concealed, silence, discontinuity). Never a playout delay.
 *          SPEECH frames, a hint, and DTMF frames.
 * Owns:    numbering, reorder buffer, the last 2 s still coded, decoder. The heap is used at
 *          create, for the first packet, and at attach; never else.
 * Units:   time_us of a frame is the session clock: microseconds since the session began.
 * Until:   voice_uplink_attach the voice runs into the history; so it does while the backend is
 *          away. What it missed is sent then, flagged late, some 200 ms each millisecond so that
 *          other calls keep their time.
 * Fails:   a packet that is not decoded leaves a hole: the next frame says discontinuity.
 * Source:  docs/architecture.md, "Follow one packet".
 * Not here: SRTP (session.c), reports to the peer (voice_rtcp.h), samples (audio_in.h).
 */
#ifndef EARSHOT_VOICE_UPLINK_H
#define EARSHOT_VOICE_UPLINK_H

#include "common/backend_link/backend_payload.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"
#include "services/transceiver/core/sdp/sdp_offer.h"

struct voice_uplink_config {
    uint32_t session_id;
    const struct sdp_offer *offer; /* read by create only */
    uint64_t start_us;             /* when the session clock was 0 */
    struct outbox *outbox;         /* borrowed */
};

enum voice_uplink_result {
    VOICE_UPLINK_TAKEN,
    VOICE_UPLINK_OTHER_PAYLOAD,   /* fills its place in the order, carries no audio */
    VOICE_UPLINK_EMPTY,           /* likewise: no payload at all */
    VOICE_UPLINK_UNKNOWN_PAYLOAD, /* of a new SSRC, and not a payload type of the answer */
    VOICE_UPLINK_OTHER_MID,       /* of another section of the offer */
    VOICE_UPLINK_RETIRED_SSRC,
    VOICE_UPLINK_JUMP,
    VOICE_UPLINK_MISPLACED, /* overtaken, with a time that is not that of its place */
    VOICE_UPLINK_DUPLICATE,
    VOICE_UPLINK_LATE,
    VOICE_UPLINK_MALFORMED,     /* not of its codec: repaired as if it had been lost */
    VOICE_UPLINK_TOO_LARGE,     /* likewise */
    VOICE_UPLINK_RED_TRUNCATED, /* likewise, as are the next three */
    VOICE_UPLINK_RED_LENGTH,
    VOICE_UPLINK_RED_BLOCKS,
    VOICE_UPLINK_RED_NESTED,
    VOICE_UPLINK_REFUSED,       /* the reorder buffer is full */
    VOICE_UPLINK_RTP_TRUNCATED, /* not to be read as RTP, as are the next two */
    VOICE_UPLINK_RTP_VERSION,
    VOICE_UPLINK_RTP_PADDING,
    VOICE_UPLINK_NO_MEMORY, /* for the first packet */
    VOICE_UPLINK_RESULT_COUNT
};

/* "other_mid": the label of the counter. */
const char *voice_uplink_result_name(enum voice_uplink_result result);

struct voice_uplink_stats {
    uint64_t packets[VOICE_UPLINK_RESULT_COUNT]; /* what became of each */
    uint64_t red_packets;                        /* of those, of the RED payload type */
    uint64_t frames;                             /* AUDIO_IN with samples */
    uint64_t concealed;                          /* of those, invented ones */
    uint64_t undecoded; /* taken packets, and gaps, that gave no samples: malformed, over budget */
};

/* How the network is, and what was done about it. Counts and times are of the whole call. */
struct voice_uplink_quality {
    uint64_t expected; /* packets that were sent to us */
    uint64_t received;
    uint64_t late; /* came after they were given up */
    uint64_t concealed_us;
    uint64_t fec_us;
    uint64_t red_us;
    uint64_t jitter_us;
    int32_t drift_ppm;  /* how much faster than ours the client's clock runs */
    int32_t level_dbov; /* -127..0, the client's own word (RFC 6464); -127 before any */
};

struct voice_uplink;

struct voice_uplink *voice_uplink_create(const struct voice_uplink_config *config);
void voice_uplink_destroy(struct voice_uplink *u);

/* A backend listens from here on, and from the session time from_us on: what is held since then is
 * sent first. Attached before is detached. False: a format that can not be made of the client's
 * codec (audio_in.h), or no memory. */
MUST_USE bool voice_uplink_attach(struct voice_uplink *u, struct backend_format in,
                                  uint64_t from_us, uint64_t now_us);
/* The backend is away: nothing is sent until the next attach. When it comes back it is told the end
 * of a voice whose begin it was told. */
void voice_uplink_detach(struct voice_uplink *u);
/* The backend that comes next knows nothing: it is told anew that the client speaks. */
void voice_uplink_restart(struct voice_uplink *u);
/* The session time of the oldest audio that an attach can still send; 0 when there is none. */
uint64_t voice_uplink_history_from_us(const struct voice_uplink *u);

/* The client has begun to speak, as far as a backend was told, since the last call. */
MUST_USE bool voice_uplink_take_onset(struct voice_uplink *u);

enum voice_uplink_result voice_uplink_input(struct voice_uplink *u, const struct rtp_packet *packet,
                                            uint64_t now_us);
/* A datagram that rtp_packet_parse refused; counted. */
void voice_uplink_note_refused(struct voice_uplink *u, enum rtp_packet_result why);
void voice_uplink_tick(struct voice_uplink *u, uint64_t now_us);
uint64_t voice_uplink_next_timeout(const struct voice_uplink *u);

/* Borrowed: the numbers that reports are made of. */
struct rtp_receiver *voice_uplink_receiver(struct voice_uplink *u);
const struct voice_uplink_stats *voice_uplink_stats(const struct voice_uplink *u);
struct voice_uplink_quality voice_uplink_quality(const struct voice_uplink *u);

#endif
