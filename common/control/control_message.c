/* control_message.c - see control_message.h */
#include "common/control/control_message.h"

#include "placement.pb-c.h"
#include "session.pb-c.h"

#include <assert.h>

/* --- names ----------------------------------------------------------------------------------- */

const char *control_refusal_name(enum control_refusal refusal)
{
    static const char *const name[CONTROL_REFUSAL_COUNT] = {
        [CONTROL_REFUSAL_NONE] = "none",
        [CONTROL_BAD_OFFER] = "bad_offer",
        [CONTROL_TOO_LARGE] = "too_large",
        [CONTROL_NO_COMMON_CODEC] = "no_common_codec",
        [CONTROL_FULL] = "full",
        [CONTROL_DRAINING] = "draining",
        [CONTROL_BACKEND_UNAVAILABLE] = "backend_unavailable",
        [CONTROL_INTERNAL] = "internal",
        [CONTROL_NOT_FOUND] = "not_found",
        [CONTROL_NOT_IMPLEMENTED] = "not_implemented",
    };
    assert(refusal < CONTROL_REFUSAL_COUNT);
    return name[refusal];
}

const char *control_state_name(enum control_state state)
{
    static const char *const name[] = {
        [CONTROL_STATE_UNKNOWN] = "unknown",   [CONTROL_STATE_READY] = "ready",
        [CONTROL_STATE_FULL] = "full",         [CONTROL_STATE_DRAINING] = "draining",
        [CONTROL_STATE_STOPPING] = "stopping",
    };
    assert(state < COUNT_OF(name));
    return name[state];
}

/* NULL when the message is malformed or too large. */
static void *unpack(struct control_decoder *d, const ProtobufCMessageDescriptor *type,
                    struct bytes_view message)
{
    return message.len > CONTROL_MESSAGE_BYTES_MAX ? NULL
                                                   : control_decoder_unpack(d, type, message);
}

static struct bytes_view view_of(ProtobufCBinaryData data)
{
    return bytes_view_of(data.data, data.len);
}

/* --- announcements --------------------------------------------------------------------------- */

static_assert((int)CONTROL_STATE_READY == EARSHOT__PLACEMENT__STATE__READY &&
                  (int)CONTROL_STATE_FULL == EARSHOT__PLACEMENT__STATE__FULL &&
                  (int)CONTROL_STATE_DRAINING == EARSHOT__PLACEMENT__STATE__DRAINING &&
                  (int)CONTROL_STATE_STOPPING == EARSHOT__PLACEMENT__STATE__STOPPING,
              "our states have the numbers of placement.proto");

static enum control_state state_from_wire(Earshot__Placement__State wire)
{
    const uint32_t value = (uint32_t)wire;
    return value <= CONTROL_STATE_STOPPING ? (enum control_state)value : CONTROL_STATE_UNKNOWN;
}

static void copy_key_ids(struct control_decoder *d, const Earshot__Placement__Announcement *in,
                         struct control_announcement *out)
{
    out->key_id_active =
        (uint8_t)control_decoder_number(d, in->key_id_active, CONTROL_KEY_IDS_MAX - 1);
    out->key_id_count = control_decoder_number(d, (uint32_t)in->n_key_ids, CONTROL_KEY_IDS_MAX);
    for (size_t i = 0; i < out->key_id_count; i++) {
        out->key_ids[i] =
            (uint8_t)control_decoder_number(d, in->key_ids[i], CONTROL_KEY_IDS_MAX - 1);
    }
}

