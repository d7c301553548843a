/* http_connection.c - see http_connection.h */
#include "services/signaling/http_connection.h"

#include "common/runtime/clock.h"
#include "services/signaling/http_field.h"
#include "services/signaling/http_gate.h"
#include "services/signaling/http_screen.h"
#include "services/signaling/http_socket.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Written at once: a slow reader holds no more than this of ours beside his connection. */
#define WRITE_BYTES_MAX 16384
/* Turns of the loop, without sleep, that a client may cost who sends ahead of his answer. */
#define EARLY_PIECES_MAX 8

void http_connection_throttle(struct http_connection *c, bool is_throttled)
{
    if (c->is_throttled != is_throttled) {
        c->is_throttled = is_throttled;
        (void)lws_rx_flow_control(c->wsi, is_throttled ? 0 : 1);
    }
}

/* --- the header ------------------------------------------------------------------------------- */

/* A field of the header, copied; absent, or too long to mean anything to us: empty. */
static struct bytes_view copy_field(struct lws *wsi, enum lws_token_indexes token, char *text,
                                    size_t text_cap)
{
    const int len = lws_hdr_copy(wsi, text, (int)text_cap, token);
    return bytes_view_of(text, len > 0 ? (size_t)len : 0);
}

static enum http_method method_of(int lws_method)
{
    static const int known[HTTP_METHOD_COUNT] = {
        [HTTP_GET] = LWSHUMETH_GET,         [HTTP_HEAD] = LWSHUMETH_HEAD,
        [HTTP_POST] = LWSHUMETH_POST,       [HTTP_PUT] = LWSHUMETH_PUT,
        [HTTP_PATCH] = LWSHUMETH_PATCH,     [HTTP_DELETE] = LWSHUMETH_DELETE,
        [HTTP_OPTIONS] = LWSHUMETH_OPTIONS,
    };
    unsigned method = 0;
    while (method < HTTP_METHOD_COUNT && known[method] != lws_method) {
        method++;
    }
    return (enum http_method)method;
}

/* False when libwebsockets knows no method of ours in it. A path that is too long is empty: it
 * names nothing. */
static bool read_request_line(struct http_connection *c)
{
    char *uri = NULL;
    int uri_len = 0;
    c->request.method = method_of(lws_http_get_uri_and_method(c->wsi, &uri, &uri_len));
    if (c->request.method == HTTP_METHOD_COUNT || uri_len < 0) {
        return false;
    }
    const size_t len = (size_t)uri_len <= HTTP_PATH_CHARS_MAX ? (size_t)uri_len : 0;
    memcpy(c->path, uri, len);
    c->request.path = bytes_view_of(c->path, len);
    return true;
}

/* libwebsockets has cut it at each '&'. What does not fit is left out. */
static struct bytes_view copy_query(struct http_connection *c)
{
    size_t len = 0;
    for (int i = 0; i <= HTTP_SCREEN_SEPARATORS_MAX; i++) {
        const size_t at = len > 0 ? len + 1 : 0;
        if (at >= sizeof(c->query)) {
            break;
        }
        const int part = lws_hdr_copy_fragment(c->wsi, c->query + at, (int)(sizeof(c->query) - at),
                                               WSI_TOKEN_HTTP_URI_ARGS, i);
        if (part < 0) {
            break;
        }
        if (part > 0 && at > 0) {
            c->query[len] = '&';
        }
        len = part > 0 ? at + (size_t)part : len;
    }
    return bytes_view_of(c->query, len);
}

static void read_fields(struct http_connection *c)
{
    c->request.query = copy_query(c);
    c->request.host = copy_field(c->wsi, WSI_TOKEN_HOST, c->host, sizeof(c->host));
    c->request.authorization = copy_field(c->wsi, WSI_TOKEN_HTTP_AUTHORIZATION, c->authorization,
                                          sizeof(c->authorization));
    c->request.content_type =
        copy_field(c->wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, c->content_type, sizeof(c->content_type));
    c->request.user_agent =
        copy_field(c->wsi, WSI_TOKEN_HTTP_USER_AGENT, c->user_agent, sizeof(c->user_agent));
    c->request.language =
        copy_field(c->wsi, WSI_TOKEN_HTTP_ACCEPT_LANGUAGE, c->language, sizeof(c->language));
    c->request.origin = copy_field(c->wsi, WSI_TOKEN_ORIGIN, c->origin, sizeof(c->origin));
    c->request.if_match =
        copy_field(c->wsi, WSI_TOKEN_HTTP_IF_MATCH, c->if_match, sizeof(c->if_match));
    c->request.asked_request_headers =
        copy_field(c->wsi, WSI_TOKEN_HTTP_AC_REQUEST_HEADERS, c->asked_request_headers,
                   sizeof(c->asked_request_headers));
}

