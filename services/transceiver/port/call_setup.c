/* call_setup.c - see call_setup.h */
#include "services/transceiver/port/call_setup.h"

#include <stdio.h>

#define RETRY_AFTER_MS 1000
/* A call that comes at all is connected by then, on a slow network too. */
#define CONNECT_PATIENCE_US (5 * US_PER_S)

_Static_assert(SESSION_TENANT_BYTES == CONTROL_TENANT_BYTES, "a tenant is a tenant");
_Static_assert(SESSION_CALL_ID_CAP == CONTROL_CALL_ID_CHARS_MAX + 1, "a call id is a call id");

static uint32_t refuse(struct control_reply *out, enum control_refusal code, const char *message,
                       uint32_t retry_after_ms)
{
    out->refusal = code;
    out->message = bytes_view_of_text(message);
    out->retry_after_ms = retry_after_ms;
    return 0;
}

size_t call_setup_capacity(const struct transceiver_config *config)
{
    return (config->session_count_max + config->shard_count - 1) / config->shard_count;
}

/* The age of the oldest call that is still being set up. Looked for once a second: a flood of
 * offers must not cost a walk each. */
static uint64_t oldest_pending_age_us(struct call_setup *setup, uint64_t now_us)
{
    if (now_us >= setup->oldest_again_us) {
        size_t cursor = 0;
        const struct session *s = NULL;
        setup->oldest_pending_us = now_us;
        while ((s = session_registry_next(setup->registry, &cursor)) != NULL) {
            const struct session_timeline *t = session_timeline(s);
            if (t->connected_us == 0 && t->ended_us == 0) {
                setup->oldest_pending_us = time_earlier(setup->oldest_pending_us, t->created_us);
            }
        }
        setup->oldest_again_us = now_us + US_PER_S;
    }
    return time_since(setup->oldest_pending_us, now_us);
}

/* While all are young they connect any moment; whoever has tried for long is given up at a known
 * time. */
static uint32_t pending_retry_ms(struct call_setup *setup, uint64_t now_us)
{
    const uint64_t timeout_us = setup->config->setup_timeout_us;
    const uint64_t age_us = oldest_pending_age_us(setup, now_us);
    if (age_us <= CONNECT_PATIENCE_US || age_us + RETRY_AFTER_MS * US_PER_MS >= timeout_us) {
        return RETRY_AFTER_MS;
    }
    return (uint32_t)((timeout_us - age_us) / US_PER_MS);
}

/* True when there is no room for one more, and why. */
static bool is_full(struct call_setup *setup, struct control_reply *out, uint64_t now_us)
{
    const size_t capacity = call_setup_capacity(setup->config);
    /* A flood of offers that never connect must leave room for calls that do. */
    const size_t pending_max = capacity < 4 ? capacity : capacity / 4;
    if (session_registry_count(setup->registry) >= capacity) {
        refuse(out, CONTROL_FULL, "every session is taken", RETRY_AFTER_MS);
        return true;
    }
    if (setup->pending_count >= pending_max) {
        refuse(out, CONTROL_FULL, "too many calls are being set up",
               pending_retry_ms(setup, now_us));
        return true;
    }
    return false;
}

/* What most models take comes first. Opus goes through as it is, so the client must speak it. */
static void offer_formats(struct backend_start *out, enum voice_codec codec)
{
    static const struct backend_format format[] = {
        {BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 48},
        {BACKEND_CODEC_PCM16, 8},  {BACKEND_CODEC_OPUS, 48},
    };
    out->in_count = out->out_count = COUNT_OF(format) - (codec == VOICE_CODEC_OPUS ? 0 : 1);
    memcpy(out->in, format, out->in_count * sizeof(format[0]));
    memcpy(out->out, format, out->out_count * sizeof(format[0]));
}

/* What an EVENT may have: as much as the client takes in one message. */
static uint32_t message_bytes_max(const struct sdp_offer *offer)
{
    const bool is_bounded = offer->has_data && offer->max_message_bytes != 0 &&
                            offer->max_message_bytes < DATA_CHANNELS_MESSAGE_BYTES_MAX;
    return is_bounded ? (uint32_t)offer->max_message_bytes : DATA_CHANNELS_MESSAGE_BYTES_MAX;
}

static void fill_session(const struct call_setup *setup,
                         const struct control_create_session *request, struct session_config *out,
                         uint64_t now_us)
{
    const struct transceiver_config *config = setup->config;
    memcpy(out->tenant, request->tenant, sizeof(out->tenant));
    out->identity = setup->identity;
    out->silences = setup->silences;
    out->outbox = setup->outbox;
    out->sidebands = setup->sidebands;
    out->random = setup->random;
    out->unix_offset_us = setup->unix_offset_us;
    out->setup_timeout_us = config->setup_timeout_us;
    out->bitrate_bps = config->bitrate_bps;
    out->effort = setup->effort;
    out->idle_sparse = config->idle_sparse;
    out->event_label = config->event_channel;
    out->has_event_stream = request->has_event_stream;
    out->event_stream = request->event_stream;
    if (request->offer_unix_us > setup->unix_offset_us) {
        out->offer_us = request->offer_unix_us - setup->unix_offset_us;
    }
    out->duration_max_us = config->call_duration_max_us;
    if (request->duration_s_max != 0) {
        out->duration_max_us =
            time_earlier(out->duration_max_us, request->duration_s_max * US_PER_S);
    }
    out->backend_start = (struct backend_start){
        .call_id = request->call_id,
        .credit_us = config->credit_us,
        .wall_clock_us = setup->unix_offset_us + now_us,
        .trace_id = request->trace_id,
        .client_agent = request->client_agent,
        .client_language = request->client_language,
        .client_place = request->client_place,
        .session_json = request->session_json,
        .has_events = out->offer->has_data,
        .message_bytes_max = message_bytes_max(out->offer),
        .expires_at_s = (setup->unix_offset_us + now_us + out->duration_max_us) / US_PER_S,
    };
    offer_formats(&out->backend_start, out->offer->audio_codec);
}

