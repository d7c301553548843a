/* admin_http.c - see admin_http.h; hides libwebsockets */
#include "common/runtime/admin_http.h"

#include "common/runtime/clock.h"

#include <assert.h>
#include <errno.h>
#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8
#define DEADLINE_US     (2 * US_PER_S) /* from accept to the last byte of the answer */
#define BEAT_AGE_MAX_US (2 * US_PER_S)
#define WRITE_BYTES     4096
#define LIST_LINE_BYTES 96

static struct {
    const char *service;
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct lws *listener;
    unsigned connection_count;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;
} admin;

struct named_value {
    const char *name;
    metric_value value;
};
static struct named_value loops[ADMIN_LOOPS_MAX];
static size_t loop_count;
static struct named_value conditions[ADMIN_CONDITIONS_MAX];
static size_t condition_count;

metric_value *admin_http_add_loop(const char *name)
{
    assert(loop_count < ADMIN_LOOPS_MAX);
    struct named_value *loop = &loops[loop_count++];
    loop->name = name;
    /* A loop has as long for its first beat as for every other. */
    metric_set(&loop->value, clock_now_us());
    return &loop->value;
}

metric_value *admin_http_add_condition(const char *name)
{
    assert(condition_count < ADMIN_CONDITIONS_MAX);
    struct named_value *condition = &conditions[condition_count++];
    condition->name = name;
    metric_set(&condition->value, 0);
    return &condition->value;
}

/* ---- answers ---- */

struct answer {
    unsigned status;
    const char *type;
    char *body; /* malloc'ed; NULL after a failure to make it */
    size_t body_len;
    size_t sent_len;
};

static const char plain_text[] = "text/plain; charset=utf-8";

static void answer_text(struct answer *answer, unsigned status, const char *text)
{
    answer->status = status;
    answer->type = plain_text;
    answer->body = strdup(text);
    answer->body_len = answer->body == NULL ? 0 : strlen(text);
}

/* Each loop with the age of its last beat. */
static void answer_health(struct answer *answer)
{
    char text[ADMIN_LOOPS_MAX * LIST_LINE_BYTES + 1] = "";
    const uint64_t now_us = clock_now_us();
    bool is_alive = true;
    size_t len = 0;
    for (size_t i = 0; i < loop_count; i++) {
        const uint64_t age_us = time_since(metric_get(&loops[i].value), now_us);
        const bool is_beating = age_us <= BEAT_AGE_MAX_US;
        is_alive = is_alive && is_beating;
        (void)snprintf(text + len, LIST_LINE_BYTES, "%.48s: %s (%llu ms ago)\n", loops[i].name,
                       is_beating ? "yes" : "no", (unsigned long long)(age_us / US_PER_MS));
        len += strlen(text + len);
    }
    answer_text(answer, is_alive ? HTTP_STATUS_OK : HTTP_STATUS_SERVICE_UNAVAILABLE, text);
}

static void answer_readiness(struct answer *answer)
{
    char text[ADMIN_CONDITIONS_MAX * LIST_LINE_BYTES + 1] = "";
    bool is_ready = true;
    size_t len = 0;
    for (size_t i = 0; i < condition_count; i++) {
        const bool holds = metric_get(&conditions[i].value) != 0;
        is_ready = is_ready && holds;
        (void)snprintf(text + len, LIST_LINE_BYTES, "%.48s: %s\n", conditions[i].name,
                       holds ? "yes" : "no");
        len += strlen(text + len);
    }
    answer_text(answer, is_ready ? HTTP_STATUS_OK : HTTP_STATUS_SERVICE_UNAVAILABLE, text);
}

static void answer_version(struct answer *answer)
{
    char text[96];
    (void)snprintf(text, sizeof(text), "earshot-%s %s\n", admin.service, EARSHOT_VERSION);
    answer_text(answer, HTTP_STATUS_OK, text);
}

static void answer_metrics(struct answer *answer, bool wants_openmetrics)
{
    answer->status = HTTP_STATUS_OK;
    answer->type = wants_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                     : "text/plain; version=0.0.4; charset=utf-8";
    answer->body = metrics_render(
        admin.service, wants_openmetrics ? METRICS_OPENMETRICS : METRICS_TEXT, &answer->body_len);
}

static bool accepts_openmetrics(struct lws *wsi)
{
    char accept[512];
    return lws_hdr_copy(wsi, accept, sizeof(accept), WSI_TOKEN_HTTP_ACCEPT) > 0 &&
           strstr(accept, "application/openmetrics-text") != NULL;
}

static void choose_answer(struct lws *wsi, const char *path, struct answer *answer)
{
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) == 0) {
        answer_text(answer, HTTP_STATUS_METHOD_NOT_ALLOWED, "GET only\n");
    } else if (strcmp(path, "/healthz") == 0) {
        answer_health(answer);
    } else if (strcmp(path, "/readyz") == 0) {
        answer_readiness(answer);
    } else if (strcmp(path, "/metrics") == 0) {
        answer_metrics(answer, accepts_openmetrics(wsi));
    } else if (strcmp(path, "/version") == 0) {
        answer_version(answer);
    } else {
        answer_text(answer, HTTP_STATUS_NOT_FOUND, "/healthz /readyz /metrics /version\n");
    }
}

/* ---- libwebsockets ---- */

