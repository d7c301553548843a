/* backend_port.c - see backend_port.h */
#include "services/transceiver/port/backend_port.h"

#include "common/runtime/log.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_US (2 * US_PER_S)
#define REDIAL_US_MIN      (100 * US_PER_MS)
#define REDIAL_US_MAX      (2 * US_PER_S)
#define TCP_TIMEOUT_MS     5000
#define REASON_CAP         160

struct backend_port {
    struct backend_port_config config;
    struct net_addr address[BACKEND_PORT_ADDRESSES_MAX];
    size_t address_count;
    size_t address_next;           /* to be dialled */
    int fd;                        /* -1: waiting to dial */
    struct backend_stream *stream; /* NULL: not connected yet */
    uint64_t deadline_us;          /* of the redial, or of the connect */
    uint64_t redial_us;
    bool was_greeted;
    bool was_lost;
    bool was_complained; /* one line for a backend that can not be reached, not one each 2 s */
    struct backend_port_counters counters;
};

struct backend_port *backend_port_create(const struct backend_port_config *config)
{
    struct backend_port *p = calloc(1, sizeof(*p));
    assert(config->unix_path == NULL || strlen(config->unix_path) <= BACKEND_PORT_UNIX_PATH_MAX);
    if (p != NULL) {
        p->config = *config;
        p->fd = -1;
        p->redial_us = REDIAL_US_MIN;
    }
    return p;
}

void backend_port_destroy(struct backend_port *p)
{
    if (p == NULL) {
        return;
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    backend_stream_destroy(p->stream);
    free(p);
}

const struct backend_port_counters *backend_port_counters(const struct backend_port *p)
{
    return &p->counters;
}

/* It begins somewhere in the list, so that shards and hosts spread over several backends. */
void backend_port_set_addresses(struct backend_port *p, const struct net_addr *address,
                                size_t count)
{
    assert(count >= 1);
    p->address_count = count < BACKEND_PORT_ADDRESSES_MAX ? count : BACKEND_PORT_ADDRESSES_MAX;
    memcpy(p->address, address, p->address_count * sizeof(*address));
    p->address_next = random_u32(p->config.random) % p->address_count;
}

bool backend_port_is_up(const struct backend_port *p)
{
    return p->stream != NULL && backend_stream_is_up(p->stream);
}

/* --- the connection --------------------------------------------------------------------------- */

static void hang_up(struct backend_port *p, const char *reason, uint64_t now_us)
{
    if (p->was_greeted) {
        p->was_lost = true;
        metric_add(&p->counters.losses, 1);
        log_warn("backend.lost reason=\"%s\"", reason);
    } else if (!p->was_complained) {
        p->was_complained = true;
        log_warn("backend.unreachable reason=\"%s\" effect=\"no calls until it answers\"", reason);
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
        p->fd = -1;
    }
    backend_stream_destroy(p->stream);
    p->stream = NULL;
    p->was_greeted = false;
    /* Half to the whole delay, so that shards and hosts do not dial in step. */
    const uint64_t half_us = p->redial_us / 2;
    p->deadline_us = now_us + half_us + random_u32(p->config.random) % (half_us + 1);
    p->redial_us = time_earlier(p->redial_us * 2, REDIAL_US_MAX);
    metric_set(&p->counters.is_up, 0);
}

static void hang_up_for_errno(struct backend_port *p, const char *doing, int error, uint64_t now_us)
{
    char reason[REASON_CAP];
    (void)snprintf(reason, sizeof(reason), "%s: %s", doing, strerror(error));
    hang_up(p, reason, now_us);
}

static int open_socket(struct backend_port *p, struct sockaddr_storage *address,
                       socklen_t *address_len)
{
    if (p->config.unix_path != NULL) {
        struct sockaddr_un *un = (struct sockaddr_un *)address;
        un->sun_family = AF_UNIX;
        (void)snprintf(un->sun_path, sizeof(un->sun_path), "%s", p->config.unix_path);
        *address_len = sizeof(*un);
        return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    *address_len = net_addr_to_sockaddr(&p->address[p->address_next], address);
    p->address_next = (p->address_next + 1) % p->address_count;
    const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    const int timeout_ms = TCP_TIMEOUT_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    return fd;
}

static void dial(struct backend_port *p, uint64_t now_us)
{
    struct sockaddr_storage address = {0};
    socklen_t address_len = 0;
    if (p->config.unix_path == NULL && p->address_count == 0) {
        p->deadline_us = now_us + REDIAL_US_MIN; /* the name is still being looked up */
        return;
    }
    p->fd = open_socket(p, &address, &address_len);
    if (p->fd < 0 || (connect(p->fd, (const struct sockaddr *)&address, address_len) != 0 &&
                      errno != EINPROGRESS)) {
        hang_up_for_errno(p, "connect", errno, now_us);
        return;
    }
    p->deadline_us = now_us + CONNECT_TIMEOUT_US;
}

static void finish_connect(struct backend_port *p, uint64_t now_us)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        hang_up_for_errno(p, "connect", error, now_us);
        return;
    }
    p->stream = backend_stream_create(&p->config.stream, &p->counters.stream, now_us);
    p->deadline_us = TIME_NEVER;
    if (p->stream == NULL) {
        hang_up(p, "out of memory", now_us);
    }
}

