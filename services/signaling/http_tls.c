/* http_tls.c - see http_tls.h */
#include "services/signaling/http_tls.h"

#include "common/runtime/log.h"
#include "services/signaling/http_certificate.h"
#include "services/signaling/http_listener.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* One record of TLS. */
#define PIECE_BYTES_MAX 16384
/* Moved for one client before the next one has his turn. */
#define PIECES_MAX 16
#define EVENTS_MAX 64

enum side { SIDE_CLIENT, SIDE_SERVER, SIDE_COUNT };

/* What became of a piece. */
enum motion {
    MOTION_MOVED,
    MOTION_WAITS, /* nothing there, or no room behind it: an event will tell */
    MOTION_ENDED, /* that direction is over */
    MOTION_BROKEN /* so is the client */
};

struct pipe {
    SSL *ssl; /* NULL: free */
    int fd[SIDE_COUNT];
    struct net_addr peer;
    bool has_begun; /* his first byte was that of TLS */
    bool has_shaken_hands;
    bool is_up_over;      /* the client says no more */
    bool is_down_over;    /* and the server */
    uint64_t end_us;      /* TIME_NEVER while the server is there */
    unsigned reads_left;  /* of his socket in this turn */
    unsigned key_updates; /* since the last text */
};

struct http_tls {
    struct http_tls_counts counts;
    const char *certificate;
    const char *key;
    SSL_CTX *context;
    int epoll_fd;
    unsigned pipes_max;
    unsigned pipes_per_address_max;
    struct pipe *pipe;
    uint64_t next_end_us; /* no pipe ends earlier */
    struct log_limit plain_limit;
};

/* --- life ------------------------------------------------------------------------------------- */

static bool load(struct http_tls *t, struct fault *fault)
{
    uint64_t expiry_s = 0;
    SSL_CTX *context = http_certificate_load(t->certificate, t->key, &expiry_s, fault);
    if (context == NULL) {
        return false;
    }
    SSL_CTX_free(t->context); /* clients that are here hold it as long as they need it */
    t->context = context;
    metric_set(&t->counts.certificate_expiry_s, expiry_s);
    return true;
}

bool http_tls_reload(struct http_tls *t, struct fault *fault)
{
    return load(t, fault);
}

struct http_tls *http_tls_create(unsigned pipes_max, unsigned pipes_per_address_max,
                                 const char *certificate, const char *key, struct fault *fault)
{
    struct http_tls *t = calloc(1, sizeof(*t));
    struct pipe *pipe = calloc(pipes_max, sizeof(*pipe));
    if (t == NULL || pipe == NULL) {
        free(t);
        free(pipe);
        (void)fault_set(fault, FAULT_SYSTEM, "tls: out of memory");
        return NULL;
    }
    t->certificate = certificate;
    t->key = key;
    t->pipes_max = pipes_max;
    t->pipes_per_address_max = pipes_per_address_max;
    t->pipe = pipe;
    t->next_end_us = TIME_NEVER;
    t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (t->epoll_fd < 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "tls: no descriptor");
    } else if (load(t, fault)) {
        return t;
    }
    http_tls_destroy(t);
    return NULL;
}

/* --- clients in clear ------------------------------------------------------------------------- */