bool control_decode_announcement(struct control_decoder *d, struct bytes_view message,
                                 struct control_announcement *out)
{
    const Earshot__Placement__Envelope *envelope =
        unpack(d, &earshot__placement__envelope__descriptor, message);
    if (envelope == NULL ||
        envelope->body_case != EARSHOT__PLACEMENT__ENVELOPE__BODY_ANNOUNCEMENT) {
        return false;
    }
    const Earshot__Placement__Announcement *in = envelope->announcement;
    *out = (struct control_announcement){
        .cluster_id = (uint16_t)control_decoder_number(d, in->cluster_id, UINT16_MAX),
        .instance_id = in->instance_id,
        .capacity = in->capacity,
        .sessions_active = in->sessions_active,
        .sessions_pending = in->sessions_pending,
        .shard_count = in->shard_count,
        .load_permille = in->load_permille,
        .state = state_from_wire(in->state),
        .backend_up = in->backend_up,
        .drain_deadline_unix_ms = in->drain_deadline_unix_ms,
        .start_time_unix_us = in->start_time_unix_us,
        .sequence = in->sequence,
    };
    control_decoder_copy_text(d, in->name, out->name, sizeof(out->name));
    control_decoder_copy_addr(d, in->media_address, &out->media_address);
    control_decoder_copy_text(d, in->control_url, out->control_url, sizeof(out->control_url));
    control_decoder_copy_text(d, in->events_url, out->events_url, sizeof(out->events_url));
    control_decoder_copy_text(d, in->admin_url, out->admin_url, sizeof(out->admin_url));
    control_decoder_copy_text(d, in->version, out->version, sizeof(out->version));
    copy_key_ids(d, in, out);
    return !control_decoder_has_failed(d);
}

/* --- requests -------------------------------------------------------------------------------- */

static void copy_ingress(struct control_decoder *d, const Earshot__Session__CreateSession *in,
                         struct control_create_session *out)
{
    out->ingress_count = control_decoder_number(d, (uint32_t)in->n_ingress, CONTROL_INGRESS_MAX);
    for (size_t i = 0; i < out->ingress_count; i++) {
        control_decoder_copy_addr(d, in->ingress[i]->address, &out->ingress[i].address);
        out->ingress[i].is_tcp = in->ingress[i]->tcp;
    }
}

static void read_create_session(struct control_decoder *d,
                                const Earshot__Session__CreateSession *in,
                                struct control_create_session *out)
{
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
    out->offer_sdp = control_decoder_data(d, view_of(in->offer_sdp), CONTROL_OFFER_BYTES_MAX);
    copy_ingress(d, in, out);
    out->duration_s_max = in->duration_s_max;
    out->backend_name = control_decoder_text(d, in->backend_name, CONTROL_TEXT_CHARS_MAX);
    out->session_json =
        control_decoder_data(d, view_of(in->session_json), CONTROL_SESSION_BYTES_MAX);
    out->client_agent = control_decoder_text(d, in->client_agent, CONTROL_TEXT_CHARS_MAX);
    out->client_language = control_decoder_text(d, in->client_language, CONTROL_TEXT_CHARS_MAX);
    out->client_place = control_decoder_text(d, in->client_place, CONTROL_TEXT_CHARS_MAX);
    control_decoder_copy_data(d, view_of(in->tenant), out->tenant, sizeof(out->tenant));
    out->placement_reason = control_decoder_text(d, in->placement_reason, CONTROL_TEXT_CHARS_MAX);
    out->trace_id = control_decoder_text(d, in->trace_id, CONTROL_TEXT_CHARS_MAX);
}

static void read_end_session(struct control_decoder *d, const Earshot__Session__EndSession *in,
                             struct control_end_session *out)
{
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
    control_decoder_copy_data(d, view_of(in->tenant), out->tenant, sizeof(out->tenant));
    out->is_operator = in->is_operator;
    out->reason = control_decoder_text(d, in->reason, CONTROL_TEXT_CHARS_MAX);
}

bool control_decode_request(struct control_decoder *d, struct bytes_view message,
                            struct control_request *out)
{
    const Earshot__Session__Request *in =
        unpack(d, &earshot__session__request__descriptor, message);
    if (in == NULL) {
        return false;
    }
    *out = (struct control_request){0};
    control_decoder_copy_data(d, view_of(in->request_id), out->request_id, sizeof(out->request_id));
    switch ((int)in->body_case) {
    case EARSHOT__SESSION__REQUEST__BODY_CREATE_SESSION:
        out->kind = CONTROL_CREATE_SESSION;
        read_create_session(d, in->create_session, &out->body.create_session);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_END_SESSION:
        out->kind = CONTROL_END_SESSION;
        read_end_session(d, in->end_session, &out->body.end_session);
        break;
    default:
        out->kind = CONTROL_REQUEST_UNKNOWN;
        break;
    }
    return !control_decoder_has_failed(d);
}

