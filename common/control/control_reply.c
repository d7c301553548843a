/* control_reply.c - replies of a transceiver: see control_message.h */
#include "common/control/control_message.h"

#include "common/control/control_facts.h"

#include <assert.h>

/* --- decoding -------------------------------------------------------------------------------- */

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
                  (int)CONTROL_NOT_IMPLEMENTED == EARSHOT__SESSION__REFUSAL_CODE__NOT_IMPLEMENTED &&
                  (int)CONTROL_OTHER_GENERATION ==
                      EARSHOT__SESSION__REFUSAL_CODE__OTHER_GENERATION &&
                  (int)CONTROL_RESTARTS_USED_UP == EARSHOT__SESSION__REFUSAL_CODE__RESTARTS_USED_UP,
              "our refusals have the numbers of session.proto");
static_assert((int)CONTROL_SESSION_CHECKING == EARSHOT__SESSION__SESSION_STATE__CHECKING &&
                  (int)CONTROL_SESSION_HANDSHAKE == EARSHOT__SESSION__SESSION_STATE__HANDSHAKE &&
                  (int)CONTROL_SESSION_CONNECTED == EARSHOT__SESSION__SESSION_STATE__CONNECTED &&
                  (int)CONTROL_SESSION_ENDED == EARSHOT__SESSION__SESSION_STATE__ENDED,
              "our states of a session have the numbers of session.proto");

/* A refusal with a code from the future, or with none, is a refusal still. */
static enum control_refusal refusal_from_wire(Earshot__Session__RefusalCode wire)
{
    const uint32_t value = (uint32_t)wire;
    return value > CONTROL_REFUSAL_NONE && value < CONTROL_REFUSAL_COUNT
               ? (enum control_refusal)value
               : CONTROL_INTERNAL;
}

static enum control_session_state session_state_from_wire(Earshot__Session__SessionState wire)
{
    const uint32_t value = (uint32_t)wire;
    return value <= CONTROL_SESSION_ENDED ? (enum control_session_state)value
                                          : CONTROL_SESSION_UNKNOWN;
}

static void read_row(struct control_decoder *d, const Earshot__Session__SessionRow *in,
                     struct control_session_row *out)
{
    *out = (struct control_session_row){
        .session_id = in->session_id,
        .state = session_state_from_wire(in->state),
        .offer_unix_us = in->offer_unix_us,
    };
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
}

static void read_session(struct control_decoder *d, const Earshot__Session__GetSessionReply *in,
                         struct control_reply *out)
{
    if (in->row != NULL) {
        read_row(d, in->row, &out->row);
    }
    out->end_reason = control_decoder_text(d, in->end_reason, CONTROL_TEXT_CHARS_MAX);
    control_facts_read(d, in->timeline, in->n_timeline, &out->timeline);
    control_facts_read(d, in->counter, in->n_counter, &out->counters);
}

static void read_rows(struct control_decoder *d, const Earshot__Session__ListSessionsReply *in,
                      struct control_reply *out)
{
    const size_t count = control_decoder_number(d, (uint32_t)in->n_row, CONTROL_ROWS_MAX);
    struct control_session_row *rows =
        count == 0 ? NULL : control_decoder_take(d, count * sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < count; i++) {
        read_row(d, in->row[i], &rows[i]);
    }
    out->rows = rows;
    out->row_count = rows == NULL ? 0 : count;
    out->next_session_id = in->next_session_id;
}

static void read_created(struct control_decoder *d, const Earshot__Session__CreateSessionReply *in,
                         struct control_reply *out)
{
    out->instance_id = in->instance_id;
    out->session_id = in->session_id;
    out->answer_sdp =
        control_decoder_data(d, control_wire_view(in->answer_sdp), CONTROL_OFFER_BYTES_MAX);
}

static void read_updated(struct control_decoder *d, const Earshot__Session__UpdateSessionReply *in,
                         struct control_reply *out)
{
    out->ice_generation = in->ice_generation;
    out->sdpfrag =
        control_decoder_data(d, control_wire_view(in->sdpfrag), CONTROL_SDPFRAG_BYTES_MAX);
}