/* A client's first byte is that of a record of TLS, or of a request in clear. */
static bool is_plain_http(struct pipe *p)
{
    uint8_t first = 0;
    if (p->has_begun || recv(p->fd[SIDE_CLIENT], &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
        return false;
    }
    p->has_begun = true;
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
}

static void answer_in_clear(struct http_tls *t, const struct pipe *p, uint64_t now_us)
{
    static const char answer[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n"
        "Connection: close\r\n\r\nThis port speaks TLS: use https://.\n";
    uint8_t dropped[PIECE_BYTES_MAX];
    ssize_t len = 1;
    /* Closing over what was not read would reset the connection, and the answer with it. */
    for (int i = 0; i < PIECES_MAX && len > 0; i++) {
        len = recv(p->fd[SIDE_CLIENT], dropped, sizeof(dropped), MSG_DONTWAIT);
    }
    (void)send(p->fd[SIDE_CLIENT], answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (log_limit_pass(&t->plain_limit, now_us)) {
        log_warn("tls.plain_http held_back=%llu remedy=\"clients use https:// here\"",
                 (unsigned long long)t->plain_limit.held_back);
    }
}

static void close_pipe(struct http_tls *t, struct pipe *p)
{
    metric_add(&t->counts.failed_total, !p->has_shaken_hands);
    SSL_free(p->ssl);
    (void)close(p->fd[SIDE_CLIENT]);
    (void)close(p->fd[SIDE_SERVER]);
    *p = (struct pipe){0};
}

void http_tls_destroy(struct http_tls *t)
{
    if (t == NULL) {
        return;
    }
    for (unsigned i = 0; i < t->pipes_max; i++) {
        if (t->pipe[i].ssl != NULL) {
            close_pipe(t, &t->pipe[i]);
        }
    }
    SSL_CTX_free(t->context);
    if (t->epoll_fd >= 0) {
        (void)close(t->epoll_fd);
    }
    free(t->pipe);
    free(t);
}

const struct http_tls_counts *http_tls_counts(const struct http_tls *t)
{
    return &t->counts;
}

int http_tls_fd(const struct http_tls *t)
{
    return t->epoll_fd;
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool watch(struct http_tls *t, const struct pipe *p, int operation)
{
    bool is_good = true;
    for (unsigned side = 0; side < SIDE_COUNT; side++) {
        /* Edge triggered: both directions are tried until each of them waits. */
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                    .data.u64 = (uint64_t)(p - t->pipe) * SIDE_COUNT + side};
        is_good = is_good && epoll_ctl(t->epoll_fd, operation, p->fd[side], &event) == 0;
    }
    return is_good;
}

static struct pipe *find_free(struct http_tls *t)
{
    for (unsigned i = 0; i < t->pipes_max; i++) {
        if (t->pipe[i].ssl == NULL) {
            return &t->pipe[i];
        }
    }
    return NULL;
}

/* OpenSSL asks before each read of the socket: without more reads in this turn it hears what it
 * hears of an empty socket. */
static long before_read(BIO *socket, int operation, const char *data, size_t len, int command,
                        long value, int result, size_t *processed)
{
    (void)data;
    (void)len;
    (void)command;
    (void)value;
    (void)processed;
    struct pipe *p = (struct pipe *)(void *)BIO_get_callback_arg(socket);
    if (operation != BIO_CB_READ) {
        return result;
    }
    if (p->reads_left == 0) {
        BIO_set_retry_read(socket);
        return -1;
    }
    p->reads_left--;
    return result;
}

static void on_message(int is_ours, int version, int content_type, const void *message, size_t len,
                       SSL *ssl, void *pipe)
{
    struct pipe *p = pipe;
    (void)version;
    (void)ssl;
    if (!is_ours && content_type == SSL3_RT_HANDSHAKE && len > 0 &&
        *(const uint8_t *)message == SSL3_MT_KEY_UPDATE) {
        p->key_updates++;
    }
}

static bool start_tls(struct http_tls *t, struct pipe *p, int socket_fd)
{
    const int on = 1;
    (void)setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    p->ssl = SSL_new(t->context);
    if (p->ssl == NULL || SSL_set_fd(p->ssl, socket_fd) != 1) {
        return false;
    }
    BIO_set_callback_ex(SSL_get_rbio(p->ssl), before_read);
    BIO_set_callback_arg(SSL_get_rbio(p->ssl), (char *)p);
    SSL_set_msg_callback(p->ssl, on_message);
    SSL_set_msg_callback_arg(p->ssl, p);
    SSL_set_accept_state(p->ssl);
    return true;
}

bool http_tls_admits(const struct http_tls *t, const struct net_addr *peer)
{
    unsigned of_same_client = 0;
    for (unsigned i = 0; i < t->pipes_max; i++) {
        of_same_client +=
            t->pipe[i].ssl != NULL && http_listener_is_same_client(&t->pipe[i].peer, peer);
    }
    return of_same_client < t->pipes_per_address_max;
}

int http_tls_open(struct http_tls *t, int socket_fd, const struct net_addr *peer)
{
    struct pipe *p = find_free(t);
    int pair[SIDE_COUNT];
    if (p == NULL ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        (void)close(socket_fd);
        return -1;
    }
    *p = (struct pipe){.fd = {socket_fd, pair[0]}, .peer = *peer, .end_us = TIME_NEVER};
    if (!start_tls(t, p, socket_fd) || !watch(t, p, EPOLL_CTL_ADD)) {
        close_pipe(t, p);
        (void)close(pair[1]);
        return -1;
    }
    return pair[1];
}

/* --- moving ----------------------------------------------------------------------------------- */

static enum motion motion_of(const struct pipe *p, int result)
{
    switch (SSL_get_error(p->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return MOTION_WAITS;
    case SSL_ERROR_ZERO_RETURN:
        return MOTION_ENDED;
    default:
        return MOTION_BROKEN;
    }
}

/* From the client to the server. */
static enum motion move_up(struct pipe *p)
{
    uint8_t piece[PIECE_BYTES_MAX];
    ERR_clear_error();
    const int len = SSL_peek(p->ssl, piece, sizeof(piece));
    if (p->key_updates > HTTP_TLS_KEY_UPDATES_MAX) {
        return MOTION_BROKEN;
    }
    if (len <= 0) {
        return motion_of(p, len);
    }
    p->key_updates = 0;
    ssize_t taken = send(p->fd[SIDE_SERVER], piece, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EAGAIN) {
        return MOTION_WAITS;
    }
    if (taken < 0) {
        taken = len; /* the server is gone; its answer may still be on the way */
    }
    return SSL_read(p->ssl, piece, (int)taken) == taken ? MOTION_MOVED : MOTION_BROKEN;
}

/* And back. */
static enum motion move_down(struct pipe *p)
{
    uint8_t piece[PIECE_BYTES_MAX];
    const ssize_t len = recv(p->fd[SIDE_SERVER], piece, sizeof(piece), MSG_PEEK | MSG_DONTWAIT);
    if (len <= 0) {
        return len < 0 && errno == EAGAIN ? MOTION_WAITS : MOTION_ENDED;
    }
    ERR_clear_error();
    const int taken = SSL_write(p->ssl, piece, (int)len);
    if (taken <= 0) {
        return motion_of(p, taken);
    }
    return recv(p->fd[SIDE_SERVER], piece, (size_t)taken, MSG_DONTWAIT) == taken ? MOTION_MOVED
                                                                                 : MOTION_BROKEN;
}

static void end_by(struct http_tls *t, struct pipe *p, uint64_t end_us)
{
    p->end_us = time_earlier(p->end_us, end_us);
    t->next_end_us = time_earlier(t->next_end_us, p->end_us);
}

/* One step of both directions; false when neither will move before an event. */
static bool step(struct http_tls *t, struct pipe *p, enum motion *up, enum motion *down,
                 uint64_t now_us)
{
    *up = p->is_up_over ? MOTION_WAITS : move_up(p);
    *down = p->is_down_over || *up == MOTION_BROKEN ? MOTION_WAITS : move_down(p);
    if (*up == MOTION_ENDED) {
        p->is_up_over = true;
        (void)shutdown(p->fd[SIDE_SERVER], SHUT_WR);
    }
    if (*down == MOTION_ENDED) {
        p->is_down_over = true;
        (void)SSL_shutdown(p->ssl);
        (void)shutdown(p->fd[SIDE_CLIENT], SHUT_WR);
        end_by(t, p, now_us + HTTP_TLS_LINGER_US);
    }
    return *up == MOTION_MOVED || *down == MOTION_MOVED;
}

static void pump(struct http_tls *t, struct pipe *p, uint64_t now_us)
{
    enum motion up = MOTION_WAITS;
    enum motion down = MOTION_WAITS;
    unsigned pieces = 0;
    if (is_plain_http(p)) {
        answer_in_clear(t, p, now_us);
        close_pipe(t, p);
        return;
    }
    p->reads_left = HTTP_TLS_READS_MAX;
    while (step(t, p, &up, &down, now_us) && pieces < PIECES_MAX) {
        pieces++;
    }
    if (!p->has_shaken_hands && SSL_is_init_finished(p->ssl)) {
        p->has_shaken_hands = true;
        metric_add(&t->counts.handshakes_total, 1);
    }
    const bool is_over = up == MOTION_BROKEN || down == MOTION_BROKEN ||
                         (p->is_down_over && (p->is_up_over || !p->has_shaken_hands));
    if (is_over) {
        close_pipe(t, p);
    } else if (pieces == PIECES_MAX || p->reads_left == 0) {
        (void)watch(t, p, EPOLL_CTL_MOD); /* which tells again what is ready */
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void expire(struct http_tls *t, uint64_t now_us)
{
    t->next_end_us = TIME_NEVER;
    for (unsigned i = 0; i < t->pipes_max; i++) {
        struct pipe *p = &t->pipe[i];
        if (p->ssl != NULL && p->end_us <= now_us) {
            close_pipe(t, p);
        } else if (p->ssl != NULL) {
            t->next_end_us = time_earlier(t->next_end_us, p->end_us);
        }
    }
}

void http_tls_turn(struct http_tls *t, uint64_t now_us)
{
    struct epoll_event event[EVENTS_MAX];
    const int count = epoll_wait(t->epoll_fd, event, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct pipe *p = &t->pipe[event[i].data.u64 / SIDE_COUNT];
        if (p->ssl == NULL) {
            continue; /* closed within this turn */
        }
        if (event[i].data.u64 % SIDE_COUNT == SIDE_CLIENT && (event[i].events & EPOLLERR) != 0) {
            close_pipe(t, p); /* reset */
            continue;
        }
        if (event[i].data.u64 % SIDE_COUNT == SIDE_SERVER && (event[i].events & EPOLLHUP) != 0) {
            end_by(t, p, now_us + HTTP_TLS_FLUSH_US);
        }
        pump(t, p, now_us);
    }
    if (now_us >= t->next_end_us) {
        expire(t, now_us);
    }
}

uint64_t http_tls_next_timeout(const struct http_tls *t)
{
    return t->next_end_us;
}