/* --- replies --------------------------------------------------------------------------------- */

static_assert((int)CONTROL_BAD_OFFER == EARSHOT__SESSION__REFUSAL_CODE__BAD_OFFER &&
                  (int)CONTROL_TOO_LARGE == EARSHOT__SESSION__REFUSAL_CODE__TOO_LARGE &&
                  (int)CONTROL_NO_COMMON_CODEC == EARSHOT__SESSION__REFUSAL_CODE__NO_COMMON_CODEC &&
                  (int)CONTROL_FULL == EARSHOT__SESSION__REFUSAL_CODE__TRANSCEIVER_FULL &&
                  (int)CONTROL_DRAINING == EARSHOT__SESSION__REFUSAL_CODE__TRANSCEIVER_DRAINING,
              "our refusals have the numbers of session.proto");
static_assert((int)CONTROL_BACKEND_UNAVAILABLE ==
                      EARSHOT__SESSION__REFUSAL_CODE__BACKEND_UNAVAILABLE &&
                  (int)CONTROL_INTERNAL == EARSHOT__SESSION__REFUSAL_CODE__INTERNAL &&
                  (int)CONTROL_NOT_FOUND == EARSHOT__SESSION__REFUSAL_CODE__NOT_FOUND &&
                  (int)CONTROL_NOT_IMPLEMENTED == EARSHOT__SESSION__REFUSAL_CODE__NOT_IMPLEMENTED,
              "our refusals have the numbers of session.proto");

/* A refusal with a code from the future, or with none, is a refusal still. */
static enum control_refusal refusal_from_wire(Earshot__Session__RefusalCode wire)
{
    const uint32_t value = (uint32_t)wire;
    return value > CONTROL_REFUSAL_NONE && value < CONTROL_REFUSAL_COUNT
               ? (enum control_refusal)value
               : CONTROL_INTERNAL;
}

bool control_decode_reply(struct control_decoder *d, struct bytes_view message,
                          struct control_reply *out)
{
    const Earshot__Session__Reply *in = unpack(d, &earshot__session__reply__descriptor, message);
    if (in == NULL) {
        return false;
    }
    *out = (struct control_reply){0};
    control_decoder_copy_data(d, view_of(in->request_id), out->request_id, sizeof(out->request_id));
    switch ((int)in->body_case) {
    case EARSHOT__SESSION__REPLY__BODY_REFUSAL:
        out->refusal = refusal_from_wire(in->refusal->code);
        out->message = control_decoder_text(d, in->refusal->message, CONTROL_TEXT_CHARS_MAX);
        out->retry_after_ms = in->refusal->retry_after_ms;
        break;
    case EARSHOT__SESSION__REPLY__BODY_CREATE_SESSION:
        out->kind = CONTROL_CREATE_SESSION;
        out->instance_id = in->create_session->instance_id;
        out->session_id = in->create_session->session_id;
        out->answer_sdp = control_decoder_data(d, view_of(in->create_session->answer_sdp),
                                               CONTROL_OFFER_BYTES_MAX);
        break;
    case EARSHOT__SESSION__REPLY__BODY_END_SESSION:
        out->kind = CONTROL_END_SESSION;
        break;
    default:
        return false;
    }
    return !control_decoder_has_failed(d);
}

/* --- encoding -------------------------------------------------------------------------------- */

/* The views of a message as the C strings that protobuf-c wants. */
struct text_pool {
    char text[6][CONTROL_TEXT_CHARS_MAX + 1];
    size_t count;
    bool failed; /* a text is too long or holds a NUL: the other side would refuse it */
};

