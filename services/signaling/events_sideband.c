/* events_sideband.c - see events_sideband.h */
#include "services/signaling/events_sideband.h"

#include "common/base/json_bounds.h"
#include "services/signaling/call_id.h"
#include "services/signaling/call_operations.h"
#include "services/signaling/http_field.h"
#include "services/signaling/http_upgrade.h"
#include "services/signaling/socket_error.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

#define EVENT_DEPTH_MAX   32
#define EVENT_MEMBERS_MAX 4096
/* 2,000 events and 2 MB a second: an event takes 0.5 ms, and two of its bytes 1 us. */
#define EVENT_US_MIN 500
#define BYTES_PER_US 2
/* What may be ahead of that pace. */
#define BURST_US (2 * US_PER_S)

struct sideband {
    bool is_used;
    bool is_held;
    uint64_t socket; /* 0: the upgrade is under way */
    uint64_t handle; /* 0: nothing comes any more */
    struct control_call call;
    uint32_t instance_id;
    uint64_t paid_until_us; /* the pace: when all that came would have come */
    enum events_sideband_end end;
};

struct events_sideband {
    struct http_server *server;
    struct sideband_feed *feed;
    struct access_gate *access;
    struct calls_api *calls;
    struct events_sideband_counts counts;
    struct sideband slot[SIDEBAND_FEED_MAX];
    size_t held_count;
};

/* --- life ------------------------------------------------------------------------------------- */

struct events_sideband *events_sideband_create(struct http_server *server,
                                               struct sideband_feed *feed,
                                               struct access_gate *access, struct calls_api *calls)
{
    struct events_sideband *e = calloc(1, sizeof(*e));
    if (e != NULL) {
        e->server = server;
        e->feed = feed;
        e->access = access;
        e->calls = calls;
    }
    return e;
}

void events_sideband_destroy(struct events_sideband *e)
{
    free(e);
}

const struct events_sideband_counts *events_sideband_counts(const struct events_sideband *e)
{
    return &e->counts;
}

const char *events_sideband_end_name(enum events_sideband_end end)
{
    static const char *const name[EVENTS_SIDEBAND_END_COUNT] = {
        [EVENTS_SIDEBAND_CLIENT_LEFT] = "client_left",
        [EVENTS_SIDEBAND_CALL_ENDED] = "call_ended",
        [EVENTS_SIDEBAND_NOT_FOUND] = "not_found",
        [EVENTS_SIDEBAND_LOST] = "lost",
        [EVENTS_SIDEBAND_GAP] = "gap",
        [EVENTS_SIDEBAND_FULL] = "full",
    };
    return name[end];
}

/* --- who may listen --------------------------------------------------------------------------- */

static bool refuse(struct http_judgement *out, unsigned status, const char *code,
                   const char *message)
{
    out->refusal = http_response_error(status, code, bytes_view_of_text(message));
    return false;
}

/* Whose call it is says its transceiver, once the socket is open. */
static bool find_call(struct events_sideband *e, const struct http_upgrade *upgrade,
                      struct sideband *found, struct http_judgement *out)
{
    struct bytes_view call_id;
    if (!http_field_query(upgrade->query, "call_id", &call_id) ||
        !call_operations_find_owner(e->calls, call_id, &found->instance_id)) {
        out->refusal = call_patch_not_found();
        return false;
    }
    memcpy(found->call.call_id, call_id.data, CALL_ID_CHARS);
    return true;
}

static bool check_key(struct events_sideband *e, const struct http_upgrade *upgrade,
                      struct sideband *found, struct http_judgement *out, uint64_t now_us)
{
    const struct access_visitor visitor = {
        .client = upgrade->client,
        .authorization = upgrade->authorization,
        .key = http_upgrade_offered_key(upgrade->subprotocols),
    };
    struct auth_identity who;
    if (!access_gate_check_visitor(e->access, &visitor, ACCESS_OPERATE, &who, &out->refusal,
                                   now_us)) {
        return false;
    }
    memcpy(found->call.tenant, who.tenant, sizeof(found->call.tenant));
    return true;
}

static bool choose_subprotocol(const struct http_upgrade *upgrade, struct http_judgement *out)
{
    out->subprotocol = upgrade->subprotocols.len > 0 ? HTTP_SOCKET_REALTIME : NULL;
    return http_upgrade_can_answer(upgrade->subprotocols, out->subprotocol) ||
           refuse(out, 400, "invalid_value", "Name realtime first of the subprotocols, or none.");
}

