/* http_server.c - see http_server.h */
#include "services/signaling/http_server.h"

#include "common/runtime/clock.h"
#include "services/signaling/http_gate.h"
#include "services/signaling/http_listener.h"
#include "services/signaling/http_queue.h"
#include "services/signaling/http_screen.h"
#include "services/signaling/http_socket.h"
#include "services/signaling/http_tls.h"

#include <assert.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <unistd.h>

/* What libwebsockets keeps of a head that passed: it adds 8 bytes to a field it does not know. */
#define HEADER_BYTES_MAX (HTTP_SCREEN_BYTES_MAX + 16 * HTTP_SCREEN_FIELDS_MAX)
/* Connections taken from the kernel in one turn of the loop. */
#define ACCEPTS_MAX 64
/* Without descriptors the listening socket stays readable: look away for a while. */
#define ACCEPT_PAUSE_US (100 * US_PER_MS)
/* Descriptors beside connections and watches: logs, admin port, NNG's own. */
#define DESCRIPTOR_RESERVE 128
#define LISTENER           SIZE_MAX
#define GATE               (SIZE_MAX - 1)
#define TLS                (SIZE_MAX - 2)

struct http_watch {
    struct http_server *server;
    struct lws *wsi; /* NULL: libwebsockets has closed it */
    size_t tag;
    bool is_used;
    bool is_readable;
};

struct http_server {
    struct http_server_config config;
    struct http_server_counts counts;
    struct lws_context *context;
    struct lws_vhost *vhost;
    lws_retry_bo_t idle_policy;  /* of sockets */
    lws_sorted_usec_list_t wake; /* bounds the sleep of http_server_wait */
    bool is_closing;
    int listen_fd;
    uint64_t accept_again_us;
    struct http_watch listener;
    int gate_fd;
    struct http_watch gate;
    struct http_tls *tls; /* NULL: clients speak in clear */
    struct http_watch tls_watch;

    struct http_connection *connection; /* connections_max of them */
    struct http_watch *watch;           /* watches_max of them */

    struct http_queue queue;
    size_t watch_next; /* where to look for the next readable watch */
};

/* --- events ----------------------------------------------------------------------------------- */

static bool take_readable(struct http_server *s, struct http_event *out)
{
    for (; s->watch_next < s->config.watches_max; s->watch_next++) {
        struct http_watch *watch = &s->watch[s->watch_next];
        if (watch->is_readable) {
            watch->is_readable = false;
            *out = (struct http_event){.kind = HTTP_EVENT_READABLE, .tag = watch->tag};
            return true;
        }
    }
    return false;
}

bool http_server_take(struct http_server *s, struct http_event *out)
{
    return http_queue_take(&s->queue, out) || take_readable(s, out);
}

void http_server_answer(struct http_server *s, uint64_t exchange, const struct http_response *r)
{
    struct http_connection *c = &s->connection[exchange & UINT32_MAX];
    if (c->state == HTTP_CONNECTION_TAKEN && c->exchange == exchange) {
        http_connection_answer(c, r);
        return;
    }
    struct http_response in_vain = *r;
    http_response_discard(&in_vain);
}

/* NULL when its client is gone. */
static struct http_connection *find_socket(struct http_server *s, uint64_t socket)
{
    struct http_connection *c = &s->connection[socket & UINT32_MAX];
    return c->state == HTTP_CONNECTION_SOCKET && c->socket->number == socket ? c : NULL;
}

bool http_server_send(struct http_server *s, uint64_t socket, struct bytes_view text)
{
    struct http_connection *c = find_socket(s, socket);
    if (c == NULL) {
        return false;
    }
    const bool is_sent = http_socket_send(c->socket, text);
    http_connection_socket_changed(c);
    return is_sent;
}

bool http_server_has_socket(struct http_server *s, uint64_t socket)
{
    return find_socket(s, socket) != NULL;
}

void http_server_close(struct http_server *s, uint64_t socket, enum http_close_code code)
{
    struct http_connection *c = find_socket(s, socket);
    if (c != NULL) {
        http_socket_close(c->socket, code);
        http_connection_socket_changed(c);
    }
}

void http_server_hold(struct http_server *s, uint64_t socket, bool is_held)
{
    struct http_connection *c = find_socket(s, socket);
    if (c != NULL) {
        c->socket->is_held = is_held;
        http_connection_socket_changed(c);
        http_gate_look_for_end(c);
    }
}