/* --- the body's framing ----------------------------------------------------------------------- */

enum framing {
    FRAMING_GOOD,
    FRAMING_BAD,
    FRAMING_BAD_HOST,
    FRAMING_NO_LENGTH,
    FRAMING_TOO_LARGE,
    FRAMING_NO_MEMORY
};

/* RFC 9112 s.3.2: a request of HTTP/1.1 has one Host field; RFC 9110 s.4.2.1: no empty host. */
static bool has_good_host(const struct http_connection *c)
{
    const bool is_there = lws_hdr_total_length(c->wsi, WSI_TOKEN_HOST) > 0;
    const bool is_twice = lws_hdr_fragment_length(c->wsi, WSI_TOKEN_HOST, 1) > 0;
    return !is_twice && (is_there || !c->is_http_1_1);
}

/* How much follows the header (RFC 9112 s.6.3), and whether we take it. */
static enum framing read_framing(struct http_connection *c)
{
    char text[32];
    uint64_t length = 0;
    const bool has_coding = lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0;
    const bool has_length = lws_hdr_total_length(c->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
    c->request.has_length = has_length;
    c->is_http_1_1 = bytes_equal(copy_field(c->wsi, WSI_TOKEN_HTTP, text, sizeof(text)),
                                 bytes_view_of_text("HTTP/1.1"));
    if (!has_good_host(c)) {
        return FRAMING_BAD_HOST;
    }
    if (has_coding) {
        return has_length ? FRAMING_BAD : FRAMING_NO_LENGTH;
    }
    if (!has_length) {
        return FRAMING_GOOD;
    }
    const struct bytes_view field =
        copy_field(c->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, text, sizeof(text));
    if (!http_field_content_length(field, &length)) {
        return FRAMING_BAD;
    }
    if (length > c->config->body_bytes_max) {
        return FRAMING_TOO_LARGE;
    }
    c->body_expected = (size_t)length;
    c->body = length > 0 ? malloc((size_t)length) : NULL;
    return length > 0 && c->body == NULL ? FRAMING_NO_MEMORY : FRAMING_GOOD;
}

static void refuse(struct http_connection *c, enum framing framing)
{
    static const struct {
        unsigned status;
        const char *code;
        const char *message;
    } row[] = {
        [FRAMING_BAD] = {400, "invalid_value",
                         "Content-Length must be one decimal number, and "
                         "not stand beside Transfer-Encoding."},
        [FRAMING_BAD_HOST] = {400, "invalid_value", "Send one Host field."},
        [FRAMING_NO_LENGTH] = {411, "length_required",
                               "Send Content-Length: a chunked body is not taken."},
        [FRAMING_TOO_LARGE] = {413, "too_large", "The body is too large."},
        [FRAMING_NO_MEMORY] = {503, "server_overloaded", "The server is out of memory."},
    };
    struct http_response r = http_response_error(row[framing].status, row[framing].code,
                                                 bytes_view_of_text(row[framing].message));
    r.retry_after_s = framing == FRAMING_NO_MEMORY ? 1 : 0;
    metric_add(&c->counts->malformed_total, 1);
    c->is_last = true;
    c->may_send_more = true;
    c->is_unframed = framing == FRAMING_BAD || framing == FRAMING_BAD_HOST;
    http_connection_answer(c, &r);
}

/* --- reading ---------------------------------------------------------------------------------- */

void http_connection_open(struct http_connection *c, struct lws *wsi, const struct net_addr *peer)
{
    c->wsi = wsi;
    c->peer = *peer;
    c->request_count = 0;
    c->is_last = false;
    c->is_throttled = false;
    http_gate_await(c);
    lws_set_timer_usecs(wsi, (lws_usec_t)c->config->header_timeout_us);
}

static void become_ready(struct http_connection *c, uint64_t now_us)
{
    c->state = HTTP_CONNECTION_READY;
    c->request.body = bytes_view_of(c->body, c->body_len);
    c->request.received_us = now_us;
    metric_add(&c->counts->requests_total, 1);
    lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0); /* ours runs */
    /* libwebsockets spins over what it does not read, and hangs up who has closed his half. */
    http_connection_throttle(c, true);
    http_gate_probe(c);
}

