/* http_gate.c - see http_gate.h */
#include "services/signaling/http_gate.h"

#include "common/runtime/clock.h"
#include "services/signaling/http_screen.h"
#include "services/signaling/http_socket.h"
#include "services/signaling/http_upgrade.h"

#include <assert.h>
#include <libwebsockets.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Connections that are looked at in one turn of the loop. */
#define INPUTS_MAX 64
/* Of a client that was refused, dropped at once: what is more waits for the end of the linger. */
#define DROP_BYTES_MAX (1 << 20)

static void hang_up(struct http_connection *c)
{
    /* Not at once: libwebsockets may be at work on the connection, further up the stack. */
    lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

/* Drops what the client has sent: who writes a long body reads his answer after it. When he closes
 * too, libwebsockets sees it. */
static void drop_input(int fd, size_t len_max)
{
    uint8_t dropped[HTTP_SCREEN_BYTES_MAX];
    ssize_t len = 1;
    for (size_t left = len_max; left > 0 && len > 0; left -= len > 0 ? (size_t)len : 0) {
        len = recv(fd, dropped, left < sizeof(dropped) ? left : sizeof(dropped), MSG_DONTWAIT);
    }
}

/* Answers past libwebsockets, which has read nothing of this request. */
static void answer_head(struct http_connection *c, const struct http_response *r,
                        struct bytes_view head)
{
    const struct bytes_view body = http_response_body(r);
    char request_id[HTTP_REQUEST_ID_CHARS + 1];
    http_response_make_request_id(request_id);
    const struct http_head_context context = {
        .origins = &c->config->origins,
        .origin = http_screen_field(head, "origin"),
        .asked_request_headers = http_screen_field(head, "access-control-request-headers"),
        .request_id = request_id,
        .is_last = true,
        .unix_s = clock_unix_us() / US_PER_S,
    };
    char text[HTTP_HEAD_BYTES_MAX + HTTP_OWN_BODY_BYTES_MAX];
    size_t len = http_response_head(r, &context, text);
    if (body.len > 0 && !http_screen_is_head_request(head)) {
        memcpy(text + len, body.data, body.len);
        len += body.len;
    }
    const int fd = lws_get_socket_fd(c->wsi);
    /* Earlier answers are gone, or the client does not read: it fits what the kernel takes. */
    (void)send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(fd, SHUT_WR);
    c->state = HTTP_CONNECTION_LINGERING;
    lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0);
    lws_set_timer_usecs(c->wsi, HTTP_LINGER_US);
    drop_input(fd, DROP_BYTES_MAX);
}

static void refuse_head(struct http_connection *c, enum http_screen_verdict verdict,
                        struct bytes_view head)
{
    const struct http_response r = http_screen_answer(verdict);
    metric_add(&c->counts->malformed_total, 1);
    answer_head(c, &r, head);
}

/* Who asks for a WebSocket is judged before libwebsockets knows of it. */
static void judge(struct http_connection *c, struct http_upgrade *upgrade,
                  struct http_judgement *out)
{
    upgrade->client = c->client;
    if (!http_origins_allow(&c->config->origins, upgrade->origin)) {
        out->refusal = http_response_error(
            403, "origin_not_allowed", bytes_view_of_text("Pages of this origin may not connect."));
        return;
    }
    if (c->config->judge == NULL) {
        out->refusal = http_response_error(404, "not_found",
                                           bytes_view_of_text("No WebSocket is spoken here."));
        return;
    }
    c->config->judge(c->config->judge_context, upgrade, out);
}

/* False: the judge said no. */
static bool let_in(struct http_connection *c, struct http_upgrade *upgrade,
                   struct http_response *refusal)
{
    struct http_judgement judgement = {0};
    struct http_socket *k = http_socket_create(); /* before the judge keeps a place for it */
    if (k == NULL) {
        *refusal = http_response_error(503, "server_overloaded",
                                       bytes_view_of_text("The server is out of memory."));
        return false;
    }
    judge(c, upgrade, &judgement);
    if (!judgement.is_accepted) {
        http_socket_destroy(k);
        *refusal = judgement.refusal;
        return false;
    }
    assert(http_upgrade_can_answer(upgrade->subprotocols, judgement.subprotocol));
    http_socket_begin(k, &judgement);
    c->socket = k;
    c->state = HTTP_CONNECTION_UPGRADING;
    http_connection_throttle(c, false);
    return true;
}

/* A head that passed. */
static void pass_head(struct http_connection *c, struct bytes_view head)
{
    struct http_upgrade upgrade;
    struct http_response refusal;
    c->client = http_proxies_client(&c->config->proxies, &c->peer, head);
    const enum http_upgrade_kind kind = http_upgrade_read(head, &upgrade, &refusal);
    if (kind == HTTP_UPGRADE_NONE) {
        c->state = HTTP_CONNECTION_READING;
        http_connection_throttle(c, false);
    } else if (kind == HTTP_UPGRADE_BAD) {
        metric_add(&c->counts->malformed_total, 1);
        answer_head(c, &refusal, head);
    } else if (!let_in(c, &upgrade, &refusal)) {
        metric_add(&c->counts->sockets_refused_total, 1);
        answer_head(c, &refusal, head);
    }
}

