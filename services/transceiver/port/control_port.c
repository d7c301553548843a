/* control_port.c - see control_port.h */
#include "services/transceiver/port/control_port.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "common/runtime/message_port.h"
#include "common/runtime/name_resolver.h"
#include "services/transceiver/port/reply_store.h"

#include <stdio.h>
#include <stdlib.h>

#define ANNOUNCE_US     (500 * US_PER_MS)
#define URL_CAP         96
#define REQUESTS_A_TURN 64
/* Letters of a shard: requests are answered under a flood of them. */
#define LETTERS_A_TURN 256

struct control_port {
    struct control_port_config config;
    struct message_port *requests;
    struct message_port *announcements;
    struct message_port *events;
    struct name_resolver *resolver;
    struct control_decoder *decoder;
    struct net_addr dialled[CONTROL_PORT_DIALS_MAX];
    size_t dialled_count;
    struct reply_store *replies;
    struct reply_store *injects; /* of InjectEvent */
    uint64_t announce_us;
    uint64_t sequence;
    bool was_backend_up;
    bool is_draining;
    uint64_t drain_deadline_us;
    uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
};

/* --- life ------------------------------------------------------------------------------------- */

static void url_of_port(const struct control_port *p, uint16_t port, char url[URL_CAP])
{
    char text[NET_ADDR_TEXT_CAP];
    struct net_addr address = p->config.address;
    address.port = port;
    (void)snprintf(url, URL_CAP, "tcp://%s", net_addr_format(&address, text, sizeof(text)));
}

static struct message_port *open_listener(const struct control_port *p, enum message_port_kind kind,
                                          uint16_t port, struct fault *fault)
{
    char url[URL_CAP];
    url_of_port(p, port, url);
    struct message_port *listener = message_port_open(kind, fault);
    if (listener != NULL && !message_port_listen(listener, url, fault)) {
        message_port_close(listener);
        return NULL;
    }
    return listener;
}

static bool open_ports(struct control_port *p, struct fault *fault)
{
    const char *targets[TRANSCEIVER_TARGETS_MAX];
    for (size_t i = 0; i < p->config.config->announce_count; i++) {
        targets[i] = p->config.config->announce[i];
    }
    p->requests = open_listener(p, MESSAGE_PORT_REP, p->config.config->control_port, fault);
    if (p->requests == NULL) {
        return false;
    }
    p->events = open_listener(p, MESSAGE_PORT_PUB, p->config.config->events_port, fault);
    if (p->events == NULL) {
        return false;
    }
    p->announcements = message_port_open(MESSAGE_PORT_PUB, fault);
    if (p->announcements == NULL) {
        return false;
    }
    p->resolver = name_resolver_start(targets, p->config.config->announce_count, fault);
    return p->resolver != NULL;
}

struct control_port *control_port_open(const struct control_port_config *config,
                                       struct fault *fault)
{
    struct control_port *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "control port: out of memory");
        return NULL;
    }
    p->config = *config;
    p->replies = reply_store_create();
    p->injects = reply_store_create();
    p->decoder = control_decoder_create();
    /* A random phase: a thousand transceivers do not speak in one burst. */
    p->announce_us = clock_now_us() + random_u32(random_system()) % ANNOUNCE_US;
    if (p->replies == NULL || p->injects == NULL || p->decoder == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "control port: out of memory");
    } else if (open_ports(p, fault)) {
        return p;
    }
    control_port_close(p);
    return NULL;
}

void control_port_close(struct control_port *p)
{
    if (p == NULL) {
        return;
    }
    message_port_close(p->requests);
    message_port_close(p->announcements);
    message_port_close(p->events);
    name_resolver_stop(p->resolver);
    control_decoder_destroy(p->decoder);
    reply_store_destroy(p->replies);
    reply_store_destroy(p->injects);
    free(p);
}

void control_port_set_key_ring(struct control_port *p, const struct key_ring *ring)
{
    p->config.key_ring = ring;
}

/* --- announcements ---------------------------------------------------------------------------- */

static bool is_backend_up(const struct control_port *p)
{
    for (size_t i = 0; i < p->config.loop_count; i++) {
        if (metric_get(&event_loop_backend(p->config.loops[i])->is_up) == 0) {
            return false;
        }
    }
    return true;
}

static void add_loads(const struct control_port *p, struct control_announcement *out)
{
    for (size_t i = 0; i < p->config.loop_count; i++) {
        const struct shard_counters *calls = event_loop_calls(p->config.loops[i]);
        const uint64_t load = metric_get(&event_loop_counters(p->config.loops[i])->load_permille);
        out->sessions_active += (uint32_t)metric_get(&calls->sessions_active);
        out->sessions_pending += (uint32_t)metric_get(&calls->sessions_pending);
        out->load_permille = load > out->load_permille ? (uint32_t)load : out->load_permille;
    }
}