static size_t find_free(const struct events_sideband *e)
{
    size_t slot = 0;
    while (slot < SIDEBAND_FEED_MAX && e->slot[slot].is_used) {
        slot++;
    }
    return slot;
}

/* Its call has as many as it may have, as far as we know. Another tenant's do not count: none of
 * them lasts, and he would learn of those that do. */
static bool is_call_full(const struct events_sideband *e, const struct sideband *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < SIDEBAND_FEED_MAX && count < CONTROL_SIDEBANDS_MAX; i++) {
        const struct sideband *b = &e->slot[i];
        const bool is_listening = b->is_used && (b->socket == 0 || b->handle != 0);
        count += is_listening && strcmp(b->call.call_id, wanted->call.call_id) == 0 &&
                 memcmp(b->call.tenant, wanted->call.tenant, sizeof(b->call.tenant)) == 0;
    }
    return count == CONTROL_SIDEBANDS_MAX;
}

void events_sideband_judge(struct events_sideband *e, const struct http_upgrade *upgrade,
                           struct http_judgement *out, uint64_t now_us)
{
    struct sideband found = {.is_used = true};
    const size_t slot = find_free(e);
    if (!check_key(e, upgrade, &found, out, now_us) || !find_call(e, upgrade, &found, out) ||
        !choose_subprotocol(upgrade, out)) {
        return;
    }
    if (is_call_full(e, &found)) {
        access_gate_refuse_sideband(e->access, found.call.tenant, found.call.call_id, &out->refusal,
                                    now_us);
        return;
    }
    if (slot == SIDEBAND_FEED_MAX) {
        (void)refuse(out, 503, "server_overloaded", "There is no room for another side-band.");
        out->refusal.retry_after_s = 1;
        return;
    }
    e->slot[slot] = found;
    out->tag = slot;
    out->message_bytes_max = SIDEBAND_EVENT_BYTES_MAX;
    out->is_accepted = true;
}

/* --- from the call ---------------------------------------------------------------------------- */

static void end(struct events_sideband *e, struct sideband *b, enum events_sideband_end why,
                enum http_close_code code)
{
    b->handle = 0;
    b->end = why;
    http_server_close(e->server, b->socket, code);
}

static void say_error(struct events_sideband *e, struct sideband *b, const char *code,
                      const char *message)
{
    char text[SOCKET_ERROR_BYTES_MAX];
    const size_t len = socket_error_event(code, message, text);
    /* A reader who is too slow for it is closed, which says enough. */
    (void)!http_server_send(e->server, b->socket, bytes_view_of(text, len));
}

static void take_event(struct events_sideband *e, struct sideband *b, struct bytes_view text,
                       uint64_t now_us)
{
    if (http_server_send(e->server, b->socket, text)) {
        metric_add(&e->counts.events_to_clients_total, 1);
        return;
    }
    sideband_feed_close(e->feed, b->handle, now_us);
    b->handle = 0; /* a client who is gone has left; one who is there reads too slowly */
    if (http_server_has_socket(e->server, b->socket)) {
        end(e, b, EVENTS_SIDEBAND_GAP, HTTP_CLOSE_TRY_LATER);
    }
}

static void take_news(struct events_sideband *e, const struct sideband_news *news, uint64_t now_us)
{
    struct sideband *b = &e->slot[news->owner];
    if (!b->is_used || b->handle != news->handle) {
        return; /* its socket is gone */
    }
    switch (news->kind) {
    case SIDEBAND_OPENED:
        break; /* the call says session.created */
    case SIDEBAND_EVENT:
        take_event(e, b, news->text, now_us);
        break;
    case SIDEBAND_GAP:
        end(e, b, EVENTS_SIDEBAND_GAP, HTTP_CLOSE_TRY_LATER);
        break;
    case SIDEBAND_FULL:
        say_error(e, b, "rate_limit_exceeded", "This call has as many side-bands as it may have.");
        end(e, b, EVENTS_SIDEBAND_FULL, HTTP_CLOSE_TRY_LATER);
        break;
    case SIDEBAND_NOT_FOUND:
        say_error(e, b, "call_id_not_found", "There is no such call, or it has ended.");
        end(e, b, EVENTS_SIDEBAND_NOT_FOUND, HTTP_CLOSE_POLICY);
        break;
    case SIDEBAND_CALL_ENDED:
        end(e, b, EVENTS_SIDEBAND_CALL_ENDED, HTTP_CLOSE_NORMAL);
        break;
    case SIDEBAND_LOST:
        end(e, b, EVENTS_SIDEBAND_LOST, HTTP_CLOSE_SERVER_ERROR);
        break;
    }
}

