/*
 * call_setup.h - from an offer to a session and its answer
 *
 * Takes:   one CreateSession.
 * Gives:   a session in the registry and the reply that carries its answer, or a refusal with a
 *          reason for a person. Never waits for anybody.
 * Bounds:  call_setup_capacity; sessions that are not connected yet: a quarter of it, but of less
 *          than four all; session JSON: CALL_SETUP_SESSION_JSON_MAX.
 */
#ifndef EARSHOT_CALL_SETUP_H
#define EARSHOT_CALL_SETUP_H

#include "common/control/control_message.h"
#include "common/routing/routing_token.h"
#include "services/transceiver/core/sdp/sdp_answer.h"
#include "services/transceiver/core/session/session.h"
#include "services/transceiver/core/session/session_registry.h"
#include "services/transceiver/port/transceiver_config.h"

/* It is kept as long as the call: another backend may have to be told. */
#define CALL_SETUP_SESSION_JSON_MAX 196608

struct call_setup {
    const struct transceiver_config *config;
    const struct dtls_identity *identity;
    const struct voice_silences *silences;
    const struct encoder_effort *effort; /* of the shard */
    struct key_ring *key_ring;
    struct session_registry *registry;
    struct outbox *outbox;
    struct sideband_outbox *sidebands;
    struct random_source random;
    uint32_t instance_id;
    uint64_t unix_offset_us;           /* Unix time less now_us */
    size_t pending_count;              /* sessions that are not connected yet; kept by the owner */
    uint64_t oldest_pending_us;        /* created then, as far as was looked for it */
    uint64_t oldest_again_us;          /* not before */
    char answer[SDP_ANSWER_BYTES_MAX]; /* of the last reply */
    char reason[SDP_REASON_CAP];
};

/* The share of one shard, rounded up: together they have room for session_count_max. */
size_t call_setup_capacity(const struct transceiver_config *config);

/* Where clients may send media, for an answer. */
void call_setup_candidates(const struct control_ingress *ingress, size_t count,
                           struct sdp_candidate out[SDP_CANDIDATES_MAX]);

/* out->answer_sdp and out->message are borrowed from `setup` until the next call. The id of the new
 * session, 0 after a refusal. */
uint32_t call_setup_create(struct call_setup *setup, const struct control_create_session *request,
                           bool is_backend_up, struct control_reply *out, uint64_t now_us);

#endif