static void add_keys(const struct control_port *p, struct control_announcement *out)
{
    for (unsigned id = 0; id < KEY_RING_IDS; id++) {
        if (key_ring_has(p->config.key_ring, (uint8_t)id)) {
            out->key_ids[out->key_id_count++] = (uint8_t)id;
        }
    }
    out->key_id_active = key_ring_active_id(p->config.key_ring);
}

static enum control_state state_of(const struct control_port *p,
                                   const struct control_announcement *a)
{
    if (p->is_draining) {
        return CONTROL_STATE_DRAINING;
    }
    return a->sessions_active >= a->capacity ? CONTROL_STATE_FULL : CONTROL_STATE_READY;
}

static void announce(struct control_port *p, uint64_t now_us)
{
    const struct transceiver_config *config = p->config.config;
    struct control_announcement a = {
        .cluster_id = config->cluster_id,
        .instance_id = p->config.instance_id,
        .media_address = p->config.address,
        .capacity = (uint32_t)config->session_count_max,
        .shard_count = config->shard_count,
        .backend_up = is_backend_up(p),
        .drain_deadline_unix_ms = p->drain_deadline_us / US_PER_MS,
        .start_time_unix_us = p->config.unix_offset_us,
        .sequence = ++p->sequence,
    };
    char admin[NET_ADDR_TEXT_CAP];
    a.media_address.port = config->media_port;
    (void)snprintf(a.name, sizeof(a.name), "%.*s", CONTROL_NAME_CHARS_MAX, config->name);
    (void)snprintf(a.version, sizeof(a.version), "%s", EARSHOT_VERSION);
    (void)snprintf(a.admin_url, sizeof(a.admin_url), "http://%s",
                   net_addr_format(&config->admin_listen, admin, sizeof(admin)));
    url_of_port(p, config->control_port, a.control_url);
    url_of_port(p, config->events_port, a.events_url);
    add_loads(p, &a);
    add_keys(p, &a);
    a.state = state_of(p, &a);
    const struct bytes_span room = {p->message, 0, sizeof(p->message)};
    const size_t len = control_encode_announcement(&a, room);
    /* Nobody may be connected yet: the next one comes in 500 ms. */
    (void)!message_port_send(p->announcements, bytes_view_of(p->message, len));
    p->was_backend_up = a.backend_up;
    p->announce_us = now_us + ANNOUNCE_US;
}

void control_port_drain(struct control_port *p, uint64_t deadline_us, uint64_t now_us)
{
    p->is_draining = true;
    p->drain_deadline_us = deadline_us;
    announce(p, now_us);
}

static bool is_dialled(const struct control_port *p, const struct net_addr *address)
{
    for (size_t i = 0; i < p->dialled_count; i++) {
        if (net_addr_equal(&p->dialled[i], address)) {
            return true;
        }
    }
    return false;
}

/* One dialer per address; NNG keeps each connected. An address that is gone stays dialled: NNG
 * tries it every 2 s, which costs less than to close sockets in a running NNG. */
