/* backend_connection.c - see backend_connection.h */
#include "services/transceiver/port/backend_connection.h"

#include "common/runtime/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_US (2 * US_PER_S)
#define TCP_TIMEOUT_MS     5000

void backend_connection_init(struct backend_connection *c)
{
    *c = (struct backend_connection){.fd = -1};
}

void backend_connection_close(struct backend_connection *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    backend_stream_destroy(c->stream);
    backend_connection_init(c);
}

void backend_connection_break(struct backend_connection *c, const char *reason)
{
    (void)snprintf(c->reason, sizeof(c->reason), "%s", reason);
    if (c->fd >= 0) {
        (void)close(c->fd);
        c->fd = -1;
    }
    c->state = BACKEND_CONNECTION_BROKEN;
    c->has_unread = false;
}

static void break_for_errno(struct backend_connection *c, const char *doing, int error)
{
    char reason[BACKEND_CONNECTION_REASON_CAP];
    (void)snprintf(reason, sizeof(reason), "%s: %s", doing, strerror(error));
    backend_connection_break(c, reason);
}

/* --- dialling --------------------------------------------------------------------------------- */

static int open_socket(const char *unix_path, const struct net_addr *to,
                       struct sockaddr_storage *address, socklen_t *address_len)
{
    if (to == NULL) {
        struct sockaddr_un *un = (struct sockaddr_un *)address;
        un->sun_family = AF_UNIX;
        (void)snprintf(un->sun_path, sizeof(un->sun_path), "%s", unix_path);
        *address_len = sizeof(*un);
        return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    *address_len = net_addr_to_sockaddr(to, address);
    const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    const int timeout_ms = TCP_TIMEOUT_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    return fd;
}

void backend_connection_dial(struct backend_connection *c, const char *unix_path,
                             const struct net_addr *address, uint64_t now_us)
{
    struct sockaddr_storage to = {0};
    socklen_t to_len = 0;
    c->fd = open_socket(unix_path, address, &to, &to_len);
    if (c->fd < 0 ||
        (connect(c->fd, (const struct sockaddr *)&to, to_len) != 0 && errno != EINPROGRESS)) {
        break_for_errno(c, "connect", errno);
        return;
    }
    c->state = BACKEND_CONNECTION_DIALLING;
    c->connect_until_us = now_us + CONNECT_TIMEOUT_US;
}

static void finish_connect(struct backend_connection *c, const struct backend_stream_config *config,
                           struct backend_stream_counters *counters, uint64_t now_us)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        break_for_errno(c, "connect", error);
        return;
    }
    c->stream = backend_stream_create(config, counters, now_us);
    if (c->stream == NULL) {
        backend_connection_break(c, "out of memory");
        return;
    }
    c->state = BACKEND_CONNECTION_OPEN;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* One write of what waits. */
static void write_socket(struct backend_connection *c, uint64_t now_us)
{
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    struct iovec iov[BACKEND_STREAM_PIECES_MAX];
    const struct msghdr message = {.msg_iov = iov,
                                   .msg_iovlen = backend_stream_gather(c->stream, piece, now_us)};
    size_t bytes = 0;
    for (size_t i = 0; i < message.msg_iovlen; i++) {
        iov[i] = (struct iovec){.iov_base = (void *)piece[i].data, .iov_len = piece[i].len};
        bytes += piece[i].len;
    }
    const ssize_t written = bytes == 0 ? 0 : sendmsg(c->fd, &message, MSG_NOSIGNAL);
    const int error = errno;
    backend_stream_sent(c->stream, written > 0 ? (size_t)written : 0, now_us);
    c->is_blocked = written < (ssize_t)bytes;
    if (written < 0 && error != EAGAIN && error != EINTR) {
        break_for_errno(c, "write", error);
    }
}

static void read_socket(struct backend_connection *c)
{
    const struct bytes_span room = backend_stream_reserve(c->stream);
    const ssize_t got = recv(c->fd, room.data, room.cap, 0);
    if (got > 0) {
        backend_stream_commit(c->stream, (size_t)got);
        c->has_unread = true;
    } else if (got == 0) {
        backend_connection_break(c, "closed");
    } else if (errno != EAGAIN && errno != EINTR) {
        break_for_errno(c, "read", errno);
    }
}

/* After each change of the stream: a failed one says its last words. */
static void watch_stream(struct backend_connection *c, uint64_t now_us)
{
    const char *failure =
        c->state == BACKEND_CONNECTION_OPEN ? backend_stream_failure(c->stream) : NULL;
    if (failure == NULL) {
        return;
    }
    char reason[BACKEND_TEXT_CAP + 1];
    log_escape(bytes_view_of_text(failure), reason, sizeof(reason));
    write_socket(c, now_us);
    backend_connection_break(c, reason);
}

void backend_connection_flush(struct backend_connection *c, uint64_t now_us)
{
    watch_stream(c, now_us);
    if (c->state == BACKEND_CONNECTION_OPEN && !c->is_blocked &&
        backend_stream_has_output(c->stream)) {
        write_socket(c, now_us);
    }
}

void backend_connection_want(const struct backend_connection *c, struct pollfd *out)
{
    *out = (struct pollfd){.fd = c->fd};
    if (c->state == BACKEND_CONNECTION_DIALLING) {
        out->events = POLLOUT;
    } else if (c->state == BACKEND_CONNECTION_OPEN) {
        out->events = (short)((c->has_unread ? 0 : POLLIN) |
                              (backend_stream_has_output(c->stream) ? POLLOUT : 0));
    }
}

void backend_connection_service(struct backend_connection *c, short revents,
                                const struct backend_stream_config *config,
                                struct backend_stream_counters *counters, uint64_t now_us)
{
    if (c->fd < 0 || revents == 0) {
        return;
    }
    if (c->state == BACKEND_CONNECTION_DIALLING) {
        finish_connect(c, config, counters, now_us);
        return;
    }
    c->is_blocked = c->is_blocked && (revents & POLLOUT) == 0;
    if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !c->has_unread) {
        read_socket(c);
    }
}

bool backend_connection_poll_frame(struct backend_connection *c, struct backend_frame *out,
                                   uint64_t now_us)
{
    if (c->state != BACKEND_CONNECTION_OPEN || !c->has_unread) {
        return false;
    }
    if (backend_stream_poll_frame(c->stream, out, now_us)) {
        return true;
    }
    c->has_unread = false;
    watch_stream(c, now_us);
    return false;
}

/* --- time ------------------------------------------------------------------------------------- */

void backend_connection_tick(struct backend_connection *c, uint64_t now_us)
{
    if (c->state == BACKEND_CONNECTION_OPEN && !c->has_unread) {
        backend_stream_tick(c->stream, now_us);
        watch_stream(c, now_us);
    } else if (c->state == BACKEND_CONNECTION_DIALLING && now_us >= c->connect_until_us) {
        break_for_errno(c, "connect", ETIMEDOUT);
    }
}

uint64_t backend_connection_next_timeout(const struct backend_connection *c)
{
    switch (c->state) {
    case BACKEND_CONNECTION_DIALLING:
        return c->connect_until_us;
    case BACKEND_CONNECTION_OPEN:
        return backend_stream_next_timeout(c->stream);
    default:
        return TIME_NEVER;
    }
}
