/* stub_port.c - see stub_port.h */
#include "services/inference-stub/stub_port.h"

#include "common/base/random.h"
#include "common/runtime/clock.h"
#include "common/runtime/process.h"
#include "services/inference-stub/session_shelf.h"
#include "services/inference-stub/sound/speech_worker.h"
#include "services/inference-stub/stub_link.h"
#include "services/inference-stub/stub_listener.h"
#include "services/inference-stub/stub_metrics.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_A_TURN     64
#define ACCEPTS_A_TURN    16
#define WRITES_A_TURN     16 /* of one connection; then it is another's turn */
#define BEAT_US           (500 * US_PER_MS)
#define ACCEPT_PAUSE_US   US_PER_S /* when the system has no descriptor for us */
#define SEND_BUFFER_BYTES 131072   /* what a FLUSH may have to wait behind */

struct connection {
    int fd;
    struct stub_link *link;
    uint32_t watched; /* epoll events */
    bool is_shut;     /* our side */
};

struct stub_port {
    const struct stub_config *config;
    struct stub_behaviour *behaviour;
    struct session_shelf shelf;
    struct speech_worker *voice; /* NULL: nobody needs one */
    char instance[9];
    int epoll_fd;
    int listen_fd; /* -1 while draining */
    int signal_fd;
    uint64_t accept_again_us; /* TIME_NEVER: the listener is watched */
    uint64_t drain_deadline_us;
    bool is_stopping;
    struct log_limit log_limit;
    size_t connection_count;
    struct connection *connection[STUB_CONNECTIONS_MAX];
};

/* --- epoll ------------------------------------------------------------------------------------ */

static bool watch(struct stub_port *p, int operation, int fd, uint32_t events, void *tag)
{
    struct epoll_event event = {.events = events, .data.ptr = tag};
    return epoll_ctl(p->epoll_fd, operation, fd, &event) == 0;
}

static void watch_connection(struct stub_port *p, struct connection *c, uint32_t events)
{
    if (c->watched != events && watch(p, EPOLL_CTL_MOD, c->fd, events, c)) {
        c->watched = events;
    }
}

/* --- open and close --------------------------------------------------------------------------- */

/* Where there is a desk, somebody must make what is ordered at it. */
static bool open_voice(struct stub_port *p, struct fault *fault)
{
    if (p->behaviour->desk == NULL) {
        return true;
    }
    p->voice = speech_worker_open(p->behaviour->desk, fault);
    return p->voice != NULL &&
           (watch(p, EPOLL_CTL_ADD, speech_worker_fd(p->voice), EPOLLIN, &p->voice) ||
            fault_set(fault, FAULT_SYSTEM, "epoll: %s", strerror(errno)));
}

struct stub_port *stub_port_open(const struct stub_config *config, struct stub_behaviour *behaviour,
                                 int signal_fd, struct fault *fault)
{
    struct stub_port *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "no memory for the port");
        return NULL;
    }
    (void)snprintf(p->instance, sizeof(p->instance), "%08x", random_u32(random_system()));
    p->config = config;
    p->behaviour = behaviour;
    session_shelf_init(&p->shelf);
    behaviour->shelf = &p->shelf;
    p->signal_fd = signal_fd;
    p->accept_again_us = TIME_NEVER;
    p->drain_deadline_us = TIME_NEVER;
    p->listen_fd = stub_listener_open(config, fault);
    p->epoll_fd = p->listen_fd < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
    if (p->listen_fd >= 0 &&
        (p->epoll_fd < 0 || !watch(p, EPOLL_CTL_ADD, p->listen_fd, EPOLLIN, &p->listen_fd) ||
         !watch(p, EPOLL_CTL_ADD, signal_fd, EPOLLIN, &p->signal_fd))) {
        (void)fault_set(fault, FAULT_SYSTEM, "epoll: %s", strerror(errno));
        stub_port_close(p);
        return NULL;
    }
    if (p->listen_fd < 0 || !open_voice(p, fault)) {
        stub_port_close(p);
        return NULL;
    }
    return p;
}

