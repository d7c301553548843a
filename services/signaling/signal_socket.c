/* signal_socket.c - see signal_socket.h */
#include "services/signaling/signal_socket.h"

#include "common/runtime/clock.h"
#include "services/signaling/call_id.h"
#include "services/signaling/call_operations.h"
#include "services/signaling/http_upgrade.h"
#include "services/signaling/offer_request.h"
#include "services/signaling/signal_message.h"
#include "services/signaling/socket_error.h"

#include <assert.h>
#include <stdlib.h>

enum signal_state {
    SIGNAL_FREE,
    SIGNAL_UPGRADING,  /* let in, and not open yet */
    SIGNAL_WAITING,    /* for its offer */
    SIGNAL_OFFERING,   /* a transceiver is asked */
    SIGNAL_CALLING,    /* there is a call */
    SIGNAL_RESTARTING, /* and it gets new credentials */
    SIGNAL_HANGING_UP,
    SIGNAL_OVER
};

struct signal {
    enum signal_state state;
    uint64_t socket;
    struct net_addr client;
    char *credential; /* as it came with the upgrade, or NULL; cleansed with the offer */
    bool is_field;    /* the value of Authorization, and not the key itself */
    uint64_t offer_by_us;
    struct signal_message offer; /* OFFERING: its texts are borrowed by the request under way */
    struct auth_identity who;    /* but for the session, which is borrowed */
    char call_id[CALL_ID_CHARS + 1];
    uint64_t watch;
};

struct signal_socket {
    struct http_server *server;
    struct control_plane *plane;
    struct access_gate *access;
    struct calls_api *calls;
    struct signal *slot;
    size_t slot_count;
    size_t waiting_count;
};

/* --- slots ------------------------------------------------------------------------------------ */

static void drop_credential(struct signal *g)
{
    if (g->credential != NULL) {
        explicit_bzero(g->credential, strlen(g->credential));
        free(g->credential);
        g->credential = NULL;
    }
}

static void become(struct signal_socket *s, struct signal *g, enum signal_state state)
{
    s->waiting_count -= g->state == SIGNAL_WAITING;
    s->waiting_count += state == SIGNAL_WAITING;
    g->state = state;
}

static struct signal *find_socket(struct signal_socket *s, uint64_t socket)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        struct signal *g = &s->slot[i];
        if (g->state > SIGNAL_UPGRADING && g->socket == socket) {
            return g;
        }
    }
    return NULL;
}

/* --- who may signal --------------------------------------------------------------------------- */

static bool keep_credential(struct signal *g, struct bytes_view text, bool is_field)
{
    g->is_field = is_field;
    if (text.len == 0) {
        return true; /* it comes with the offer */
    }
    g->credential = strndup((const char *)text.data, text.len);
    return g->credential != NULL;
}

/* A key that came along must be good; without one the offer brings it. */
static bool check_upgrade(struct signal_socket *s, const struct http_upgrade *upgrade,
                          struct bytes_view key, struct http_judgement *out, uint64_t now_us)
{
    const struct access_visitor visitor = {
        .client = upgrade->client, .authorization = upgrade->authorization, .key = key};
    struct auth_identity who;
    if ((key.len > 0 || upgrade->authorization.len > 0) &&
        !access_gate_check_visitor(s->access, &visitor, ACCESS_OPERATE, &who, &out->refusal,
                                   now_us)) {
        return false;
    }
    out->subprotocol = HTTP_SOCKET_SIGNAL;
    if (!http_upgrade_can_answer(upgrade->subprotocols, out->subprotocol)) {
        out->refusal = http_response_error(
            400, "invalid_value",
            bytes_view_of_text("Name " HTTP_SOCKET_SIGNAL " first of the subprotocols."));
        return false;
    }
    return true;
}

