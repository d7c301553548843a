/* control_message.c - names and announcements: see control_message.h */
#include "common/control/control_message.h"

#include "common/control/control_wire.h"
#include "placement.pb-c.h"

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
        [CONTROL_OTHER_GENERATION] = "other_generation",
        [CONTROL_RESTARTS_USED_UP] = "restarts_used_up",
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

const char *control_session_state_name(enum control_session_state state)
{
    static const char *const name[] = {
        [CONTROL_SESSION_UNKNOWN] = "unknown",     [CONTROL_SESSION_CHECKING] = "checking",
        [CONTROL_SESSION_HANDSHAKE] = "handshake", [CONTROL_SESSION_CONNECTED] = "connected",
        [CONTROL_SESSION_ENDED] = "ended",
    };
    assert(state < COUNT_OF(name));
    return name[state];
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
        control_wire_unpack(d, &earshot__placement__envelope__descriptor, message);
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
    return control_wire_pack(&envelope, out);
}