/* --- from the client -------------------------------------------------------------------------- */

/* Is it one JSON object within bounds? What it says is the voice agent's business. */
static bool is_event(struct bytes_view text)
{
    if (!json_bounds_hold(text, EVENT_DEPTH_MAX, EVENT_MEMBERS_MAX)) {
        return false;
    }
    json_t *event = json_loadb((const char *)text.data, text.len, 0, NULL);
    const bool is_good = json_is_object(event);
    json_decref(event);
    return is_good;
}

static void keep_pace(struct events_sideband *e, struct sideband *b, size_t bytes, uint64_t now_us)
{
    const uint64_t event_us =
        bytes > EVENT_US_MIN * BYTES_PER_US ? bytes / BYTES_PER_US : EVENT_US_MIN;
    b->paid_until_us = (b->paid_until_us > now_us ? b->paid_until_us : now_us) + event_us;
    if (b->paid_until_us > now_us + BURST_US && !b->is_held) {
        b->is_held = true;
        e->held_count++;
        http_server_hold(e->server, b->socket, true);
    }
}

void events_sideband_opened(struct events_sideband *e, size_t slot, uint64_t socket,
                            uint64_t now_us)
{
    struct sideband *b = &e->slot[slot];
    b->socket = socket;
    b->handle = sideband_feed_open(e->feed, &b->call, b->instance_id, slot, now_us);
    if (b->handle == 0) {
        end(e, b, EVENTS_SIDEBAND_FULL, HTTP_CLOSE_TRY_LATER);
    }
}

void events_sideband_message(struct events_sideband *e, size_t slot, struct bytes_view text,
                             uint64_t now_us)
{
    struct sideband *b = &e->slot[slot];
    if (b->handle == 0) {
        return;
    }
    keep_pace(e, b, text.len, now_us);
    if (!is_event(text)) {
        metric_add(&e->counts.events_refused_total, 1);
        say_error(e, b, "invalid_json",
                  "An event is one JSON object, at most 32 deep, with at most 4096 members.");
    } else if (!sideband_feed_send(e->feed, b->handle, text, now_us)) {
        metric_add(&e->counts.events_refused_total, 1);
        say_error(e, b, "rate_limit_exceeded",
                  "This event was dropped: the call takes events more slowly than they come.");
    } else {
        metric_add(&e->counts.events_from_clients_total, 1);
    }
}

void events_sideband_closed(struct events_sideband *e, size_t slot, uint64_t now_us)
{
    struct sideband *b = &e->slot[slot];
    if (b->handle != 0) {
        sideband_feed_close(e->feed, b->handle, now_us);
    }
    if (b->socket != 0) {
        metric_add(&e->counts.ends_total[b->end], 1);
    }
    e->held_count -= b->is_held;
    *b = (struct sideband){0};
}

void events_sideband_drain(struct events_sideband *e)
{
    for (size_t i = 0; i < SIDEBAND_FEED_MAX; i++) {
        if (e->slot[i].socket != 0) {
            http_server_close(e->server, e->slot[i].socket, HTTP_CLOSE_GOING_AWAY);
        }
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void let_go(struct events_sideband *e, uint64_t now_us)
{
    for (size_t i = 0; i < SIDEBAND_FEED_MAX && e->held_count > 0; i++) {
        struct sideband *b = &e->slot[i];
        if (b->is_held && b->paid_until_us <= now_us + BURST_US) {
            b->is_held = false;
            e->held_count--;
            http_server_hold(e->server, b->socket, false);
        }
    }
}

void events_sideband_turn(struct events_sideband *e, uint64_t now_us)
{
    struct sideband_news news;
    while (sideband_feed_next(e->feed, &news, now_us)) {
        take_news(e, &news, now_us);
    }
    if (e->held_count > 0) {
        let_go(e, now_us);
    }
}

uint64_t events_sideband_next_timeout(const struct events_sideband *e)
{
    uint64_t next_us = TIME_NEVER;
    for (size_t i = 0; i < SIDEBAND_FEED_MAX && e->held_count > 0; i++) {
        if (e->slot[i].is_held) {
            next_us = time_earlier(next_us, e->slot[i].paid_until_us - BURST_US);
        }
    }
    return next_us;
}