static void drop_connection(struct stub_port *p, size_t index, enum stub_close_reason reason)
{
    struct connection *c = p->connection[index];
    struct stub_counters *counters = p->behaviour->counters;
    metric_add(&counters->closed[reason], 1);
    if (log_limit_pass(&p->log_limit, clock_now_us())) {
        log_info("connection.closed reason=%s sessions=%zu held_back=%llu",
                 stub_metrics_close_reason(reason), stub_link_session_count(c->link),
                 (unsigned long long)p->log_limit.held_back);
    }
    if (!p->behaviour->is_draining) {
        stub_link_shelve(c->link, clock_now_us());
    }
    stub_link_destroy(c->link);
    (void)close(c->fd);
    free(c);
    p->connection[index] = p->connection[--p->connection_count];
    metric_set(&counters->connections_open, p->connection_count);
}

static void close_listener(struct stub_port *p)
{
    if (p->listen_fd >= 0) {
        stub_listener_close(p->config, p->listen_fd);
        p->listen_fd = -1;
    }
    p->accept_again_us = TIME_NEVER;
}

void stub_port_close(struct stub_port *p)
{
    if (p == NULL) {
        return;
    }
    while (p->connection_count > 0) {
        drop_connection(p, 0, STUB_CLOSE_DRAINED);
    }
    session_shelf_clear(&p->shelf);
    p->behaviour->shelf = NULL;
    speech_worker_close(p->voice);
    close_listener(p);
    if (p->epoll_fd >= 0) {
        (void)close(p->epoll_fd);
    }
    free(p);
}

/* --- accept ----------------------------------------------------------------------------------- */

static bool add_connection(struct stub_port *p, int fd, uint64_t now_us)
{
    struct connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return false;
    }
    *c = (struct connection){.fd = fd, .watched = EPOLLIN};
    c->link = stub_link_create(p->behaviour, p->instance, now_us);
    if (c->link == NULL || !watch(p, EPOLL_CTL_ADD, fd, EPOLLIN, c)) {
        stub_link_destroy(c->link);
        free(c);
        return false;
    }
    /* What a UNIX socket does not know it refuses; nothing depends on it. */
    const int on = 1;
    const int send_bytes = SEND_BUFFER_BYTES;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
    p->connection[p->connection_count++] = c;
    metric_add(&p->behaviour->counters->connections_accepted, 1);
    metric_set(&p->behaviour->counters->connections_open, p->connection_count);
    return true;
}

/* A listener that can not be served would wake the loop for ever. */
static void pause_accepting(struct stub_port *p, uint64_t now_us)
{
    log_warn("accept.failed fault=\"%s\"", strerror(errno));
    (void)watch(p, EPOLL_CTL_DEL, p->listen_fd, 0, NULL);
    p->accept_again_us = now_us + ACCEPT_PAUSE_US;
}

static void accept_connections(struct stub_port *p, uint64_t now_us)
{
    for (int i = 0; i < ACCEPTS_A_TURN && p->listen_fd >= 0; i++) {
        const int fd = accept4(p->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                pause_accepting(p, now_us);
            }
            return;
        }
        if (p->connection_count == p->config->connections_max || !add_connection(p, fd, now_us)) {
            metric_add(&p->behaviour->counters->connections_refused, 1);
            (void)close(fd);
        }
    }
}

/* --- read and write --------------------------------------------------------------------------- */

static bool is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static void read_connection(struct connection *c, uint64_t now_us)
{
    const struct bytes_span room = stub_link_reserve(c->link);
    const ssize_t got = recv(c->fd, room.data, room.cap, 0);
    if (got > 0) {
        stub_link_commit(c->link, (size_t)got, now_us);
    } else if (got == 0 || !is_temporary(errno)) {
        stub_link_peer_closed(c->link);
    }
}

/* False while the socket is full. */
static bool write_connection(struct connection *c, uint64_t now_us)
{
    for (int i = 0; i < WRITES_A_TURN; i++) {
        const struct bytes_view output = stub_link_output(c->link, now_us);
        if (output.len == 0) {
            return true;
        }
        const ssize_t sent = send(c->fd, output.data, output.len, MSG_NOSIGNAL);
        if (sent < 0 && !is_temporary(errno)) {
            stub_link_peer_closed(c->link);
            return true;
        }
        stub_link_sent(c->link, sent < 0 ? 0 : (size_t)sent, now_us);
        if (sent < (ssize_t)output.len) {
            return false;
        }
    }
    return false;
}