void signal_socket_judge(struct signal_socket *s, const struct http_upgrade *upgrade,
                         struct http_judgement *out, uint64_t now_us)
{
    const struct bytes_view key = http_upgrade_offered_key(upgrade->subprotocols);
    const bool is_field = key.len == 0;
    if (!check_upgrade(s, upgrade, key, out, now_us)) {
        return;
    }
    size_t slot = 0;
    while (slot < s->slot_count && s->slot[slot].state != SIGNAL_FREE) {
        slot++;
    }
    if (slot == s->slot_count ||
        !keep_credential(&s->slot[slot], is_field ? upgrade->authorization : key, is_field)) {
        out->refusal = http_response_error(503, "server_overloaded",
                                           bytes_view_of_text("There is no room. Try again soon."));
        out->refusal.retry_after_s = 1;
        return;
    }
    s->slot[slot].state = SIGNAL_UPGRADING;
    s->slot[slot].client = upgrade->client;
    out->tag = slot;
    out->message_bytes_max = HTTP_MESSAGE_BYTES_MAX;
    out->is_accepted = true;
}

/* --- words to the client ---------------------------------------------------------------------- */

static void say(struct signal_socket *s, const struct signal *g, struct bytes_view text)
{
    (void)!http_server_send(s->server, g->socket, text); /* who does not read it is closed */
}

static void finish(struct signal_socket *s, struct signal *g, enum http_close_code code)
{
    become(s, g, SIGNAL_OVER);
    http_server_close(s->server, g->socket, code);
}

static void say_error(struct signal_socket *s, const struct signal *g,
                      const struct http_response *r)
{
    char text[SOCKET_ERROR_BYTES_MAX];
    const size_t len = socket_error_message(http_response_body(r), text);
    say(s, g, bytes_view_of(text, len));
}

static void refuse(struct signal_socket *s, struct signal *g, const char *code, const char *message)
{
    const struct http_response r = http_response_error(400, code, bytes_view_of_text(message));
    say_error(s, g, &r);
    finish(s, g, HTTP_CLOSE_POLICY);
}

