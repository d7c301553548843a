/* control_request.c - requests to a transceiver: see control_message.h */
#include "common/control/control_message.h"

#include "common/control/control_wire.h"
#include "session.pb-c.h"

#include <assert.h>

/* --- decoding -------------------------------------------------------------------------------- */

static size_t read_ingress(struct control_decoder *d, Earshot__Session__Ingress *const *in,
                           size_t in_count, struct control_ingress out[CONTROL_INGRESS_MAX])
{
    const size_t count = control_decoder_number(d, (uint32_t)in_count, CONTROL_INGRESS_MAX);
    for (size_t i = 0; i < count; i++) {
        control_decoder_copy_addr(d, in[i]->address, &out[i].address);
        out[i].is_tcp = in[i]->tcp;
    }
    return count;
}

static void read_call(struct control_decoder *d, const char *call_id, ProtobufCBinaryData tenant,
                      bool is_operator, struct control_call *out)
{
    control_decoder_copy_text(d, call_id, out->call_id, sizeof(out->call_id));
    control_decoder_copy_data(d, control_wire_view(tenant), out->tenant, sizeof(out->tenant));
    out->is_operator = is_operator;
}

static void read_create_session(struct control_decoder *d,
                                const Earshot__Session__CreateSession *in,
                                struct control_create_session *out)
{
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
    out->offer_sdp =
        control_decoder_data(d, control_wire_view(in->offer_sdp), CONTROL_OFFER_BYTES_MAX);
    out->ingress_count = read_ingress(d, in->ingress, in->n_ingress, out->ingress);
    out->duration_s_max = in->duration_s_max;
    out->backend_name = control_decoder_text(d, in->backend_name, CONTROL_TEXT_CHARS_MAX);
    out->session_json =
        control_decoder_data(d, control_wire_view(in->session_json), CONTROL_SESSION_BYTES_MAX);
    out->client_agent = control_decoder_text(d, in->client_agent, CONTROL_TEXT_CHARS_MAX);
    out->client_language = control_decoder_text(d, in->client_language, CONTROL_TEXT_CHARS_MAX);
    out->client_place = control_decoder_text(d, in->client_place, CONTROL_TEXT_CHARS_MAX);
    control_decoder_copy_data(d, control_wire_view(in->tenant), out->tenant, sizeof(out->tenant));
    out->placement_reason = control_decoder_text(d, in->placement_reason, CONTROL_TEXT_CHARS_MAX);
    out->trace_id = control_decoder_text(d, in->trace_id, CONTROL_TEXT_CHARS_MAX);
    out->offer_unix_us = in->offer_unix_us;
    out->has_event_stream = in->has_event_stream;
    out->event_stream = (uint16_t)control_decoder_number(d, in->event_stream, UINT16_MAX);
}

static void read_end_session(struct control_decoder *d, const Earshot__Session__EndSession *in,
                             struct control_end_session *out)
{
    read_call(d, in->call_id, in->tenant, in->is_operator, &out->call);
    out->reason = control_decoder_text(d, in->reason, CONTROL_TEXT_CHARS_MAX);
}

static void read_update_session(struct control_decoder *d,
                                const Earshot__Session__UpdateSession *in,
                                struct control_update_session *out)
{
    read_call(d, in->call_id, in->tenant, in->is_operator, &out->call);
    out->sdpfrag =
        control_decoder_data(d, control_wire_view(in->sdpfrag), CONTROL_SDPFRAG_BYTES_MAX);
    out->restarts_ice = in->restarts_ice;
    out->ice_generation = in->ice_generation;
    out->ingress_count = read_ingress(d, in->ingress, in->n_ingress, out->ingress);
}

static void read_list_sessions(struct control_decoder *d, const Earshot__Session__ListSessions *in,
                               struct control_list_sessions *out)
{
    control_decoder_copy_data(d, control_wire_view(in->tenant), out->tenant, sizeof(out->tenant));
    out->is_operator = in->is_operator;
    out->from_session_id = in->from_session_id;
}

static void read_attach_sideband(struct control_decoder *d,
                                 const Earshot__Session__AttachSideband *in,
                                 struct control_attach_sideband *out)
{
    read_call(d, in->call_id, in->tenant, in->is_operator, &out->call);
    out->sideband_id = in->sideband_id;
    out->lease_ms = in->lease_ms;
}

static void read_inject_event(struct control_decoder *d, const Earshot__Session__InjectEvent *in,
                              struct control_inject_event *out)
{
    read_call(d, in->call_id, in->tenant, in->is_operator, &out->call);
    out->sideband_id = in->sideband_id;
    out->event = control_decoder_data(d, control_wire_view(in->event), CONTROL_EVENT_BYTES_MAX);
}

