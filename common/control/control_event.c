/* control_event.c - see control_event.h */
#include "common/control/control_event.h"

#include "common/control/control_facts.h"
#include "placement.pb-c.h"

#include <assert.h>

/* The tag of SidebandEvent's first field: number 1, with a length. */
#define TOPIC_TAG 0x0a

static const char *const kind_name[] = {
    [CONTROL_SESSION_EVENT_UNKNOWN] = "",
    [CONTROL_SESSION_EVENT_CREATED] = "created",
    [CONTROL_SESSION_EVENT_CONNECTED] = "connected",
    [CONTROL_SESSION_EVENT_ENDED] = "ended",
};

static enum control_session_event_kind kind_from(struct bytes_view name)
{
    for (size_t i = 0; i < COUNT_OF(kind_name); i++) {
        if (bytes_equal(name, bytes_view_of_text(kind_name[i]))) {
            return (enum control_session_event_kind)i;
        }
    }
    return CONTROL_SESSION_EVENT_UNKNOWN;
}

/* --- decoding --------------------------------------------------------------------------------- */

bool control_decode_session_event(struct control_decoder *d, struct bytes_view message,
                                  struct control_session_event *out)
{
    const Earshot__Placement__Envelope *envelope =
        control_wire_unpack(d, &earshot__placement__envelope__descriptor, message);
    if (envelope == NULL ||
        envelope->body_case != EARSHOT__PLACEMENT__ENVELOPE__BODY_SESSION_EVENT) {
        return false;
    }
    const Earshot__Session__SessionEvent *in = envelope->session_event;
    *out = (struct control_session_event){.instance_id = in->instance_id};
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
    out->kind = kind_from(control_decoder_text(d, in->kind, CONTROL_TEXT_CHARS_MAX));
    out->reason = control_decoder_text(d, in->reason, CONTROL_TEXT_CHARS_MAX);
    control_facts_read(d, in->timeline, in->n_timeline, &out->timeline);
    control_facts_read(d, in->total, in->n_total, &out->totals);
    return !control_decoder_has_failed(d);
}

bool control_decode_sideband_event(struct control_decoder *d, struct bytes_view message,
                                   struct control_sideband_event *out)
{
    const Earshot__Session__SidebandEvent *in =
        control_wire_unpack(d, &earshot__session__sideband_event__descriptor, message);
    if (in == NULL) {
        return false;
    }
    *out = (struct control_sideband_event){
        .sideband_id = in->sideband_id, .sequence = in->sequence, .is_end = in->is_end};
    control_decoder_copy_text(d, in->call_id, out->call_id, sizeof(out->call_id));
    out->waiting_count = control_decoder_number(d, (uint32_t)in->n_waiting, CONTROL_SIDEBANDS_MAX);
    for (size_t i = 0; i < out->waiting_count; i++) {
        out->waiting[i] = in->waiting[i];
    }
    out->text = control_decoder_data(d, control_wire_view(in->text), CONTROL_EVENT_BYTES_MAX);
    return !control_decoder_has_failed(d) && out->call_id[0] != '\0';
}

/* --- encoding --------------------------------------------------------------------------------- */

size_t control_encode_session_event(const struct control_session_event *in, struct bytes_span out)
{
    assert(in->kind < COUNT_OF(kind_name));
    struct control_wire_texts texts = {.count = 0};
    struct control_fact_parts timeline;
    struct control_fact_parts totals;
    Earshot__Session__SessionEvent event = EARSHOT__SESSION__SESSION_EVENT__INIT;
    control_facts_fill(&in->timeline, &timeline);
    control_facts_fill(&in->totals, &totals);
    event.instance_id = in->instance_id;
    event.call_id = (char *)in->call_id;
    event.kind = (char *)kind_name[in->kind];
    event.reason = control_wire_text(&texts, in->reason);
    event.timeline = timeline.list;
    event.n_timeline = in->timeline.count;
    event.total = totals.list;
    event.n_total = in->totals.count;

    Earshot__Placement__Envelope envelope = EARSHOT__PLACEMENT__ENVELOPE__INIT;
    envelope.body_case = EARSHOT__PLACEMENT__ENVELOPE__BODY_SESSION_EVENT;
    envelope.session_event = &event;
    return texts.has_failed ? 0 : control_wire_pack(&envelope, out);
}

size_t control_encode_sideband_event(const struct control_sideband_event *in, struct bytes_span out)
{
    assert(in->waiting_count <= CONTROL_SIDEBANDS_MAX);
    Earshot__Session__SidebandEvent event = EARSHOT__SESSION__SIDEBAND_EVENT__INIT;
    event.call_id = (char *)in->call_id;
    event.sideband_id = in->sideband_id;
    event.sequence = in->sequence;
    event.waiting = (uint32_t *)in->waiting;
    event.n_waiting = in->waiting_count;
    event.is_end = in->is_end;
    event.text = control_wire_data(in->text);
    return in->text.len > CONTROL_EVENT_BYTES_MAX ? 0 : control_wire_pack(&event, out);
}

size_t control_sideband_topic(const char *call_id, uint8_t out[CONTROL_TOPIC_CAP])
{
    const size_t len = strlen(call_id);
    assert(len <= CONTROL_CALL_ID_CHARS_MAX);
    out[0] = TOPIC_TAG;
    out[1] = (uint8_t)len;
    for (size_t i = 0; i < len; i++) {
        out[2 + i] = (uint8_t)call_id[i];
    }
    return 2 + len;
}