static void say_ended(struct signal_socket *s, struct signal *g, const char *reason)
{
    char *text = signal_message_write("ended", "reason", bytes_view_of_text(reason), NULL);
    if (text != NULL) {
        say(s, g, bytes_view_of_text(text));
    }
    free(text);
    finish(s, g, HTTP_CLOSE_NORMAL);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The call is there; false when its client could not be told. */
static bool take_call(struct signal_socket *s, struct signal *g, const struct http_response *r,
                      uint64_t now_us)
{
    const char *id = strrchr(r->location, '/') + 1;
    char *text = signal_message_write("answer", "sdp", http_response_body(r), id);
    const bool is_told =
        text != NULL && http_server_send(s->server, g->socket, bytes_view_of_text(text));
    free(text);
    memcpy(g->call_id, id, strnlen(id, CALL_ID_CHARS));
    uint32_t instance_id = 0;
    if (is_told &&
        call_operations_find_owner(s->calls, bytes_view_of_text(g->call_id), &instance_id)) {
        struct control_call call = {0};
        memcpy(call.call_id, g->call_id, sizeof(g->call_id));
        memcpy(call.tenant, g->who.tenant, sizeof(call.tenant));
        g->watch = call_watch_add(control_plane_watch(s->plane), &call, instance_id,
                                  CALL_WATCH_SIGNAL, (uint64_t)(g - s->slot), now_us);
    }
    return is_told;
}

static void take_offered(struct signal_socket *s, struct signal *g, const struct http_response *r,
                         uint64_t now_us)
{
    signal_message_discard(&g->offer);
    if (r->status != 201) {
        say_error(s, g, r);
        finish(s, g, HTTP_CLOSE_POLICY);
        return;
    }
    const bool is_told = take_call(s, g, r, now_us);
    become(s, g, is_told ? SIGNAL_CALLING : SIGNAL_OVER);
    calls_api_end(s->calls, g->socket, is_told, now_us);
}

static void take_restarted(struct signal_socket *s, struct signal *g, const struct http_response *r)
{
    become(s, g, SIGNAL_CALLING);
    if (r->status != 200) {
        say_error(s, g, r);
        return;
    }
    char *text = signal_message_write("restarted", "sdpfrag", http_response_body(r), NULL);
    if (text != NULL) {
        say(s, g, bytes_view_of_text(text));
    }
    free(text);
}

static void take_hung_up(struct signal_socket *s, struct signal *g, const struct http_response *r)
{
    if (r->status == 200) {
        say_ended(s, g, "hangup");
    } else {
        become(s, g, SIGNAL_CALLING);
        say_error(s, g, r);
    }
}

/* What calls_api would have answered over HTTP. */
static bool take_answer(void *context, uint64_t asker, const struct http_response *r)
{
    struct signal_socket *s = context;
    struct signal *g = find_socket(s, asker);
    if (g == NULL) {
        return false;
    }
    http_server_hold(s->server, g->socket, false);
    switch (g->state) {
    case SIGNAL_OFFERING:
        take_offered(s, g, r, clock_now_us());
        break;
    case SIGNAL_RESTARTING:
        take_restarted(s, g, r);
        break;
    case SIGNAL_HANGING_UP:
        take_hung_up(s, g, r);
        break;
    default: /* the call has ended meanwhile */
        break;
    }
    return true;
}

/* --- messages --------------------------------------------------------------------------------- */

static bool identify(struct signal_socket *s, struct signal *g, struct http_response *refusal,
                     uint64_t now_us)
{
    const struct bytes_view kept =
        g->credential != NULL ? bytes_view_of_text(g->credential) : (struct bytes_view){0};
    struct access_visitor visitor = {.client = g->client, .key = g->offer.key};
    if (kept.len > 0 && g->is_field) {
        visitor.authorization = kept;
    } else if (kept.len > 0) {
        visitor.key = kept;
    }
    const bool is_good =
        access_gate_check_visitor(s->access, &visitor, ACCESS_OFFER, &g->who, refusal, now_us);
    drop_credential(g);
    return is_good;
}

static void offer(struct signal_socket *s, struct signal *g, uint64_t now_us)
{
    struct http_response refusal;
    struct offer_request made;
    if (!identify(s, g, &refusal, now_us) ||
        !offer_request_make(g->offer.sdp, g->offer.session, g->who.session, &made, &refusal)) {
        say_error(s, g, &refusal);
        signal_message_discard(&g->offer);
        finish(s, g, HTTP_CLOSE_POLICY);
        return;
    }
    const struct calls_visitor visitor = {.asker = g->socket, .who = &g->who};
    become(s, g, SIGNAL_OFFERING);
    http_server_hold(s->server, g->socket, true);
    calls_api_place(s->calls, &visitor, &made, now_us);
}

static struct call_operation operation_of(const struct signal *g)
{
    return (struct call_operation){
        .exchange = g->socket, .call_id = bytes_view_of_text(g->call_id), .who = &g->who};
}

static void restart(struct signal_socket *s, struct signal *g, const struct signal_message *m,
                    uint64_t now_us)
{
    char fragment[SIGNAL_FRAGMENT_BYTES_MAX];
    const size_t len = signal_message_fragment(m, fragment);
    if (len == 0) {
        refuse(s, g, "invalid_value", "A restart brings ufrag and pwd, as in RFC 8839.");
        return;
    }
    struct http_response refusal;
    if (!access_gate_may_operate(s->access, &g->client, &g->who, &refusal, now_us)) {
        say_error(s, g, &refusal);
        return;
    }
    const struct http_request request = {.method = HTTP_PATCH,
                                         .content_type = bytes_view_of_text(CALL_PATCH_TYPE),
                                         .if_match = bytes_view_of_text("*"),
                                         .has_length = true,
                                         .body = bytes_view_of(fragment, len)};
    const struct call_operation operation = operation_of(g);
    become(s, g, SIGNAL_RESTARTING);
    http_server_hold(s->server, g->socket, true);
    call_operations_patch(s->calls, &operation, &request, now_us);
}

static void hang_up(struct signal_socket *s, struct signal *g, uint64_t now_us)
{
    const struct call_operation operation = operation_of(g);
    become(s, g, SIGNAL_HANGING_UP);
    http_server_hold(s->server, g->socket, true);
    call_operations_hang_up(s->calls, &operation, now_us);
}

void signal_socket_message(struct signal_socket *s, size_t slot, struct bytes_view text,
                           uint64_t now_us)
{
    struct signal *g = &s->slot[slot];
    struct signal_message m;
    if (g->state != SIGNAL_WAITING && g->state != SIGNAL_CALLING) {
        return; /* it is closing */
    }
    const enum signal_message_kind kind = signal_message_read(text, &m);
    if (kind == SIGNAL_OFFER && g->state == SIGNAL_WAITING) {
        g->offer = m;
        offer(s, g, now_us);
        return;
    }
    if (kind == SIGNAL_RESTART && g->state == SIGNAL_CALLING) {
        restart(s, g, &m, now_us);
    } else if (kind == SIGNAL_HANGUP && g->state == SIGNAL_CALLING) {
        hang_up(s, g, now_us);
    } else {
        refuse(s, g, kind == SIGNAL_NO_MESSAGE ? "invalid_json" : "invalid_value",
               "Send one offer, then restart or hangup, each as one JSON object.");
    }
    signal_message_discard(&m);
}

/* --- sockets ---------------------------------------------------------------------------------- */

void signal_socket_opened(struct signal_socket *s, size_t slot, uint64_t socket, uint64_t now_us)
{
    struct signal *g = &s->slot[slot];
    g->socket = socket;
    g->offer_by_us = now_us + SIGNAL_FIRST_US;
    become(s, g, SIGNAL_WAITING);
}

void signal_socket_closed(struct signal_socket *s, size_t slot, uint64_t now_us)
{
    struct signal *g = &s->slot[slot];
    if (g->state > SIGNAL_UPGRADING) {
        calls_api_end(s->calls, g->socket, false, now_us);
    }
    if (g->watch != 0) {
        call_watch_remove(control_plane_watch(s->plane), g->watch);
    }
    become(s, g, SIGNAL_FREE);
    drop_credential(g);
    signal_message_discard(&g->offer);
    *g = (struct signal){0};
}

void signal_socket_drain(struct signal_socket *s)
{
    for (size_t i = 0; i < s->slot_count; i++) {
        struct signal *g = &s->slot[i];
        if (g->state > SIGNAL_UPGRADING && g->state != SIGNAL_OFFERING) {
            finish(s, g, HTTP_CLOSE_GOING_AWAY);
        }
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

void signal_socket_news(struct signal_socket *s, const struct call_news *news)
{
    struct signal *g = &s->slot[news->owner];
    if (g->watch != news->handle || g->state == SIGNAL_OVER) {
        return;
    }
    switch (news->kind) {
    case CALL_NEWS_UNREACHABLE:
        say(s, g, bytes_view_of_text("{\"type\":\"unreachable\"}"));
        break;
    case CALL_NEWS_REACHABLE:
        say(s, g, bytes_view_of_text("{\"type\":\"reachable\"}"));
        break;
    case CALL_NEWS_ENDED:
        g->watch = 0;
        say_ended(s, g, news->reason);
        break;
    }
}

void signal_socket_turn(struct signal_socket *s, uint64_t now_us)
{
    for (size_t i = 0; i < s->slot_count && s->waiting_count > 0; i++) {
        struct signal *g = &s->slot[i];
        if (g->state == SIGNAL_WAITING && g->offer_by_us <= now_us) {
            refuse(s, g, "invalid_value", "No offer came in time.");
        }
    }
}

uint64_t signal_socket_next_timeout(const struct signal_socket *s)
{
    uint64_t next_us = TIME_NEVER;
    for (size_t i = 0; i < s->slot_count && s->waiting_count > 0; i++) {
        if (s->slot[i].state == SIGNAL_WAITING) {
            next_us = time_earlier(next_us, s->slot[i].offer_by_us);
        }
    }
    return next_us;
}

/* --- life ------------------------------------------------------------------------------------- */

struct signal_socket *signal_socket_create(struct http_server *server, struct control_plane *plane,
                                           struct access_gate *access, struct calls_api *calls,
                                           size_t sockets_max)
{
    struct signal_socket *s = calloc(1, sizeof(*s));
    struct signal *slot = calloc(sockets_max, sizeof(*slot));
    if (s == NULL || slot == NULL) {
        free(s);
        free(slot);
        return NULL;
    }
    s->server = server;
    s->plane = plane;
    s->access = access;
    s->calls = calls;
    s->slot = slot;
    s->slot_count = sockets_max;
    calls_api_set_teller(calls, take_answer, s);
    return s;
}

void signal_socket_destroy(struct signal_socket *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->slot_count; i++) {
        drop_credential(&s->slot[i]);
        signal_message_discard(&s->slot[i].offer);
    }
    free(s->slot);
    free(s);
}