bool control_decode_request(struct control_decoder *d, struct bytes_view message,
                            struct control_request *out)
{
    const Earshot__Session__Request *in =
        control_wire_unpack(d, &earshot__session__request__descriptor, message);
    if (in == NULL) {
        return false;
    }
    *out = (struct control_request){0};
    control_decoder_copy_data(d, control_wire_view(in->request_id), out->request_id,
                              sizeof(out->request_id));
    switch ((int)in->body_case) {
    case EARSHOT__SESSION__REQUEST__BODY_CREATE_SESSION:
        out->kind = CONTROL_CREATE_SESSION;
        read_create_session(d, in->create_session, &out->body.create_session);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_END_SESSION:
        out->kind = CONTROL_END_SESSION;
        read_end_session(d, in->end_session, &out->body.end_session);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_UPDATE_SESSION:
        out->kind = CONTROL_UPDATE_SESSION;
        read_update_session(d, in->update_session, &out->body.update_session);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_GET_SESSION:
        out->kind = CONTROL_GET_SESSION;
        read_call(d, in->get_session->call_id, in->get_session->tenant,
                  in->get_session->is_operator, &out->body.get_session.call);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_LIST_SESSIONS:
        out->kind = CONTROL_LIST_SESSIONS;
        read_list_sessions(d, in->list_sessions, &out->body.list_sessions);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_ATTACH_SIDEBAND:
        out->kind = CONTROL_ATTACH_SIDEBAND;
        read_attach_sideband(d, in->attach_sideband, &out->body.attach_sideband);
        break;
    case EARSHOT__SESSION__REQUEST__BODY_INJECT_EVENT:
        out->kind = CONTROL_INJECT_EVENT;
        read_inject_event(d, in->inject_event, &out->body.inject_event);
        break;
    default:
        out->kind = CONTROL_REQUEST_UNKNOWN;
        break;
    }
    return !control_decoder_has_failed(d);
}

/* --- encoding -------------------------------------------------------------------------------- */

/* What a list of ingress on the wire points to. */
struct ingress_parts {
    char address[CONTROL_INGRESS_MAX][NET_ADDR_TEXT_CAP];
    Earshot__Session__Ingress ingress[CONTROL_INGRESS_MAX];
    Earshot__Session__Ingress *list[CONTROL_INGRESS_MAX];
};

static void fill_ingress(const struct control_ingress *in, size_t count,
                         struct ingress_parts *parts)
{
    assert(count <= CONTROL_INGRESS_MAX);
    for (size_t i = 0; i < count; i++) {
        earshot__session__ingress__init(&parts->ingress[i]);
        parts->ingress[i].address =
            (char *)net_addr_format(&in[i].address, parts->address[i], sizeof(parts->address[i]));
        parts->ingress[i].tcp = in[i].is_tcp;
        parts->list[i] = &parts->ingress[i];
    }
}

static ProtobufCBinaryData tenant_of(const uint8_t tenant[CONTROL_TENANT_BYTES])
{
    return control_wire_data(bytes_view_of(tenant, CONTROL_TENANT_BYTES));
}

static Earshot__Session__Request request_of(const struct control_request *in)
{
    Earshot__Session__Request request = EARSHOT__SESSION__REQUEST__INIT;
    request.request_id = control_wire_data(bytes_view_of(in->request_id, sizeof(in->request_id)));
    return request;
}

static size_t pack_create_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_create_session *in = &whole->body.create_session;
    struct control_wire_texts texts = {.count = 0};
    struct ingress_parts parts;
    fill_ingress(in->ingress, in->ingress_count, &parts);

    Earshot__Session__CreateSession message = EARSHOT__SESSION__CREATE_SESSION__INIT;
    message.call_id = (char *)in->call_id;
    message.offer_sdp = control_wire_data(in->offer_sdp);
    message.ingress = parts.list;
    message.n_ingress = in->ingress_count;
    message.duration_s_max = in->duration_s_max;
    message.backend_name = control_wire_text(&texts, in->backend_name);
    message.session_json = control_wire_data(in->session_json);
    message.client_agent = control_wire_text(&texts, in->client_agent);
    message.client_language = control_wire_text(&texts, in->client_language);
    message.client_place = control_wire_text(&texts, in->client_place);
    message.tenant = tenant_of(in->tenant);
    message.placement_reason = control_wire_text(&texts, in->placement_reason);
    message.trace_id = control_wire_text(&texts, in->trace_id);
    message.offer_unix_us = in->offer_unix_us;
    message.has_event_stream = in->has_event_stream;
    message.event_stream = in->event_stream;
    if (texts.has_failed || in->offer_sdp.len > CONTROL_OFFER_BYTES_MAX ||
        in->session_json.len > CONTROL_SESSION_BYTES_MAX) {
        return 0;
    }
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_CREATE_SESSION;
    request.create_session = &message;
    return control_wire_pack(&request, out);
}