/* The first byte of a head: it gets its time, however long libwebsockets would still wait. */
static void begin_head(struct http_connection *c)
{
    if (!c->has_begun && c->request_count > 0) {
        lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0);
        lws_set_timer_usecs(c->wsi, (lws_usec_t)c->config->header_timeout_us);
    }
    c->has_begun = true;
}

/* The head is looked at where it is, in the kernel: libwebsockets reads it once it is whole. */
void http_gate_look(struct http_connection *c)
{
    uint8_t input[HTTP_SCREEN_BYTES_MAX];
    const int fd = lws_get_socket_fd(c->wsi);
    const ssize_t len = recv(fd, input, sizeof(input), MSG_PEEK | MSG_DONTWAIT);
    if (len <= 0) {
        if (len == 0) {
            hang_up(c);
        }
        return;
    }
    begin_head(c);
    const size_t empty_len = http_screen_empty_lines(bytes_view_of(input, (size_t)len));
    if (empty_len > 0) {
        drop_input(fd, empty_len);
    }
    const struct bytes_view head = bytes_view_of(input + empty_len, (size_t)len - empty_len);
    enum http_screen_verdict verdict = http_screen_look(head);
    if (verdict == HTTP_SCREEN_MORE && (size_t)len == sizeof(input)) {
        verdict = HTTP_SCREEN_LARGE;
    }
    if (verdict == HTTP_SCREEN_PASS) {
        pass_head(c, head);
    } else if (verdict != HTTP_SCREEN_MORE) {
        refuse_head(c, verdict, head);
    }
}

/* Between two requests, and before the first. */
void http_gate_await(struct http_connection *c)
{
    c->state = HTTP_CONNECTION_SCREENING;
    c->has_begun = false;
    http_connection_throttle(c, true);
}

bool http_gate_has_ended(const struct http_connection *c)
{
    struct pollfd one = {.fd = lws_get_socket_fd(c->wsi), .events = POLLRDHUP};
    return poll(&one, 1, 0) == 1;
}

void http_gate_probe(struct http_connection *c)
{
    /* Who is there reads on (RFC 9110 s.15.2); who is gone resets the connection, which is seen:
     * of an offer that ends its call. */
    static const char probe[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (c->is_http_1_1 && (c->body_expected > 0 || c->may_send_more) && http_gate_has_ended(c)) {
        (void)send(lws_get_socket_fd(c->wsi), probe, sizeof(probe) - 1,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

bool http_gate_write(struct http_connection *c)
{
    const struct bytes_view body = http_response_body(&c->response);
    const int fd = lws_get_socket_fd(c->wsi);
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    return send(fd, c->head, c->head_len, flags | MSG_MORE) == (ssize_t)c->head_len &&
           send(fd, body.data, body.len, flags) == (ssize_t)body.len;
}

void http_gate_look_for_end(struct http_connection *c)
{
    if (c->socket->is_held && http_gate_has_ended(c)) {
        hang_up(c);
    }
}

/* --- whose input has grown -------------------------------------------------------------------- */

int http_gate_create(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

bool http_gate_add(int gate_fd, struct http_connection *c)
{
    /* Edge triggered: a head that has not grown is not looked at again. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    return epoll_ctl(gate_fd, EPOLL_CTL_ADD, lws_get_socket_fd(c->wsi), &event) == 0;
}

void http_gate_turn(int gate_fd)
{
    struct epoll_event event[INPUTS_MAX];
    const int count = epoll_wait(gate_fd, event, INPUTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct http_connection *c = event[i].data.ptr;
        if (c->state == HTTP_CONNECTION_SCREENING) {
            http_gate_look(c);
            if (c->state == HTTP_CONNECTION_SCREENING && (event[i].events & EPOLLRDHUP) != 0) {
                hang_up(c); /* the rest of its head will not come */
            }
        } else if (c->state == HTTP_CONNECTION_SOCKET) {
            http_gate_look_for_end(c);
        } else if (c->state == HTTP_CONNECTION_READY || c->state == HTTP_CONNECTION_TAKEN) {
            http_gate_probe(c);
        } else if (c->state == HTTP_CONNECTION_LINGERING) {
            drop_input(lws_get_socket_fd(c->wsi), DROP_BYTES_MAX);
        } else if (c->state == HTTP_CONNECTION_ANSWERING) {
            /* Sent ahead. While the answer waits for the kernel, libwebsockets does not sleep. */
            lws_set_timer_usecs(c->wsi, HTTP_LINGER_US);
        }
    }
}