bool control_decode_reply(struct control_decoder *d, struct bytes_view message,
                          struct control_reply *out)
{
    const Earshot__Session__Reply *in =
        control_wire_unpack(d, &earshot__session__reply__descriptor, message);
    if (in == NULL) {
        return false;
    }
    *out = (struct control_reply){0};
    control_decoder_copy_data(d, control_wire_view(in->request_id), out->request_id,
                              sizeof(out->request_id));
    switch ((int)in->body_case) {
    case EARSHOT__SESSION__REPLY__BODY_REFUSAL:
        out->refusal = refusal_from_wire(in->refusal->code);
        out->message = control_decoder_text(d, in->refusal->message, CONTROL_TEXT_CHARS_MAX);
        out->retry_after_ms = in->refusal->retry_after_ms;
        break;
    case EARSHOT__SESSION__REPLY__BODY_CREATE_SESSION:
        out->kind = CONTROL_CREATE_SESSION;
        read_created(d, in->create_session, out);
        break;
    case EARSHOT__SESSION__REPLY__BODY_END_SESSION:
        out->kind = CONTROL_END_SESSION;
        break;
    case EARSHOT__SESSION__REPLY__BODY_UPDATE_SESSION:
        out->kind = CONTROL_UPDATE_SESSION;
        read_updated(d, in->update_session, out);
        break;
    case EARSHOT__SESSION__REPLY__BODY_GET_SESSION:
        out->kind = CONTROL_GET_SESSION;
        read_session(d, in->get_session, out);
        break;
    case EARSHOT__SESSION__REPLY__BODY_LIST_SESSIONS:
        out->kind = CONTROL_LIST_SESSIONS;
        read_rows(d, in->list_sessions, out);
        break;
    case EARSHOT__SESSION__REPLY__BODY_ATTACH_SIDEBAND:
        out->kind = CONTROL_ATTACH_SIDEBAND;
        out->sideband_sequence = in->attach_sideband->sequence;
        out->is_new_sideband = in->attach_sideband->is_new;
        break;
    case EARSHOT__SESSION__REPLY__BODY_INJECT_EVENT:
        out->kind = CONTROL_INJECT_EVENT;
        break;
    default:
        return false;
    }
    return !control_decoder_has_failed(d);
}

/* --- encoding -------------------------------------------------------------------------------- */

static Earshot__Session__Reply reply_of(const struct control_reply *in)
{
    Earshot__Session__Reply reply = EARSHOT__SESSION__REPLY__INIT;
    reply.request_id = control_wire_data(bytes_view_of(in->request_id, sizeof(in->request_id)));
    return reply;
}

static size_t pack_refusal(const struct control_reply *in, struct bytes_span out)
{
    struct control_wire_texts texts = {.count = 0};
    Earshot__Session__Refusal refusal = EARSHOT__SESSION__REFUSAL__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    refusal.code = (Earshot__Session__RefusalCode)in->refusal;
    refusal.message = control_wire_text(&texts, in->message);
    refusal.retry_after_ms = in->retry_after_ms;
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_REFUSAL;
    reply.refusal = &refusal;
    return texts.has_failed ? 0 : control_wire_pack(&reply, out);
}

static size_t pack_created(const struct control_reply *in, struct bytes_span out)
{
    Earshot__Session__CreateSessionReply created = EARSHOT__SESSION__CREATE_SESSION_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    created.instance_id = in->instance_id;
    created.session_id = in->session_id;
    created.answer_sdp = control_wire_data(in->answer_sdp);
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_CREATE_SESSION;
    reply.create_session = &created;
    return in->answer_sdp.len > CONTROL_OFFER_BYTES_MAX ? 0 : control_wire_pack(&reply, out);
}

static size_t pack_ended(const struct control_reply *in, struct bytes_span out)
{
    Earshot__Session__EndSessionReply ended = EARSHOT__SESSION__END_SESSION_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_END_SESSION;
    reply.end_session = &ended;
    return control_wire_pack(&reply, out);
}