static void dial_targets(struct control_port *p)
{
    struct name_answer answer;
    while (name_resolver_take(p->resolver, &answer)) {
        for (size_t i = 0; i < answer.address_count; i++) {
            char text[NET_ADDR_TEXT_CAP];
            char url[URL_CAP];
            struct fault fault = {0};
            if (is_dialled(p, &answer.address[i])) {
                continue;
            }
            net_addr_format(&answer.address[i], text, sizeof(text));
            (void)snprintf(url, sizeof(url), "tcp://%s", text);
            if (p->dialled_count == CONTROL_PORT_DIALS_MAX) {
                log_error("control.targets_full address=%s", text);
            } else if (message_port_dial(p->announcements, url, &fault)) {
                p->dialled[p->dialled_count++] = answer.address[i];
            } else {
                log_error("control.dial error=\"%s\"", fault.text);
            }
        }
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* NULL: it only asks, or says the same as before, and may be said twice. The many events of
 * side-bands do not push out the replies that hold calls. */
static struct reply_store *store_of(const struct control_port *p, enum control_request_kind kind)
{
    switch (kind) {
    case CONTROL_GET_SESSION:
    case CONTROL_LIST_SESSIONS:
    case CONTROL_ATTACH_SIDEBAND:
        return NULL;
    case CONTROL_INJECT_EVENT:
        return p->injects;
    default:
        return p->replies;
    }
}

/* A new call goes to the shard with the fewest; what is about a call to whichever has it. */
static void ask_shards(struct control_port *p, const struct control_request *request,
                       struct control_reply *out)
{
    size_t chosen = 0;
    for (size_t i = 1; i < p->config.loop_count; i++) {
        if (metric_get(&event_loop_calls(p->config.loops[i])->sessions_active) <
            metric_get(&event_loop_calls(p->config.loops[chosen])->sessions_active)) {
            chosen = i;
        }
    }
    event_loop_call(p->config.loops[chosen], request, out);
    for (size_t i = 0; i < p->config.loop_count && out->refusal == CONTROL_NOT_FOUND; i++) {
        if (i != chosen) {
            event_loop_call(p->config.loops[i], request, out);
        }
    }
}

/* A page is of one shard; the page behind the last of a shard is the first of the next one. */
static void ask_for_page(struct control_port *p, const struct control_request *request,
                         struct control_reply *out)
{
    const uint32_t shard = SESSION_ID_SHARD(request->body.list_sessions.from_session_id);
    if (shard >= p->config.loop_count) {
        memcpy(out->request_id, request->request_id, sizeof(out->request_id));
        out->kind = CONTROL_LIST_SESSIONS;
        return;
    }
    event_loop_call(p->config.loops[shard], request, out);
    if (out->next_session_id == 0 && shard + 1 < p->config.loop_count) {
        out->next_session_id = SESSION_ID_FIRST(shard + 1);
    }
}

static void send_reply(struct control_port *p, struct bytes_view message)
{
    if (!message_port_send(p->requests, message)) {
        log_warn("control.reply_lost");
    }
}

static void answer(struct control_port *p, struct bytes_view message, uint64_t now_us)
{
    struct control_request request;
    struct control_reply reply = {0};
    if (!control_decode_request(p->decoder, message, &request)) {
        reply.refusal = CONTROL_BAD_OFFER;
        reply.message = bytes_view_of_text("not a request");
        const struct bytes_span room = {p->message, 0, sizeof(p->message)};
        send_reply(p, bytes_view_of(p->message, control_encode_reply(&reply, room)));
        return;
    }
    struct reply_store *store = store_of(p, request.kind);
    struct bytes_view stored;
    if (store != NULL && reply_store_find(store, request.request_id, &stored, now_us)) {
        send_reply(p, stored);
        return;
    }
    if (request.kind == CONTROL_LIST_SESSIONS) {
        ask_for_page(p, &request, &reply);
    } else {
        ask_shards(p, &request, &reply);
    }
    const struct bytes_span room = {p->message, 0, sizeof(p->message)};
    const size_t len = control_encode_reply(&reply, room);
    if (len > 0 && store != NULL) {
        reply_store_put(store, request.request_id, bytes_view_of(p->message, len), now_us);
    }
    send_reply(p, bytes_view_of(p->message, len));
}

/* --- events ----------------------------------------------------------------------------------- */

/* PUB never waits: who does not read loses messages, and sees it by their numbers. */
static void publish_letters(struct control_port *p, struct event_mail *mail)
{
    enum event_mail_kind kind;
    struct bytes_view message;
    event_mail_hear(mail);
    for (int i = 0; i < LETTERS_A_TURN && event_mail_peek(mail, &kind, &message); i++) {
        struct message_port *port = kind == EVENT_MAIL_SIDEBAND ? p->events : p->announcements;
        (void)!message_port_send(port, message);
        event_mail_drop(mail);
    }
}

static bool has_letters(const struct control_port *p)
{
    enum event_mail_kind kind;
    struct bytes_view message;
    for (size_t i = 0; i < p->config.loop_count; i++) {
        if (event_mail_peek(event_loop_mail(p->config.loops[i]), &kind, &message)) {
            return true;
        }
    }
    return false;
}

size_t control_port_want(const struct control_port *p, int fds[CONTROL_PORT_FDS])
{
    size_t count = 0;
    fds[count++] = message_port_receive_fd(p->requests);
    fds[count++] = name_resolver_fd(p->resolver);
    for (size_t i = 0; i < p->config.loop_count; i++) {
        fds[count++] = event_mail_fd(event_loop_mail(p->config.loops[i]));
    }
    return count;
}

void control_port_service(struct control_port *p, uint64_t now_us)
{
    struct bytes_view message;
    dial_targets(p);
    for (int i = 0; i < REQUESTS_A_TURN && message_port_receive(p->requests, &message); i++) {
        answer(p, message, now_us);
    }
    for (size_t i = 0; i < p->config.loop_count; i++) {
        publish_letters(p, event_loop_mail(p->config.loops[i]));
    }
    if (now_us >= p->announce_us || is_backend_up(p) != p->was_backend_up) {
        announce(p, now_us);
    }
}

uint64_t control_port_next_timeout(const struct control_port *p)
{
    return has_letters(p) ? 0 : p->announce_us;
}
