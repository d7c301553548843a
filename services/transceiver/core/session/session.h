/*
 * session.h - one call: where the client's transport, the voice and the backend meet
 *
 * Takes:   datagrams of the client, frames of the backend, time.
 * Gives:   datagrams and frames in the shard's outbox, events to poll.
 * Order:   create; then one change (input, tick, end, lost), drain events and outbox, sleep until
 *          next_timeout. When session_is_over, destroy.
 * Bounds:  set-up within setup_timeout_us, the call within duration_max_us. A full outbox loses
 *          what is sent meanwhile, as a network would; the clocks go on.
 * Not here: ICE, DTLS and SRTP (client_leg.h), codecs and clocks (voice_uplink.h and
 *          voice_downlink.h), sockets, and whom an id belongs to (port/event_loop.c).
 */
#ifndef EARSHOT_SESSION_H
#define EARSHOT_SESSION_H

#include "common/base/random.h"
#include "services/transceiver/core/session/backend_leg.h"
#include "services/transceiver/core/session/client_leg.h"
#include "services/transceiver/core/session/voice_downlink.h"
#include "services/transceiver/core/session/voice_uplink.h"

#define SESSION_CALL_ID_CAP  65
#define SESSION_TENANT_BYTES 16

struct session_config {
    uint32_t session_id;
    char call_id[SESSION_CALL_ID_CAP];
    uint8_t tenant[SESSION_TENANT_BYTES];
    const struct sdp_offer *offer;         /* read by create only */
    const char *ice_ufrag;                 /* ours: the routing token; read by create only */
    const char *ice_pwd;                   /* ours; read by create only */
    const struct dtls_identity *identity;  /* read by create only */
    struct backend_start backend_start;    /* read by create only */
    const struct voice_silences *silences; /* borrowed */
    struct outbox *outbox;                 /* borrowed */
    struct random_source random;           /* used by create only */
    uint64_t unix_offset_us;               /* Unix time less now_us */
    uint64_t setup_timeout_us;
    uint64_t duration_max_us;
    uint32_t bitrate_bps; /* of Opus to the client; 0 = as voice_encoder.h has it */
    unsigned complexity;  /* likewise, with bitrate_bps */
};

enum session_end_reason {
    SESSION_END_HANGUP,        /* signaling was asked to end it */
    SESSION_END_CLIENT_CLOSED, /* the client closed DTLS */
    SESSION_END_CLIENT_LOST,   /* nothing authentic for 30 s */
    SESSION_END_SETUP_TIMEOUT,
    SESSION_END_DURATION,
    SESSION_END_FINGERPRINT,         /* the certificate is not that of the offer */
    SESSION_END_DTLS,                /* the handshake failed otherwise */
    SESSION_END_SRTP,                /* the client negotiated none */
    SESSION_END_BACKEND_UNAVAILABLE, /* no ACCEPT in time, or a REJECT */
    SESSION_END_BACKEND_ENDED,
    SESSION_END_BACKEND_LOST,
    SESSION_END_SHUTDOWN,
    SESSION_END_REASON_COUNT
};

/* "client_lost": the word of logs, metrics and messages. */
const char *session_end_reason_name(enum session_end_reason reason);

/* Microseconds of now_us; 0 = has not happened. */
struct session_timeline {
    uint64_t created_us;
    uint64_t first_check_us;
    uint64_t connected_us; /* DTLS is done, media can flow */
    uint64_t first_audio_in_us;
    uint64_t first_audio_out_us;
    uint64_t ended_us;
};

enum session_event_kind { SESSION_EVENT_CONNECTED, SESSION_EVENT_ENDED };

struct session_event {
    enum session_event_kind kind;
    enum session_end_reason reason; /* ENDED */
};

struct session_stats {
    struct voice_uplink_stats uplink;
    struct voice_sender_stats voice;
    struct rtp_sender_stats sender;
};

struct session;

/* The backend's SESSION_START is in the outbox afterwards. NULL: out of memory, or a SESSION_START
 * that is too long. */
struct session *session_create(const struct session_config *config, uint64_t now_us);
void session_destroy(struct session *s);

uint32_t session_id(const struct session *s);
const char *session_call_id(const struct session *s);
const uint8_t *session_tenant(const struct session *s);
/* The SSRC of our audio, for the answer. */
uint32_t session_ssrc(const struct session *s);
const struct session_timeline *session_timeline(const struct session *s);
struct session_stats session_stats(const struct session *s);
bool session_is_connected(const struct session *s);
/* Ended, and everything that had to be said was said. */
bool session_is_over(const struct session *s);

/* datagram is changed in place. */
enum client_leg_result session_input_datagram(struct session *s, struct bytes_span *datagram,
                                              const struct net_path *from, uint64_t now_us);
void session_input_frame(struct session *s, const struct backend_frame *frame, uint64_t now_us);
/* The link to the backend is gone. */
void session_backend_lost(struct session *s, uint64_t now_us);
/* Tells both ends. A second end changes nothing. */
void session_end(struct session *s, enum session_end_reason reason, uint64_t now_us);

void session_tick(struct session *s, uint64_t now_us);
uint64_t session_next_timeout(const struct session *s);
MUST_USE bool session_poll_event(struct session *s, struct session_event *out);

#endif