/* Without a length libwebsockets takes whatever follows these methods for a body. */
static bool has_endless_body(const struct http_request *request)
{
    return !request->has_length && (request->method == HTTP_POST || request->method == HTTP_PUT ||
                                    request->method == HTTP_PATCH);
}

int http_connection_on_header(struct http_connection *c, uint64_t now_us)
{
    if (c->state != HTTP_CONNECTION_READING) {
        return -1; /* sent ahead, and read while the answer before it waits for the kernel */
    }
    c->request = (struct http_request){.client = c->client};
    http_response_make_request_id(c->request.id);
    c->body_len = 0;
    c->body_expected = 0;
    c->request_count++;
    lws_set_timer_usecs(c->wsi, (lws_usec_t)c->config->request_timeout_us);
    if (!read_request_line(c)) {
        return -1;
    }
    read_fields(c);
    const enum framing framing = read_framing(c);
    if (framing != FRAMING_GOOD) {
        refuse(c, framing);
        return 0;
    }
    c->may_send_more = has_endless_body(&c->request);
    c->is_unframed = false;
    c->is_last = c->may_send_more || c->request_count >= c->config->requests_per_connection_max;
    if (c->body_expected > 0) {
        c->state = HTTP_CONNECTION_BODY;
        return 0;
    }
    become_ready(c, now_us);
    return 0;
}

int http_connection_on_body(struct http_connection *c, struct bytes_view piece)
{
    if (c->state != HTTP_CONNECTION_BODY) {
        return 0; /* of a request that was refused */
    }
    if (piece.len > c->body_expected - c->body_len) {
        return -1;
    }
    if (piece.len > 0) {
        memcpy(c->body + c->body_len, piece.data, piece.len);
        c->body_len += piece.len;
    }
    return 0;
}

int http_connection_on_body_end(struct http_connection *c, uint64_t now_us)
{
    switch (c->state) {
    case HTTP_CONNECTION_BODY:
        become_ready(c, now_us);
        return 0;
    case HTTP_CONNECTION_LINGERING:
        return -1; /* the client has sent all: closing resets nothing any more */
    case HTTP_CONNECTION_ANSWERING:
        /* More has come behind the body. libwebsockets keeps it, and offers it in each turn. */
        return ++c->early_pieces > EARLY_PIECES_MAX ? -1 : 0;
    default:
        /* The same before there is an answer, which may take its time. (An empty body ends too.) */
        return c->body_expected > 0 ? -1 : 0;
    }
}

/* --- answering -------------------------------------------------------------------------------- */

/* The next piece of head and body, behind the room that libwebsockets wants; its length. */
static size_t next_piece(const struct http_connection *c, uint8_t out[WRITE_BYTES_MAX])
{
    size_t len = 0;
    if (c->sent < c->head_len) {
        len = c->head_len - c->sent;
        memcpy(out, c->head + c->sent, len);
    }
    if (c->request.method == HTTP_HEAD) {
        return len;
    }
    const struct bytes_view body = http_response_body(&c->response);
    const size_t body_sent = c->sent + len - c->head_len;
    size_t body_len = body.len - body_sent;
    if (body_len > WRITE_BYTES_MAX - len) {
        body_len = WRITE_BYTES_MAX - len;
    }
    if (body_len > 0) {
        memcpy(out + len, body.data + body_sent, body_len);
    }
    return len + body_len;
}

static void end_exchange(struct http_connection *c, bool is_delivered)
{
    if (c->exchange != 0) {
        c->has_end = true;
        c->end_is_delivered = is_delivered;
        c->end_exchange = c->exchange;
        c->exchange = 0;
    }
}

static void drop_body(struct http_connection *c)
{
    explicit_bzero(c->authorization, c->request.authorization.len);
    c->request.authorization.len = 0;
    free(c->body);
    c->body = NULL;
    http_response_discard(&c->response);
}

/* libwebsockets 4.1 must never parse a header out of bytes that it kept from an earlier read: with
 * a body behind it, it loops for ever or frees the connection twice. So whoever sends requests
 * ahead is hung up after the first. We can only ask whether any connection has such bytes. */