static size_t pack_end_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_end_session *in = &whole->body.end_session;
    struct control_wire_texts texts = {.count = 0};
    Earshot__Session__EndSession message = EARSHOT__SESSION__END_SESSION__INIT;
    message.call_id = (char *)in->call.call_id;
    message.tenant = tenant_of(in->call.tenant);
    message.is_operator = in->call.is_operator;
    message.reason = control_wire_text(&texts, in->reason);
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_END_SESSION;
    request.end_session = &message;
    return texts.has_failed ? 0 : control_wire_pack(&request, out);
}

static size_t pack_update_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_update_session *in = &whole->body.update_session;
    struct ingress_parts parts;
    fill_ingress(in->ingress, in->ingress_count, &parts);

    Earshot__Session__UpdateSession message = EARSHOT__SESSION__UPDATE_SESSION__INIT;
    message.call_id = (char *)in->call.call_id;
    message.tenant = tenant_of(in->call.tenant);
    message.is_operator = in->call.is_operator;
    message.sdpfrag = control_wire_data(in->sdpfrag);
    message.restarts_ice = in->restarts_ice;
    message.ice_generation = in->ice_generation;
    message.ingress = parts.list;
    message.n_ingress = in->ingress_count;
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_UPDATE_SESSION;
    request.update_session = &message;
    return in->sdpfrag.len > CONTROL_SDPFRAG_BYTES_MAX ? 0 : control_wire_pack(&request, out);
}

static size_t pack_get_session(const struct control_request *whole, struct bytes_span out)
{
    const struct control_call *call = &whole->body.get_session.call;
    Earshot__Session__GetSession message = EARSHOT__SESSION__GET_SESSION__INIT;
    message.call_id = (char *)call->call_id;
    message.tenant = tenant_of(call->tenant);
    message.is_operator = call->is_operator;
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_GET_SESSION;
    request.get_session = &message;
    return control_wire_pack(&request, out);
}

static size_t pack_list_sessions(const struct control_request *whole, struct bytes_span out)
{
    const struct control_list_sessions *in = &whole->body.list_sessions;
    Earshot__Session__ListSessions message = EARSHOT__SESSION__LIST_SESSIONS__INIT;
    message.tenant = tenant_of(in->tenant);
    message.is_operator = in->is_operator;
    message.from_session_id = in->from_session_id;
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_LIST_SESSIONS;
    request.list_sessions = &message;
    return control_wire_pack(&request, out);
}

static size_t pack_attach_sideband(const struct control_request *whole, struct bytes_span out)
{
    const struct control_attach_sideband *in = &whole->body.attach_sideband;
    Earshot__Session__AttachSideband message = EARSHOT__SESSION__ATTACH_SIDEBAND__INIT;
    message.call_id = (char *)in->call.call_id;
    message.tenant = tenant_of(in->call.tenant);
    message.is_operator = in->call.is_operator;
    message.sideband_id = in->sideband_id;
    message.lease_ms = in->lease_ms;
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_ATTACH_SIDEBAND;
    request.attach_sideband = &message;
    return control_wire_pack(&request, out);
}

static size_t pack_inject_event(const struct control_request *whole, struct bytes_span out)
{
    const struct control_inject_event *in = &whole->body.inject_event;
    Earshot__Session__InjectEvent message = EARSHOT__SESSION__INJECT_EVENT__INIT;
    message.call_id = (char *)in->call.call_id;
    message.tenant = tenant_of(in->call.tenant);
    message.is_operator = in->call.is_operator;
    message.sideband_id = in->sideband_id;
    message.event = control_wire_data(in->event);
    Earshot__Session__Request request = request_of(whole);
    request.body_case = EARSHOT__SESSION__REQUEST__BODY_INJECT_EVENT;
    request.inject_event = &message;
    return in->event.len > CONTROL_EVENT_BYTES_MAX ? 0 : control_wire_pack(&request, out);
}

size_t control_encode_request(const struct control_request *in, struct bytes_span out)
{
    const Earshot__Session__Request without_body = request_of(in);
    switch (in->kind) {
    case CONTROL_REQUEST_UNKNOWN:
        return control_wire_pack(&without_body, out);
    case CONTROL_CREATE_SESSION:
        return pack_create_session(in, out);
    case CONTROL_END_SESSION:
        return pack_end_session(in, out);
    case CONTROL_UPDATE_SESSION:
        return pack_update_session(in, out);
    case CONTROL_GET_SESSION:
        return pack_get_session(in, out);
    case CONTROL_LIST_SESSIONS:
        return pack_list_sessions(in, out);
    case CONTROL_ATTACH_SIDEBAND:
        return pack_attach_sideband(in, out);
    case CONTROL_INJECT_EVENT:
        return pack_inject_event(in, out);
    }
    return 0;
}