/* After each change of the stream. */
static void watch_stream(struct backend_port *p, uint64_t now_us)
{
    char name[BACKEND_TEXT_CAP + 1];
    if (p->stream == NULL) {
        return;
    }
    if (!p->was_greeted && backend_stream_is_greeted(p->stream)) {
        p->was_greeted = true;
        p->was_complained = false;
        p->redial_us = REDIAL_US_MIN;
        metric_add(&p->counters.connects, 1);
        const char *peer = backend_stream_peer_name(p->stream);
        log_info("backend.up name=%s", log_escape(bytes_view_of_text(peer), name, sizeof(name)));
    }
    metric_set(&p->counters.is_up, backend_stream_is_up(p->stream));
    const char *failure = backend_stream_failure(p->stream);
    if (failure != NULL) {
        char reason[BACKEND_TEXT_CAP + 1];
        log_escape(bytes_view_of_text(failure), reason, sizeof(reason));
        const struct bytes_view last_words = backend_stream_output(p->stream);
        (void)!send(p->fd, last_words.data, last_words.len, MSG_NOSIGNAL);
        hang_up(p, reason, now_us);
    }
}

/* --- bytes ------------------------------------------------------------------------------------ */

void backend_port_flush(struct backend_port *p, uint64_t now_us)
{
    watch_stream(p, now_us);
    if (p->stream == NULL) {
        return;
    }
    const struct bytes_view output = backend_stream_output(p->stream);
    if (output.len == 0) {
        return;
    }
    const ssize_t written = send(p->fd, output.data, output.len, MSG_NOSIGNAL);
    if (written > 0) {
        backend_stream_sent(p->stream, (size_t)written, now_us);
    } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
        hang_up_for_errno(p, "write", errno, now_us);
    }
}

static void read_socket(struct backend_port *p, uint64_t now_us)
{
    const struct bytes_span room = backend_stream_reserve(p->stream);
    if (room.cap == 0) {
        return; /* poll_frame makes room */
    }
    const ssize_t got = recv(p->fd, room.data, room.cap, 0);
    if (got > 0) {
        backend_stream_commit(p->stream, (size_t)got, now_us);
    } else if (got == 0) {
        hang_up(p, "closed", now_us);
    } else if (errno != EAGAIN && errno != EINTR) {
        hang_up_for_errno(p, "read", errno, now_us);
    }
}

void backend_port_want(const struct backend_port *p, int *fd, short *events)
{
    *fd = p->fd;
    const bool is_writing = p->stream == NULL || backend_stream_output(p->stream).len > 0;
    *events = (short)(POLLIN | (is_writing ? POLLOUT : 0));
}

void backend_port_service(struct backend_port *p, short revents, uint64_t now_us)
{
    if (p->fd < 0 || revents == 0) {
        return;
    }
    if (p->stream == NULL) {
        finish_connect(p, now_us);
        return;
    }
    if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        read_socket(p, now_us);
    }
}

bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out, uint64_t now_us)
{
    if (p->stream == NULL) {
        return false;
    }
    if (backend_stream_poll_frame(p->stream, out, now_us)) {
        return true;
    }
    watch_stream(p, now_us);
    return false;
}

bool backend_port_poll_lost(struct backend_port *p)
{
    const bool was_lost = p->was_lost;
    p->was_lost = false;
    return was_lost;
}

void backend_port_send(struct backend_port *p, const struct backend_frame *frame)
{
    if (p->stream != NULL) {
        backend_stream_send(p->stream, frame);
    }
}

/* --- time ------------------------------------------------------------------------------------- */

void backend_port_tick(struct backend_port *p, uint64_t now_us)
{
    if (p->stream != NULL) {
        backend_stream_tick(p->stream, now_us);
        watch_stream(p, now_us);
    } else if (now_us >= p->deadline_us) {
        if (p->fd < 0) {
            dial(p, now_us);
        } else {
            hang_up_for_errno(p, "connect", ETIMEDOUT, now_us);
        }
    }
}

uint64_t backend_port_next_timeout(const struct backend_port *p)
{
    return p->stream != NULL ? backend_stream_next_timeout(p->stream) : p->deadline_us;
}
