/*
 * session.h - one call: where the client's transport, the voice and the backend meet
 *
 * Takes:   datagrams of the client, frames of the backend, time.
 * Gives:   datagrams and frames in the shard's outbox, events to poll.
 * Order:   create; then one change (input, tick, end, lost), drain events and outbox, sleep until
 *          next_timeout. When session_is_over, destroy.
 * Backend: a connection that breaks leaves the call alone: what is queued is spoken, then silence,
 *          and 2 s of the client's voice are kept. The owner says session_backend_found on the next
 *          connection; after 5 s without, the call ends.
 * Bounds:  set-up within setup_timeout_us, the call within duration_max_us. A full outbox loses
 *          what is sent meanwhile, as a network would; the clocks go on.
 * Not here: ICE, DTLS and SRTP (client_leg.h), codecs and clocks (voice_uplink.h and
 *          voice_downlink.h), sockets, and whom an id belongs to (port/event_loop.c).
 */
#ifndef EARSHOT_SESSION_H
#define EARSHOT_SESSION_H

#include "common/base/random.h"
#include "services/transceiver/core/session/backend_side.h"
#include "services/transceiver/core/session/client_leg.h"
#include "services/transceiver/core/session/data_side.h"
#include "services/transceiver/core/session/session_event.h"
#include "services/transceiver/core/session/voice_side.h"

#define SESSION_CALL_ID_CAP  65
#define SESSION_TENANT_BYTES 16
/* How long before a planned end the client hears of it, unless the call is shorter. */
#define SESSION_EXPIRING_US (30 * US_PER_S)
/* How long the first words wait for a sign that the client can decrypt them. */
#define SESSION_VOICE_HOLD_US (1500 * US_PER_MS)

struct session_config {
    uint32_t session_id;
    uint8_t tenant[SESSION_TENANT_BYTES];
    const struct sdp_offer *offer;         /* read by create only */
    const char *ice_ufrag;                 /* ours: the routing token; read by create only */
    const char *ice_pwd;                   /* ours; read by create only */
    const struct dtls_identity *identity;  /* read by create only */
    struct backend_start backend_start;    /* read by create only; with the call's id */
    const struct voice_silences *silences; /* borrowed */
    struct outbox *outbox;                 /* borrowed */
    struct sideband_outbox *sidebands;     /* borrowed */
    struct random_source random;           /* borrowed: a resume needs a fresh token */
    uint64_t offer_us;                     /* when signaling had the offer; 0 = not known */
    uint64_t unix_offset_us;               /* Unix time less now_us */
    uint64_t setup_timeout_us;
    uint64_t duration_max_us;
    uint32_t bitrate_bps;                /* of Opus to the client; 0 = as voice_encoder.h has it */
    const struct encoder_effort *effort; /* borrowed; NULL: likewise */
    bool idle_sparse;                    /* see voice_sender.h */
    const char *event_label;             /* these three as in data_channels.h */
    bool has_event_stream;
    uint16_t event_stream;
};

struct session_stats {
    struct voice_uplink_stats uplink;
    struct voice_uplink_quality quality;
    struct voice_downlink_stats downlink;
    struct voice_sender_stats voice;
    struct rtp_sender_stats sender;
    struct voice_rtcp_stats rtcp;
    uint64_t sent_again; /* packets that the client asked for with a NACK */
    struct data_side_stats data;
    struct data_channels_stats channels;
};

struct session;

/* The backend's SESSION_START is in the outbox afterwards. NULL: out of memory, or a SESSION_START
 * that is too long. */
struct session *session_create(const struct session_config *config, uint64_t now_us);
void session_destroy(struct session *s);

uint32_t session_id(const struct session *s);
/* Shorter than SESSION_CALL_ID_CAP. */
const char *session_call_id(const struct session *s);
const uint8_t *session_tenant(const struct session *s);
/* The SSRC of our audio, for the answer. */
uint32_t session_ssrc(const struct session *s);
const struct session_timeline *session_timeline(const struct session *s);
/* Of the ICE generation that is current. */
const struct client_leg_ice *session_ice(const struct session *s);
/* What is known of the client's path. */
struct client_leg_path session_path(const struct session *s);
struct session_stats session_stats(const struct session *s);
/* Borrowed: the numbers of the audio that leaves. */
struct rtp_sender *session_rtp_sender(const struct session *s);
bool session_is_connected(const struct session *s);
/* Ended, and everything that had to be said was said. */
bool session_is_over(const struct session *s);

/* datagram is changed in place. */
enum client_leg_result session_input_datagram(struct session *s, struct bytes_span *datagram,
                                              const struct net_path *from, uint64_t now_us);
/* False: the payload is not what its type says. The connection can not go on; the session can. */
MUST_USE bool session_input_frame(struct session *s, const struct backend_frame *frame,
                                  uint64_t now_us);
/* A new ICE generation, its number one above the current one's: see client_leg_restart_ice. */
void session_restart_ice(struct session *s, const struct client_leg_ice *next, uint64_t now_us);
/* Its connection to the backend is gone. */
void session_backend_lost(struct session *s, uint64_t now_us);
/* It has none and wants one: session_backend_found. */
bool session_wants_backend(const struct session *s);
void session_backend_found(struct session *s, bool can_resume, uint64_t now_us);
/* Side-bands: see sidebands.h and backend_side.h. A call that has ended has none. */
const struct sidebands *session_sidebands(const struct session *s);
enum sidebands_result session_attach_sideband(struct session *s, uint32_t id, uint64_t lease_us,
                                              uint64_t now_us);
void session_detach_sideband(struct session *s, uint32_t id, uint64_t now_us);
enum backend_side_injected session_inject_event(struct session *s, uint32_t sideband_id,
                                                struct bytes_view event, uint64_t now_us);
/* The owner will end it in SESSION_EXPIRING_US: the client hears of that, once. Of the call's own
 * limit a session tells by itself. */
void session_expire(struct session *s, uint64_t now_us);
/* Tells both ends. A second end changes nothing. */
void session_end(struct session *s, enum session_end_reason reason, uint64_t now_us);

void session_tick(struct session *s, uint64_t now_us);
uint64_t session_next_timeout(const struct session *s);
MUST_USE bool session_poll_event(struct session *s, struct session_event *out);

#endif