static char *pool_text(struct text_pool *pool, struct bytes_view view)
{
    assert(pool->count < COUNT_OF(pool->text));
    char *text = pool->text[pool->count++];
    text[0] = '\0';
    if (view.len > CONTROL_TEXT_CHARS_MAX ||
        (view.len > 0 && memchr(view.data, '\0', view.len) != NULL)) {
        pool->failed = true;
        return text;
    }
    if (view.len > 0) {
        memcpy(text, view.data, view.len);
    }
    text[view.len] = '\0';
    return text;
}

/* Borrowed: protobuf-c only reads what it packs. */
static ProtobufCBinaryData data_of(const uint8_t *data, size_t len)
{
    return (ProtobufCBinaryData){len, (uint8_t *)data};
}

static size_t pack(const void *message, struct bytes_span out)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    if (size > out.cap || size > CONTROL_MESSAGE_BYTES_MAX) {
        return 0;
    }
    return protobuf_c_message_pack(message, out.data);
}

size_t control_encode_announcement(const struct control_announcement *in, struct bytes_span out)
{
    assert(in->key_id_count <= CONTROL_KEY_IDS_MAX);
    uint32_t key_ids[CONTROL_KEY_IDS_MAX];
    for (size_t i = 0; i < in->key_id_count; i++) {
        key_ids[i] = in->key_ids[i];
    }
    char media_address[NET_ADDR_TEXT_CAP];
    Earshot__Placement__Announcement message = EARSHOT__PLACEMENT__ANNOUNCEMENT__INIT;
    message.cluster_id = in->cluster_id;
    message.instance_id = in->instance_id;
    message.name = (char *)in->name;
    message.media_address =
        (char *)net_addr_format(&in->media_address, media_address, sizeof(media_address));
    message.control_url = (char *)in->control_url;
    message.events_url = (char *)in->events_url;
    message.admin_url = (char *)in->admin_url;
    message.capacity = in->capacity;
    message.sessions_active = in->sessions_active;
    message.sessions_pending = in->sessions_pending;
    message.shard_count = in->shard_count;
    message.load_permille = in->load_permille;
    message.state = (Earshot__Placement__State)in->state;
    message.backend_up = in->backend_up;
    message.drain_deadline_unix_ms = in->drain_deadline_unix_ms;
    message.key_ids = key_ids;
    message.n_key_ids = in->key_id_count;
    message.start_time_unix_us = in->start_time_unix_us;
    message.sequence = in->sequence;
    message.version = (char *)in->version;
    message.key_id_active = in->key_id_active;

    Earshot__Placement__Envelope envelope = EARSHOT__PLACEMENT__ENVELOPE__INIT;
    envelope.body_case = EARSHOT__PLACEMENT__ENVELOPE__BODY_ANNOUNCEMENT;
    envelope.announcement = &message;
    return pack(&envelope, out);
}

/* What a CreateSession on the wire points to. */
struct create_session_parts {
    struct text_pool pool;
    char address[CONTROL_INGRESS_MAX][NET_ADDR_TEXT_CAP];
    Earshot__Session__Ingress ingress[CONTROL_INGRESS_MAX];
    Earshot__Session__Ingress *ingress_list[CONTROL_INGRESS_MAX];
};

static void fill_ingress(const struct control_create_session *in,
                         struct create_session_parts *parts)
{
    for (size_t i = 0; i < in->ingress_count; i++) {
        earshot__session__ingress__init(&parts->ingress[i]);
        parts->ingress[i].address = (char *)net_addr_format(
            &in->ingress[i].address, parts->address[i], sizeof(parts->address[i]));
        parts->ingress[i].tcp = in->ingress[i].is_tcp;
        parts->ingress_list[i] = &parts->ingress[i];
    }
}

static Earshot__Session__Request request_of(const struct control_request *in)
{
    Earshot__Session__Request request = EARSHOT__SESSION__REQUEST__INIT;
    request.request_id = data_of(in->request_id, sizeof(in->request_id));
    return request;
}