/* After input and time: writes, and closes what is over. True when it is gone. */
static bool serve_connection(struct stub_port *p, size_t index, uint64_t now_us)
{
    struct connection *c = p->connection[index];
    stub_link_tick(c->link, now_us);
    if (!stub_link_is_over(c->link)) {
        const bool is_written = write_connection(c, now_us);
        watch_connection(p, c, is_written ? EPOLLIN : EPOLLIN | EPOLLOUT);
    }
    if (stub_link_is_over(c->link)) {
        drop_connection(p, index, stub_link_reason(c->link));
        return true;
    }
    if (stub_link_is_finished(c->link) && !c->is_shut) {
        c->is_shut = true;
        (void)shutdown(c->fd, SHUT_WR);
    }
    return false;
}

/* --- the loop --------------------------------------------------------------------------------- */

static size_t session_count(const struct stub_port *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->connection_count; i++) {
        count += stub_link_session_count(p->connection[i]->link);
    }
    return count;
}

static void stop(struct stub_port *p, uint64_t now_us)
{
    if (p->behaviour->is_draining) {
        p->is_stopping = true;
        return;
    }
    log_info("stub.draining sessions=%zu", session_count(p));
    p->behaviour->is_draining = true;
    p->drain_deadline_us = now_us + p->config->drain_timeout_us;
    close_listener(p);
    for (size_t i = 0; i < p->connection_count; i++) {
        stub_link_go_away(p->connection[i]->link, p->config->drain_timeout_us);
    }
}

static void read_signals(struct stub_port *p, uint64_t now_us)
{
    enum process_signal signal;
    while ((signal = process_signal_read(p->signal_fd)) != PROCESS_SIGNAL_NONE) {
        if (signal != PROCESS_SIGNAL_RELOAD) {
            stop(p, now_us);
        }
    }
}

static void handle_event(struct stub_port *p, const struct epoll_event *event, uint64_t now_us)
{
    if (event->data.ptr == &p->listen_fd) {
        accept_connections(p, now_us);
    } else if (event->data.ptr == &p->signal_fd) {
        read_signals(p, now_us);
    } else if (event->data.ptr != &p->voice && (event->events & ~(uint32_t)EPOLLOUT) != 0) {
        read_connection(event->data.ptr, now_us);
    }
}

/* Takes what was said, gives what was ordered: by those who hear of it, too. */
static void serve_voice(struct stub_port *p, uint64_t now_us)
{
    while (p->voice != NULL && speech_worker_serve(p->voice)) {
        for (size_t i = 0; i < p->connection_count; i++) {
            stub_link_wake(p->connection[i]->link, now_us);
        }
    }
    if (p->voice != NULL) {
        const struct speech_desk_counts counts = speech_desk_counts(p->behaviour->desk);
        metric_set(&p->behaviour->counters->sentences_made, counts.made);
        metric_set(&p->behaviour->counters->sentences_failed, counts.failed);
        metric_set(&p->behaviour->counters->sentences_waiting, counts.waiting);
    }
}

static void tick(struct stub_port *p, uint64_t now_us)
{
    serve_voice(p, now_us);
    session_shelf_tick(&p->shelf, now_us);
    if (now_us >= p->accept_again_us) {
        p->accept_again_us = TIME_NEVER;
        (void)watch(p, EPOLL_CTL_ADD, p->listen_fd, EPOLLIN, &p->listen_fd);
    }
    for (size_t i = 0; i < p->connection_count;) {
        i += serve_connection(p, i, now_us) ? 0 : 1;
    }
    if (p->behaviour->is_draining && (session_count(p) == 0 || now_us >= p->drain_deadline_us)) {
        p->is_stopping = true;
    }
}

static int wait_ms(const struct stub_port *p, uint64_t now_us)
{
    uint64_t first_us = time_earlier(now_us + BEAT_US, p->drain_deadline_us);
    first_us = time_earlier(first_us, p->accept_again_us);
    for (size_t i = 0; i < p->connection_count; i++) {
        first_us = time_earlier(first_us, stub_link_next_timeout(p->connection[i]->link));
    }
    return (int)((time_since(now_us, first_us) + US_PER_MS - 1) / US_PER_MS);
}

void stub_port_run(struct stub_port *p, metric_value *beat)
{
    uint64_t now_us = clock_now_us();
    while (!p->is_stopping) {
        struct epoll_event events[EVENTS_A_TURN];
        const int count = epoll_wait(p->epoll_fd, events, EVENTS_A_TURN, wait_ms(p, now_us));
        now_us = clock_now_us();
        for (int i = 0; i < count; i++) {
            handle_event(p, &events[i], now_us);
        }
        tick(p, now_us);
        metric_set(beat, now_us);
    }
    log_info("stub.stopped sessions=%zu", session_count(p));
}