void call_setup_candidates(const struct control_ingress *ingress, size_t count,
                           struct sdp_candidate out[SDP_CANDIDATES_MAX])
{
    static_assert(CONTROL_INGRESS_MAX <= SDP_CANDIDATES_MAX, "each ingress is a candidate");
    for (size_t i = 0; i < count; i++) {
        out[i].address = ingress[i].address;
        out[i].is_tcp = ingress[i].is_tcp;
    }
}

static size_t write_answer(struct call_setup *setup, const struct control_create_session *request,
                           const struct sdp_offer *offer, const struct session_config *session,
                           uint32_t ssrc)
{
    struct sdp_answer answer = {
        .ice_ufrag = session->ice_ufrag,
        .ice_pwd = session->ice_pwd,
        .setup_active = offer->setup != SDP_SETUP_ACTIVE,
        .ssrc = ssrc,
        .max_message_bytes = DATA_CHANNELS_MESSAGE_BYTES_MAX,
    };
    random_fill(setup->random, &answer.origin_id, sizeof(answer.origin_id));
    answer.origin_id >>= 1; /* RFC 3264 s.5: it must fit a signed 64-bit number */
    memcpy(answer.fingerprint_sha256, dtls_identity_fingerprint(setup->identity),
           sizeof(answer.fingerprint_sha256));
    call_setup_candidates(request->ingress, request->ingress_count, answer.candidate);
    answer.candidate_count = request->ingress_count;
    return sdp_answer_write(offer, &answer, setup->answer, sizeof(setup->answer));
}

/* A session for an offer that was understood, and its answer. */
static uint32_t create_session(struct call_setup *setup,
                               const struct control_create_session *request,
                               const struct sdp_offer *offer, struct control_reply *out,
                               uint64_t now_us)
{
    char ufrag[ROUTING_TOKEN_CHARS + 1] = {0};
    char pwd[CLIENT_LEG_PWD_CHARS + 1] = {0};
    const uint32_t id = session_registry_reserve(setup->registry);
    const struct routing_token token = {.cluster_id = setup->config->cluster_id,
                                        .instance_id = setup->instance_id,
                                        .session_id = id};
    routing_token_seal(setup->key_ring, &token, ufrag);
    random_ice_chars(setup->random, pwd, CLIENT_LEG_PWD_CHARS);
    struct session_config config = {
        .session_id = id, .offer = offer, .ice_ufrag = ufrag, .ice_pwd = pwd};
    fill_session(setup, request, &config, now_us);
    struct session *session = session_create(&config, now_us);
    const size_t len =
        session == NULL ? 0 : write_answer(setup, request, offer, &config, session_ssrc(session));
    explicit_bzero(pwd, sizeof(pwd));
    if (len == 0) {
        if (session != NULL) {
            session_end(session, SESSION_END_SHUTDOWN, now_us); /* the backend knows of it */
        }
        session_destroy(session);
        session_registry_remove(setup->registry, id);
        return refuse(out, CONTROL_INTERNAL, "the session could not be made", 0);
    }
    session_registry_put(setup->registry, id, session);
    out->kind = CONTROL_CREATE_SESSION;
    out->instance_id = setup->instance_id;
    out->session_id = id;
    out->answer_sdp = bytes_view_of(setup->answer, len);
    return id;
}

uint32_t call_setup_create(struct call_setup *setup, const struct control_create_session *request,
                           bool is_backend_up, struct control_reply *out, uint64_t now_us)
{
    struct sdp_offer offer;
    if (is_full(setup, out, now_us)) {
        return 0;
    }
    if (!is_backend_up) {
        return refuse(out, CONTROL_BACKEND_UNAVAILABLE, "no inference backend is connected",
                      RETRY_AFTER_MS);
    }
    if (request->session_json.len > CALL_SETUP_SESSION_JSON_MAX) {
        return refuse(out, CONTROL_TOO_LARGE, "the session is longer than 196608 bytes", 0);
    }
    if (request->has_event_stream && request->event_stream >= SCTP_STREAMS) {
        return refuse(out, CONTROL_BAD_OFFER, "the event channel's stream is above 1023", 0);
    }
    switch (
        sdp_offer_parse(request->offer_sdp, true, &offer, setup->reason, sizeof(setup->reason))) {
    case SDP_OFFER_OK:
        if (!offer.has_audio) {
            return refuse(out, CONTROL_BAD_OFFER, "no audio section that can be used", 0);
        }
        offer.has_red = offer.has_red && setup->config->has_red;
        return create_session(setup, request, &offer, out, now_us);
    case SDP_OFFER_NO_COMMON_CODEC:
        return refuse(out, CONTROL_NO_COMMON_CODEC, setup->reason, 0);
    default:
        return refuse(out, CONTROL_BAD_OFFER, setup->reason, 0);
    }
}
