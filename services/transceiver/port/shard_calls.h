/*
 * shard_calls.h - the calls of one shard: made, found, ended and counted
 *
 * Owns:    the registry and its sessions, the outboxes they share, the counters, the mail for who
 *          listens to calls.
 * Gives:   after each change of a session shard_calls_settle tells its events to log and counters,
 *          plans its next deadline, and frees it when it is over.
 * Not here: sockets and the clock (event_loop.c).
 */
#ifndef EARSHOT_SHARD_CALLS_H
#define EARSHOT_SHARD_CALLS_H

#include "common/runtime/log.h"
#include "common/runtime/metrics.h"
#include "services/transceiver/core/session/call_index.h"
#include "services/transceiver/port/call_setup.h"
#include "services/transceiver/port/event_post.h"

/* Of data channels: which way they were to go. */
enum shard_messages { SHARD_MESSAGES_TO_CLIENT, SHARD_MESSAGES_TO_BACKEND, SHARD_MESSAGES_COUNT };

struct shard_counters {
    metric_value sessions_active; /* calls, and those that are saying goodbye */
    metric_value sessions_pending;
    metric_value sessions_created;
    metric_value sessions_ended[SESSION_END_REASON_COUNT];
    metric_value ice_restarts;
    metric_value packets_sent; /* these two, and the two histograms of the client: each 10 s */
    metric_value packets_lost; /* as clients report */
    metric_value audio_frames_decoded; /* down to voice_packets: of calls that have ended */
    metric_value audio_frames_concealed;
    metric_value red_packets_sent;
    metric_value packets_sent_again;
    metric_value slots_skipped;
    metric_value rtcp_compounds[RTCP_PACKET_RESULT_COUNT];
    metric_value voice_packets[VOICE_UPLINK_RESULT_COUNT];
    metric_value speech_frames[VOICE_DOWNLINK_RESULT_COUNT];
    metric_value speech_underruns;
    metric_value outbox_dropped;
    metric_value backend_losses; /* calls whose backend went away while they ran */
    metric_value backend_resumes;
    metric_value backend_restarts;
    metric_value messages_ignored; /* of backends; this and the next ones: of calls that ended */
    metric_value events_in;
    metric_value events_out;
    metric_value messages_dropped[SHARD_MESSAGES_COUNT];
    metric_value channels_opened;
    metric_value channels_refused;
    metric_value opus_complexity; /* see encoder_effort.h */
    metric_value opus_steps_down;
    metric_value sidebands_attached;
    metric_value events_injected;
    struct event_post_counters post;
    struct metric_histogram setup_ice;
    struct metric_histogram setup_dtls;
    struct metric_histogram setup_first_audio;
    struct metric_histogram client_rtt;
    struct metric_histogram client_jitter;
};

struct shard_calls_config {
    const struct transceiver_config *config;
    unsigned shard;
    uint32_t instance_id;
    struct key_ring *key_ring; /* borrowed; see shard_calls_set_key_ring */
    const struct dtls_identity *identity;
    const struct voice_silences *silences;
    struct random_source random; /* passwords, SSRCs */
    uint64_t unix_offset_us;     /* Unix time less now_us */
};

struct shard_calls {
    struct call_setup setup;
    struct session_registry *registry;
    struct call_index *index;
    struct outbox *outbox;
    struct sideband_outbox *sidebands;
    struct event_mail *mail;
    struct event_post post;
    struct shard_counters counters;
    struct encoder_effort effort; /* read by every session */
    bool has_homeless;            /* sessions whose connection broke may still want another */
    size_t homeless_cursor;
    uint64_t move_us;               /* when they are given one, if there is one */
    bool is_draining;               /* no new calls */
    uint64_t expire_us;             /* see call_drain.h; TIME_NEVER: not, or done */
    struct log_limit created_limit; /* who makes calls by the thousand fills no log */
    struct log_limit connected_limit;
    struct log_limit ended_limit;
    struct log_limit backend_limit;
    struct log_limit restarted_limit;
    struct control_session_row rows[CONTROL_ROWS_MAX]; /* of the last page */
};

MUST_USE bool shard_calls_init(struct shard_calls *calls, const struct shard_calls_config *config);
void shard_calls_deinit(struct shard_calls *calls);
void shard_calls_set_key_ring(struct shard_calls *calls, struct key_ring *ring);

/* Fills *out; what it borrows is valid until the next call. */
void shard_calls_answer(struct shard_calls *calls, const struct control_request *request,
                        bool is_backend_up, struct control_reply *out, uint64_t now_us);
/* How busy the thread was: the encoders follow it. */
void shard_calls_note_load(struct shard_calls *calls, uint64_t busy_permille, uint64_t now_us);
/* What is for side-bands and signaling goes into the mail: once in a turn. */
void shard_calls_post(struct shard_calls *calls);
/* The session may be gone afterwards. Its next tick is later than now_us. */
void shard_calls_settle(struct shard_calls *calls, struct session *s, uint64_t now_us);

/* The connection of this session to its backend is gone. */
void shard_calls_backend_lost(struct shard_calls *calls, uint32_t session_id, uint64_t now_us);
/* It could not begin on the connection that it got: in a while it tries again. */
void shard_calls_backend_refused(struct shard_calls *calls, uint32_t session_id, uint64_t now_us);
/* When a backend is of use to sessions that have none; TIME_NEVER: all have one. */
uint64_t shard_calls_next_move(const struct shard_calls *calls);
/* A backend has room for so many: some of the sessions without one are given to it, the others at
 * the next call: shard_calls_next_move. */
void shard_calls_backend_found(struct shard_calls *calls, bool can_resume, size_t room,
                               uint64_t now_us);

#endif