bool http_server_is_idle(const struct http_server *s)
{
    for (size_t i = 0; i < s->config.connections_max; i++) {
        const enum http_connection_state state = s->connection[i].state;
        if (state == HTTP_CONNECTION_READY || state == HTTP_CONNECTION_TAKEN ||
            state == HTTP_CONNECTION_ANSWERING) {
            return false;
        }
    }
    return true;
}

/* --- accepting -------------------------------------------------------------------------------- */

static void accept_one(struct http_server *s, int fd, const struct net_addr *peer)
{
    struct http_connection *c = http_listener_admit(&s->config, s->connection, peer, &s->counts);
    if (c == NULL) {
        (void)close(fd);
        return;
    }
    if (s->tls != NULL && !http_proxies_trust(&s->config.proxies, peer) &&
        !http_tls_admits(s->tls, peer)) {
        metric_add(&s->counts.refused_address_total, 1);
        (void)close(fd);
        return;
    }
    fd = s->tls != NULL ? http_tls_open(s->tls, fd, peer) : fd;
    const lws_adopt_desc_t adopt = {
        .vh = s->vhost, .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP, .fd.sockfd = fd, .opaque = c};
    struct lws *wsi =
        fd >= 0 ? lws_adopt_descriptor_vhost_via_info(&adopt) : NULL; /* closes fd when it fails */
    if (wsi == NULL) {
        return;
    }
    http_connection_open(c, wsi, peer);
    if (!http_gate_add(s->gate_fd, c)) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
    }
    metric_add(&s->counts.accepted_total, 1);
    metric_set(&s->counts.connections, metric_get(&s->counts.connections) + 1);
}

static void accept_clients(struct http_server *s)
{
    int fd = -1;
    struct net_addr peer;
    enum http_arrival arrival = HTTP_ARRIVAL_CLIENT;
    for (int i = 0; i < ACCEPTS_MAX && arrival == HTTP_ARRIVAL_CLIENT; i++) {
        arrival = http_listener_accept(s->listen_fd, &fd, &peer);
        if (arrival == HTTP_ARRIVAL_CLIENT) {
            accept_one(s, fd, &peer);
        }
    }
    if (arrival == HTTP_ARRIVAL_NO_DESCRIPTORS) {
        s->accept_again_us = clock_now_us() + ACCEPT_PAUSE_US;
        (void)lws_rx_flow_control(s->listener.wsi, 0);
    }
}

/* --- libwebsockets ---------------------------------------------------------------------------- */

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    (void)user;
    struct http_connection *c = lws_get_opaque_user_data(wsi);
    struct http_server *s = lws_context_user(lws_get_context(wsi));
    if (c == NULL || c->wsi != wsi || s->is_closing) {
        return 0;
    }
    int result = 0;
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        result = http_connection_on_header(c, clock_now_us());
        break;
    case LWS_CALLBACK_HTTP_BODY:
        result = http_connection_on_body(c, bytes_view_of(in, len));
        break;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        result = http_connection_on_body_end(c, clock_now_us());
        break;
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
        result = http_connection_on_writeable(c);
        break;
    case LWS_CALLBACK_TIMER:
        result = http_connection_on_timer(c);
        break;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        result = http_connection_on_upgrade(c, in);
        break;
    case LWS_CALLBACK_ESTABLISHED:
        result = http_connection_on_socket(c);
        break;
    case LWS_CALLBACK_RECEIVE:
        result = http_connection_on_piece(c, bytes_view_of(in, len));
        break;
    case LWS_CALLBACK_WSI_DESTROY:
        http_connection_on_gone(c);
        metric_set(&s->counts.connections, metric_get(&s->counts.connections) - 1);
        break;
    default:
        break;
    }
    http_queue_note(&s->queue, c);
    return result;
}

static int on_watch(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    struct http_watch *watch = lws_get_opaque_user_data(wsi);
    if (watch == NULL || watch->wsi != wsi) {
        return 0;
    }
    if (reason == LWS_CALLBACK_RAW_CLOSE_FILE) {
        watch->wsi = NULL;
    } else if (reason == LWS_CALLBACK_RAW_RX_FILE && watch->tag == LISTENER) {
        accept_clients(watch->server);
    } else if (reason == LWS_CALLBACK_RAW_RX_FILE && watch->tag == GATE) {
        http_gate_turn(watch->server->gate_fd);
    } else if (reason == LWS_CALLBACK_RAW_RX_FILE && watch->tag == TLS) {
        http_tls_turn(watch->server->tls, clock_now_us());
    } else if (reason == LWS_CALLBACK_RAW_RX_FILE) {
        watch->is_readable = true;
    }
    return 0;
}