static size_t pack_updated(const struct control_reply *in, struct bytes_span out)
{
    Earshot__Session__UpdateSessionReply updated = EARSHOT__SESSION__UPDATE_SESSION_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    updated.ice_generation = in->ice_generation;
    updated.sdpfrag = control_wire_data(in->sdpfrag);
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_UPDATE_SESSION;
    reply.update_session = &updated;
    return in->sdpfrag.len > CONTROL_SDPFRAG_BYTES_MAX ? 0 : control_wire_pack(&reply, out);
}

static void fill_row(const struct control_session_row *in, Earshot__Session__SessionRow *out)
{
    earshot__session__session_row__init(out);
    out->call_id = (char *)in->call_id;
    out->session_id = in->session_id;
    out->state = (Earshot__Session__SessionState)in->state;
    out->offer_unix_us = in->offer_unix_us;
}

static size_t pack_session(const struct control_reply *in, struct bytes_span out)
{
    struct control_wire_texts texts = {.count = 0};
    struct control_fact_parts timeline;
    struct control_fact_parts counters;
    Earshot__Session__SessionRow row;
    Earshot__Session__GetSessionReply session = EARSHOT__SESSION__GET_SESSION_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    fill_row(&in->row, &row);
    control_facts_fill(&in->timeline, &timeline);
    control_facts_fill(&in->counters, &counters);
    session.row = &row;
    session.end_reason = control_wire_text(&texts, in->end_reason);
    session.timeline = timeline.list;
    session.n_timeline = in->timeline.count;
    session.counter = counters.list;
    session.n_counter = in->counters.count;
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_GET_SESSION;
    reply.get_session = &session;
    return texts.has_failed ? 0 : control_wire_pack(&reply, out);
}

static size_t pack_rows(const struct control_reply *in, struct bytes_span out)
{
    assert(in->row_count <= CONTROL_ROWS_MAX);
    Earshot__Session__SessionRow row[CONTROL_ROWS_MAX];
    Earshot__Session__SessionRow *list[CONTROL_ROWS_MAX];
    Earshot__Session__ListSessionsReply page = EARSHOT__SESSION__LIST_SESSIONS_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    for (size_t i = 0; i < in->row_count; i++) {
        fill_row(&in->rows[i], &row[i]);
        list[i] = &row[i];
    }
    page.row = list;
    page.n_row = in->row_count;
    page.next_session_id = in->next_session_id;
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_LIST_SESSIONS;
    reply.list_sessions = &page;
    return control_wire_pack(&reply, out);
}

static size_t pack_attached(const struct control_reply *in, struct bytes_span out)
{
    Earshot__Session__AttachSidebandReply attached = EARSHOT__SESSION__ATTACH_SIDEBAND_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    attached.sequence = in->sideband_sequence;
    attached.is_new = in->is_new_sideband;
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_ATTACH_SIDEBAND;
    reply.attach_sideband = &attached;
    return control_wire_pack(&reply, out);
}

static size_t pack_injected(const struct control_reply *in, struct bytes_span out)
{
    Earshot__Session__InjectEventReply injected = EARSHOT__SESSION__INJECT_EVENT_REPLY__INIT;
    Earshot__Session__Reply reply = reply_of(in);
    reply.body_case = EARSHOT__SESSION__REPLY__BODY_INJECT_EVENT;
    reply.inject_event = &injected;
    return control_wire_pack(&reply, out);
}

size_t control_encode_reply(const struct control_reply *in, struct bytes_span out)
{
    if (in->refusal != CONTROL_REFUSAL_NONE) {
        return pack_refusal(in, out);
    }
    switch (in->kind) {
    case CONTROL_CREATE_SESSION:
        return pack_created(in, out);
    case CONTROL_END_SESSION:
        return pack_ended(in, out);
    case CONTROL_UPDATE_SESSION:
        return pack_updated(in, out);
    case CONTROL_GET_SESSION:
        return pack_session(in, out);
    case CONTROL_LIST_SESSIONS:
        return pack_rows(in, out);
    case CONTROL_ATTACH_SIDEBAND:
        return pack_attached(in, out);
    case CONTROL_INJECT_EVENT:
        return pack_injected(in, out);
    case CONTROL_REQUEST_UNKNOWN:
        break;
    }
    assert(false && "a reply that is no refusal answers something");
    return 0;
}