static bool has_early_input(struct lws *wsi)
{
    return lws_service_adjust_timeout(lws_get_context(wsi), 1, 0) == 0;
}

/* The whole answer is with the kernel: on to the next request, or good-bye. */
static int finish(struct http_connection *c)
{
    end_exchange(c, true);
    drop_body(c);
    if (c->may_send_more) {
        c->state = HTTP_CONNECTION_LINGERING;
        (void)shutdown(lws_get_socket_fd(c->wsi), SHUT_WR);
        http_connection_throttle(c, c->is_unframed);
        lws_set_timer_usecs(c->wsi, HTTP_LINGER_US);
        return 0;
    }
    if (c->is_last || has_early_input(c->wsi)) {
        return -1;
    }
    /* Not LWS_SET_TIMER_USEC_CANCEL: libwebsockets 4.1 takes that for a time that has passed. */
    lws_set_timer_usecs(c->wsi, (lws_usec_t)c->config->idle_timeout_us);
    if (lws_http_transaction_completed(c->wsi) != 0) {
        return -1;
    }
    http_gate_await(c);
    http_gate_look(c); /* perhaps it came while the answer was written */
    return 0;
}

void http_connection_answer(struct http_connection *c, const struct http_response *r)
{
    /* Behind a body libwebsockets would read the end, and hang up, before it writes. */
    const bool has_ended = (c->body_expected > 0 || c->may_send_more) && http_gate_has_ended(c);
    c->is_last = c->is_last || has_ended;
    c->response = *r;
    const struct http_head_context context = {
        .origins = &c->config->origins,
        .origin = c->request.origin,
        .asked_request_headers = c->request.asked_request_headers,
        .request_id = c->request.id,
        .is_last = c->is_last,
        .unix_s = clock_unix_us() / US_PER_S,
    };
    c->head_len = http_response_head(&c->response, &context, c->head);
    c->sent = 0;
    c->early_pieces = 0;
    c->state = HTTP_CONNECTION_ANSWERING;
    if (has_ended) {
        end_exchange(c, http_gate_write(c));
        c->may_send_more = true;
        (void)finish(c);
        return;
    }
    http_connection_throttle(c, false); /* libwebsockets writes nothing while it reads nothing */
    lws_callback_on_writable(c->wsi);
}

int http_connection_on_writeable(struct http_connection *c)
{
    if (c->state == HTTP_CONNECTION_SOCKET) {
        return http_connection_write_socket(c);
    }
    if (c->state != HTTP_CONNECTION_ANSWERING) {
        return 0;
    }
    uint8_t piece[LWS_PRE + WRITE_BYTES_MAX];
    const size_t len = next_piece(c, piece + LWS_PRE);
    if (len > 0) {
        if (lws_write(c->wsi, piece + LWS_PRE, len, LWS_WRITE_HTTP) < (int)len) {
            return -1;
        }
        c->sent += len;
        if (len == WRITE_BYTES_MAX || lws_partial_buffered(c->wsi)) {
            lws_callback_on_writable(c->wsi);
            return 0;
        }
    }
    return finish(c);
}

/* --- ends ------------------------------------------------------------------------------------- */

int http_connection_on_timer(struct http_connection *c)
{
    if (c->state == HTTP_CONNECTION_SOCKET && c->socket->close_code == 0) {
        lws_set_timer_usecs(c->wsi, (lws_usec_t)HTTP_SOCKET_LIFE_US);
        return 0;
    }
    const bool is_idle =
        c->state == HTTP_CONNECTION_SCREENING && !c->has_begun && c->request_count > 0;
    if (!is_idle && c->state != HTTP_CONNECTION_LINGERING) {
        metric_add(&c->counts->timed_out_total, 1);
    }
    return -1;
}

void http_connection_on_gone(struct http_connection *c)
{
    end_exchange(c, false);
    c->wsi = NULL;
    c->state = HTTP_CONNECTION_GONE;
    if (c->socket != NULL && c->socket->is_open) {
        metric_set(&c->counts->sockets, metric_get(&c->counts->sockets) - 1);
    }
    http_connection_settle(c);
}

void http_connection_settle(struct http_connection *c)
{
    if (c->state == HTTP_CONNECTION_GONE && !c->has_end && c->socket == NULL) {
        drop_body(c);
        c->state = HTTP_CONNECTION_FREE;
    }
}