static size_t pack_create_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_create_session *in = &whole->body.create_session;
    assert(in->ingress_count <= CONTROL_INGRESS_MAX);
    struct create_session_parts parts;
    parts.pool.count = 0;
    parts.pool.failed = false;
    fill_ingress(in, &parts);

    Earshot__Session__CreateSession message = EARSHOT__SESSION__CREATE_SESSION__INIT;
    message.call_id = (char *)in->call_id;
    message.offer_sdp = data_of(in->offer_sdp.data, in->offer_sdp.len);
    message.ingress = parts.ingress_list;
    message.n_ingress = in->ingress_count;
    message.duration_s_max = in->duration_s_max;
    message.backend_name = pool_text(&parts.pool, in->backend_name);
    message.session_json = data_of(in->session_json.data, in->session_json.len);
    message.client_agent = pool_text(&parts.pool, in->client_agent);
    message.client_language = pool_text(&parts.pool, in->client_language);
    message.client_place = pool_text(&parts.pool, in->client_place);
    message.tenant = data_of(in->tenant, sizeof(in->tenant));
    message.placement_reason = pool_text(&parts.pool, in->placement_reason);
    message.trace_id = pool_text(&parts.pool, in->trace_id);
    if (parts.pool.failed || in->offer_sdp.len > CONTROL_OFFER_BYTES_MAX ||
        in->session_json.len > CONTROL_SESSION_BYTES_MAX) {
        return 0;
    }
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_CREATE_SESSION;
    request.create_session = &message;
    return pack(&request, out);
}

static size_t pack_end_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_end_session *in = &whole->body.end_session;
    struct text_pool pool = {.count = 0};
    Earshot__Session__EndSession message = EARSHOT__SESSION__END_SESSION__INIT;
    message.call_id = (char *)in->call_id;
    message.tenant = data_of(in->tenant, sizeof(in->tenant));
    message.is_operator = in->is_operator;
    message.reason = pool_text(&pool, in->reason);
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_END_SESSION;
    request.end_session = &message;
    return pool.failed ? 0 : pack(&request, out);
}

size_t control_encode_request(const struct control_request *in, struct bytes_span out)
{
    const Earshot__Session__Request without_body = request_of(in);
    switch (in->kind) {
    case CONTROL_REQUEST_UNKNOWN:
        return pack(&without_body, out);
    case CONTROL_CREATE_SESSION:
        return pack_create_session(in, out);
    case CONTROL_END_SESSION:
        return pack_end_session(in, out);
    }
    return 0;
}

size_t control_encode_reply(const struct control_reply *in, struct bytes_span out)
{
    struct text_pool pool = {.count = 0};
    Earshot__Session__Refusal refusal = EARSHOT__SESSION__REFUSAL__INIT;
    Earshot__Session__CreateSessionReply created = EARSHOT__SESSION__CREATE_SESSION_REPLY__INIT;
    Earshot__Session__EndSessionReply ended = EARSHOT__SESSION__END_SESSION_REPLY__INIT;
    Earshot__Session__Reply reply = EARSHOT__SESSION__REPLY__INIT;
    reply.request_id = data_of(in->request_id, sizeof(in->request_id));
    if (in->refusal != CONTROL_REFUSAL_NONE) {
        refusal.code = (Earshot__Session__RefusalCode)in->refusal;
        refusal.message = pool_text(&pool, in->message);
        refusal.retry_after_ms = in->retry_after_ms;
        reply.body_case = EARSHOT__SESSION__REPLY__BODY_REFUSAL;
        reply.refusal = &refusal;
    } else if (in->kind == CONTROL_CREATE_SESSION) {
        created.instance_id = in->instance_id;
        created.session_id = in->session_id;
        created.answer_sdp = data_of(in->answer_sdp.data, in->answer_sdp.len);
        reply.body_case = EARSHOT__SESSION__REPLY__BODY_CREATE_SESSION;
        reply.create_session = &created;
    } else {
        assert(in->kind == CONTROL_END_SESSION);
        reply.body_case = EARSHOT__SESSION__REPLY__BODY_END_SESSION;
        reply.end_session = &ended;
    }
    const bool is_too_long = pool.failed || in->answer_sdp.len > CONTROL_OFFER_BYTES_MAX;
    return is_too_long ? 0 : pack(&reply, out);
}