/* Clients name subprotocols: the first two are no names that they can send. */
#define WATCH_PROTOCOL "(watch)"

static const struct lws_protocols protocols[] = {
    {.name = "(http)", .callback = on_http},
    {.name = WATCH_PROTOCOL, .callback = on_watch},
    {.name = HTTP_SOCKET_REALTIME, .callback = on_http},
    {.name = HTTP_SOCKET_SIGNAL, .callback = on_http},
    {.name = NULL},
};

/* Later than our own timer of that time, which counts. */
static unsigned seconds_after(uint64_t us)
{
    return (unsigned)(us / US_PER_S) + 1;
}

static bool open_library(struct http_server *s, struct fault *fault)
{
    s->idle_policy.secs_since_valid_ping = (uint16_t)(s->config.socket_ping_us / US_PER_S);
    s->idle_policy.secs_since_valid_hangup = (uint16_t)(s->config.socket_hang_up_us / US_PER_S);
    lws_set_log_level(0, NULL); /* it would write a line for what any stranger does */
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_VALIDATE_UTF8,
        .retry_and_idle_policy = &s->idle_policy,
        .gid = -1,
        .uid = -1,
        .user = s,
        .fd_limit_per_thread = s->config.connections_max + s->config.watches_max + 8,
        .max_http_header_data = HEADER_BYTES_MAX,
        /* One for each connection: with fewer, strangers with half a header hold up the rest. */
        .max_http_header_pool2 = s->config.connections_max + 1,
        .timeout_secs = seconds_after(s->config.request_timeout_us),
        .timeout_secs_ah_idle = seconds_after(s->config.header_timeout_us),
        .keepalive_timeout = (int)seconds_after(s->config.idle_timeout_us),
    };
    s->context = lws_create_context(&info);
    s->vhost = s->context != NULL ? lws_create_vhost(s->context, &info) : NULL;
    return s->vhost != NULL || fault_set(fault, FAULT_LIBRARY, "libwebsockets does not start");
}

/* --- watches ---------------------------------------------------------------------------------- */

static bool watch_open(struct http_server *s, struct http_watch *watch, int fd, size_t tag)
{
    const int copy = dup(fd); /* libwebsockets closes what it is given */
    if (copy < 0) {
        return false;
    }
    *watch = (struct http_watch){.server = s, .tag = tag, .is_used = true};
    const lws_adopt_desc_t adopt = {.vh = s->vhost,
                                    .type = LWS_ADOPT_RAW_FILE_DESC,
                                    .fd.filefd = copy,
                                    .vh_prot_name = WATCH_PROTOCOL,
                                    .opaque = watch};
    watch->wsi = lws_adopt_descriptor_vhost_via_info(&adopt);
    watch->is_used = watch->wsi != NULL;
    return watch->is_used;
}

struct http_watch *http_server_watch(struct http_server *s, int fd, size_t tag)
{
    for (size_t i = 0; i < s->config.watches_max; i++) {
        struct http_watch *watch = &s->watch[i];
        if (!watch->is_used) {
            return watch_open(s, watch, fd, tag) ? watch : NULL;
        }
    }
    return NULL;
}

void http_server_unwatch(struct http_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    struct lws *wsi = watch->wsi;
    *watch = (struct http_watch){.server = watch->server};
    if (wsi != NULL) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_SYNC);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static unsigned descriptors_needed(const struct http_server_config *config)
{
    /* With TLS each client has both ends of a pair beside his socket. */
    const unsigned of_each = config->tls_certificate[0] != '\0' ? 3 : 1;
    return of_each * config->connections_max + DESCRIPTOR_RESERVE;
}

static bool open_listener(struct http_server *s, struct fault *fault)
{
    s->listen_fd = http_listener_open(&s->config.listen, fault);
    if (s->listen_fd < 0) {
        return false;
    }
    s->gate_fd = http_gate_create();
    return (s->gate_fd >= 0 && watch_open(s, &s->gate, s->gate_fd, GATE) &&
            watch_open(s, &s->listener, s->listen_fd, LISTENER)) ||
           fault_set(fault, FAULT_LIBRARY, "listen http: libwebsockets refuses");
}