/* The headers; the body follows when the socket is writable. Non-zero closes the connection. */
static int send_headers(struct lws *wsi, const struct answer *answer)
{
    uint8_t headers[LWS_PRE + 1024];
    uint8_t *at = headers + LWS_PRE;
    uint8_t *end = headers + sizeof(headers) - 1;
    static const unsigned char close_text[] = "close";
    static const unsigned char get_text[] = "GET";
    if (answer->body == NULL ||
        lws_add_http_common_headers(wsi, answer->status, answer->type, answer->body_len, &at,
                                    end) != 0 ||
        lws_add_http_header_by_token(wsi, WSI_TOKEN_CONNECTION, close_text, sizeof(close_text) - 1,
                                     &at, end) != 0) {
        return -1;
    }
    if (answer->status == HTTP_STATUS_METHOD_NOT_ALLOWED &&
        lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_ALLOW, get_text, sizeof(get_text) - 1, &at,
                                     end) != 0) {
        return -1;
    }
    return lws_finalize_write_http_header(wsi, headers + LWS_PRE, &at, end);
}

/* One piece of the body a call; the connection closes after the last. */
static int send_body(struct lws *wsi, struct answer *answer)
{
    uint8_t piece[LWS_PRE + WRITE_BYTES];
    const size_t left = answer->body_len - answer->sent_len;
    const size_t len = left < WRITE_BYTES ? left : WRITE_BYTES;
    if (answer->body == NULL) {
        return -1;
    }
    memcpy(piece + LWS_PRE, answer->body + answer->sent_len, len);
    const bool is_last = len == left;
    if (lws_write(wsi, piece + LWS_PRE, len, is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) <
        (int)len) {
        return -1;
    }
    answer->sent_len += len;
    if (is_last) {
        return -1;
    }
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    struct answer *answer = user;
    (void)len;
    switch (reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        admin.connection_count++;
        lws_set_timer_usecs(wsi, DEADLINE_US);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        admin.connection_count -= wsi == admin.listener ? 0 : 1;
        return 0;
    case LWS_CALLBACK_TIMER:
        return -1;
    case LWS_CALLBACK_HTTP:
        choose_answer(wsi, in, answer);
        if (send_headers(wsi, answer) != 0) {
            return -1;
        }
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return send_body(wsi, answer);
    case LWS_CALLBACK_CLOSED_HTTP:
        if (answer != NULL) {
            free(answer->body);
            answer->body = NULL;
        }
        return 0;
    default:
        return 0;
    }
}

/* The listener is ours, so that its errors are too, and so that a connection beyond the limit ends
 * before libwebsockets sees it. */
static int on_listener(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                       size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    if (reason != LWS_CALLBACK_RAW_RX_FILE) {
        return 0;
    }
    const int fd = accept4(lws_get_socket_fd(wsi), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0 && admin.connection_count >= CONNECTIONS_MAX) {
        (void)close(fd);
    } else if (fd >= 0) {
        (void)lws_adopt_socket_vhost(admin.vhost, fd); /* closes it when it fails */
    }
    return 0;
}

static const struct lws_protocols protocols[] = {
    {"http", on_http, sizeof(struct answer), 0, 0, NULL, 0},
    {"listener", on_listener, 0, 0, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static void *run(void *context)
{
    (void)context;
    while (!atomic_load(&admin.is_stopping) && lws_service(admin.context, 0) >= 0) {
    }
    return NULL;
}

/* Bound by us: libwebsockets keeps trying in silence when an address is taken. */
static int open_listener(const struct net_addr *address, struct fault *fault)
{
    struct sockaddr_storage at;
    const socklen_t at_len = net_addr_to_sockaddr(address, &at);
    const int on = 1;
    const int fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (const struct sockaddr *)&at, at_len) == 0 && listen(fd, CONNECTIONS_MAX) == 0) {
        return fd;
    }
    const int error = errno;
    char text[NET_ADDR_TEXT_CAP];
    (void)fault_set(fault, FAULT_SYSTEM, "admin: listen %s: %s%s",
                    net_addr_format(address, text, sizeof(text)), strerror(error),
                    error == EADDRINUSE ? " (is another earshot running? change admin_listen)"
                                        : "");
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

/* Owns listener from here on, also when it fails. */
static bool start_library(int listener, struct fault *fault)
{
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .gid = -1,
        .uid = -1,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .max_http_header_data = 4096,
        .max_http_header_pool = CONNECTIONS_MAX + 1,
    };
    lws_set_log_level(0, NULL); /* its own lines would break the form of ours */
    admin.context = lws_create_context(&info);
    admin.vhost = admin.context == NULL ? NULL : lws_create_vhost(admin.context, &info);
    if (admin.vhost == NULL) {
        (void)close(listener);
    } else {
        const lws_sock_file_fd_type descriptor = {.filefd = listener};
        admin.listener = lws_adopt_descriptor_vhost(admin.vhost, LWS_ADOPT_RAW_FILE_DESC,
                                                    descriptor, "listener", NULL);
    }
    return admin.listener != NULL ||
           fault_set(fault, FAULT_LIBRARY, "admin: libwebsockets does not start");
}

/* Signals stay with the thread that reads them. */
static bool start_thread(struct fault *fault)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&admin.thread, NULL, run, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    admin.has_thread = error == 0;
    return admin.has_thread ||
           fault_set(fault, FAULT_SYSTEM, "admin: start a thread: %s", strerror(error));
}

bool admin_http_start(const char *service, const struct net_addr *listen, struct fault *fault)
{
    admin.service = service;
    const int listener = open_listener(listen, fault);
    if (listener < 0) {
        return false;
    }
    if (!start_library(listener, fault) || !start_thread(fault)) {
        admin_http_stop();
        return false;
    }
    return true;
}

void admin_http_stop(void)
{
    if (admin.has_thread) {
        atomic_store(&admin.is_stopping, true);
        lws_cancel_service(admin.context);
        (void)pthread_join(admin.thread, NULL);
        atomic_store(&admin.is_stopping, false);
        admin.has_thread = false;
    }
    if (admin.context != NULL) {
        lws_context_destroy(admin.context);
    }
    admin.context = NULL;
    admin.vhost = NULL;
    admin.listener = NULL;
}