static bool open_tls(struct http_server *s, struct fault *fault)
{
    const struct http_server_config *config = &s->config;
    if (config->tls_certificate[0] == '\0') {
        return true;
    }
    /* Beside one for each connection, one for each that still says good-bye. */
    s->tls = http_tls_create(2 * config->connections_max, 2 * config->connections_per_address_max,
                             config->tls_certificate, config->tls_key, fault);
    return s->tls != NULL && (watch_open(s, &s->tls_watch, http_tls_fd(s->tls), TLS) ||
                              fault_set(fault, FAULT_LIBRARY, "tls: libwebsockets refuses"));
}

const struct http_tls_counts *http_server_tls_counts(const struct http_server *s)
{
    return s->tls != NULL ? http_tls_counts(s->tls) : NULL;
}

bool http_server_reload_tls(struct http_server *s, struct fault *fault)
{
    return s->tls == NULL || http_tls_reload(s->tls, fault);
}

static bool allocate(struct http_server *s, struct fault *fault)
{
    s->connection = calloc(s->config.connections_max, sizeof(*s->connection));
    s->watch = calloc(s->config.watches_max, sizeof(*s->watch));
    if (s->connection == NULL || s->watch == NULL ||
        !http_queue_init(&s->queue, s->connection, s->config.connections_max, &s->counts)) {
        return fault_set(fault, FAULT_SYSTEM, "http: out of memory");
    }
    for (size_t i = 0; i < s->config.connections_max; i++) {
        s->connection[i].config = &s->config;
        s->connection[i].counts = &s->counts;
    }
    return true;
}

struct http_server *http_server_create(const struct http_server_config *config, struct fault *fault)
{
    struct http_server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "http: out of memory");
        return NULL;
    }
    s->config = *config;
    s->listen_fd = -1;
    s->gate_fd = -1;
    if (!http_listener_has_descriptors(config->connections_max, descriptors_needed(config),
                                       fault) ||
        !allocate(s, fault) || !open_library(s, fault) || !open_tls(s, fault) ||
        !open_listener(s, fault)) {
        http_server_destroy(s);
        return NULL;
    }
    return s;
}

void http_server_destroy(struct http_server *s)
{
    if (s == NULL) {
        return;
    }
    s->is_closing = true;
    if (s->context != NULL) {
        lws_context_destroy(s->context);
    }
    http_tls_destroy(s->tls);
    if (s->listen_fd >= 0) {
        (void)close(s->listen_fd);
    }
    if (s->gate_fd >= 0) {
        (void)close(s->gate_fd);
    }
    for (size_t i = 0; s->connection != NULL && i < s->config.connections_max; i++) {
        free(s->connection[i].body);
        http_socket_destroy(s->connection[i].socket);
        http_response_discard(&s->connection[i].response);
    }
    free(s->connection);
    http_queue_deinit(&s->queue);
    free(s->watch);
    free(s);
}

const struct http_server_counts *http_server_counts(const struct http_server *s)
{
    return &s->counts;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* A timer that comes due before libwebsockets has begun to sleep bounds that sleep no more. */
static void on_wake(lws_sorted_usec_list_t *wake)
{
    lws_cancel_service(lws_container_of(wake, struct http_server, wake)->context);
}

void http_server_wait(struct http_server *s, uint64_t until_us)
{
    const uint64_t now_us = clock_now_us();
    if (s->accept_again_us != 0 && now_us >= s->accept_again_us) {
        s->accept_again_us = 0;
        (void)lws_rx_flow_control(s->listener.wsi, 1);
    }
    if (s->tls != NULL && now_us >= http_tls_next_timeout(s->tls)) {
        http_tls_turn(s->tls, now_us);
    }
    if (s->tls != NULL) {
        until_us = time_earlier(until_us, http_tls_next_timeout(s->tls));
    }
    if (s->accept_again_us != 0) {
        until_us = time_earlier(until_us, s->accept_again_us);
    }
    if (!http_queue_is_empty(&s->queue) || until_us <= now_us) {
        (void)lws_service(s->context, -1); /* looks, and does not sleep */
    } else {
        lws_sul_schedule(s->context, 0, &s->wake, on_wake, (lws_usec_t)(until_us - now_us));
        (void)lws_service(s->context, 0);
    }
    s->watch_next = 0;
}
