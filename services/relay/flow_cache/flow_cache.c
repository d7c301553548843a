/* flow_cache.c - the thread between the workers' pipes and one connection to Redis */
#include "services/relay/flow_cache/flow_cache.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "common/runtime/name_resolver.h"
#include "services/relay/flow_cache/flow_cache_connection.h"
#include "services/relay/flow_cache/flow_cache_queue.h"
#include "services/relay/flow_cache/flow_cache_retry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUESTS_A_READ 64
#define ANSWERS         1024
#define STOP_LOOK_US    (100 * US_PER_MS)

static_assert(sizeof(struct flow_cache_request) <= PIPE_BUF, "the kernel writes it whole");
static_assert(sizeof(struct flow_cache_answer) <= PIPE_BUF, "the kernel writes it whole");

struct pipe_ends {
    int read_fd;
    int write_fd;
};

struct flow_cache {
    struct flow_cache_url url;
    struct pipe_ends requests;
    struct pipe_ends answers[FLOW_CACHE_PORTS_MAX];
    size_t port_count;
    struct flow_cache_counters counters;

    struct name_resolver *resolver;
    struct name_answer addresses;
    size_t tries; /* each takes the next address */
    struct flow_cache_connection *connection;
    struct flow_cache_queue *queue;
    struct flow_cache_retry retry;
    struct log_limit refusal_limit;

    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;
};

/* --- Pipes ------------------------------------------------------------------------------------ */

static bool open_pipe(struct pipe_ends *ends, size_t bytes, struct fault *fault)
{
    int fd[2];
    if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "pipe: %s", strerror(errno));
    }
    *ends = (struct pipe_ends){.read_fd = fd[0], .write_fd = fd[1]};
    /* Less is still a queue: the kernel may grant a process with many pipes no more. */
    (void)fcntl(ends->write_fd, F_SETPIPE_SZ, bytes);
    return true;
}

static void close_pipe(const struct pipe_ends *ends)
{
    if (ends->read_fd >= 0) {
        (void)close(ends->read_fd);
        (void)close(ends->write_fd);
    }
}

/* pipe(7): whole or not at all, up to PIPE_BUF. */
static bool write_whole(int fd, const void *message, size_t len)
{
    ssize_t written = 0;
    do {
        written = write(fd, message, len);
    } while (written < 0 && errno == EINTR);
    return written == (ssize_t)len;
}

bool flow_cache_is_up(const struct flow_cache *c)
{
    return metric_get(&c->counters.is_up) != 0;
}

bool flow_cache_look_up(struct flow_cache *c, size_t port, const struct flow_cache_key *key,
                        uint64_t now_us)
{
    const struct flow_cache_request request = {
        .kind = FLOW_CACHE_LOOK_UP, .port = (uint32_t)port, .asked_us = now_us, .key = *key};
    assert(port < c->port_count);
    return write_whole(c->requests.write_fd, &request, sizeof(request));
}

bool flow_cache_store(struct flow_cache *c, const struct flow_cache_key *key,
                      const struct cached_flow *flow)
{
    const struct flow_cache_request request = {
        .kind = FLOW_CACHE_STORE, .key = *key, .flow = *flow};
    return write_whole(c->requests.write_fd, &request, sizeof(request));
}

int flow_cache_answer_fd(const struct flow_cache *c, size_t port)
{
    return c->answers[port].read_fd;
}

bool flow_cache_take_answer(struct flow_cache *c, size_t port, struct flow_cache_answer *out)
{
    ssize_t got = 0;
    do {
        got = read(c->answers[port].read_fd, out, sizeof(*out));
    } while (got < 0 && errno == EINTR);
    assert(got <= 0 || got == sizeof(*out));
    return got > 0;
}

const struct flow_cache_counters *flow_cache_counters(const struct flow_cache *c)
{
    return &c->counters;
}

/* --- The connection's life -------------------------------------------------------------------- */

/* The connection is gone, or could not be made. */
static void lose(struct flow_cache *c, const struct fault *fault, uint64_t now_us)
{
    if (c->connection != NULL) {
        metric_add(&c->counters.lookups_lost,
                   flow_cache_connection_owes(c->connection, FLOW_CACHE_LOOK_UP));
        metric_add(&c->counters.stores_lost,
                   flow_cache_connection_owes(c->connection, FLOW_CACHE_STORE));
        flow_cache_connection_close(c->connection);
        c->connection = NULL;
    }
    metric_set(&c->counters.is_up, 0);
    metric_add(&c->counters.disconnects, 1);
    const bool is_news = flow_cache_retry_note_lost(&c->retry, now_us);
    if (flow_cache_retry_note_reason(&c->retry, fault->text, now_us) || is_news) {
        log_warn("flow_cache.down redis=%s error=\"%s\" effect=\"calls go on; no client is taken "
                 "over from another relay\"",
                 c->url.address, fault->text);
    }
}

static void take_addresses(struct flow_cache *c, uint64_t now_us)
{
    while (name_resolver_take(c->resolver, &c->addresses)) {
        if (c->addresses.address_count == 0 && c->connection == NULL) {
            struct fault fault;
            (void)fault_set(&fault, FAULT_SYSTEM, "the name has no address");
            lose(c, &fault, now_us);
        } else {
            flow_cache_retry_hurry(&c->retry, now_us);
        }
    }
}

static void connect_when_due(struct flow_cache *c, uint64_t now_us)
{
    struct fault fault = {0};
    if (c->connection != NULL || c->addresses.address_count == 0 || now_us < c->retry.next_try_us) {
        return;
    }
    const struct net_addr *address = &c->addresses.address[c->tries % c->addresses.address_count];
    c->tries++;
    c->connection = flow_cache_connection_open(address, &c->url, now_us, &fault);
    if (c->connection == NULL) {
        lose(c, &fault, now_us);
    }
}

static void note_life(struct flow_cache *c, uint64_t now_us)
{
    if (flow_cache_connection_is_greeted(c->connection) && !flow_cache_is_up(c)) {
        metric_set(&c->counters.is_up, 1);
        flow_cache_retry_note_greeted(&c->retry, now_us);
    }
    if (flow_cache_retry_take_steady(&c->retry, now_us)) {
        log_info("flow_cache.up redis=%s", c->url.address);
    }
}

/* --- Requests and answers --------------------------------------------------------------------- */

static void take_requests(struct flow_cache *c)
{
    struct flow_cache_request request[REQUESTS_A_READ];
    for (unsigned reads = 0; reads < FLOW_CACHE_REQUESTS / REQUESTS_A_READ; reads++) {
        const ssize_t got = read(c->requests.read_fd, request, sizeof(request));
        if (got <= 0) {
            return;
        }
        const size_t count = (size_t)got / sizeof(request[0]);
        for (size_t i = 0; i < count; i++) {
            if (!flow_cache_queue_put(c->queue, &request[i])) {
                metric_add(request[i].kind == FLOW_CACHE_STORE ? &c->counters.stores_lost
                                                               : &c->counters.lookups_lost,
                           1);
            }
        }
    }
}

static void note_store(struct flow_cache *c, const struct flow_cache_reply *reply, uint64_t now_us)
{
    if (reply->result == FLOW_CACHE_FOUND) {
        metric_add(&c->counters.stores_written, 1);
        return;
    }
    metric_add(&c->counters.stores_refused, 1);
    if (log_limit_pass(&c->refusal_limit, now_us)) {
        log_warn("flow_cache.refused redis=%s error=\"%s\" held_back=%llu", c->url.address,
                 reply->refusal, (unsigned long long)c->refusal_limit.held_back);
    }
}

static void give_answer(struct flow_cache *c, const struct flow_cache_reply *reply)
{
    const struct flow_cache_answer answer = {
        .client = reply->request.key.client, .result = reply->result, .flow = reply->flow};
    metric_add(&c->counters.answers[reply->result], 1);
    if (!write_whole(c->answers[reply->request.port].write_fd, &answer, sizeof(answer))) {
        metric_add(&c->counters.answers_lost, 1);
    }
}

static bool take_replies(struct flow_cache *c, struct fault *fault, uint64_t now_us)
{
    struct flow_cache_reply reply;
    enum flow_cache_taken taken = FLOW_CACHE_REPLY;
    while ((taken = flow_cache_connection_take(c->connection, &reply, fault)) == FLOW_CACHE_REPLY) {
        if (reply.request.kind == FLOW_CACHE_STORE) {
            note_store(c, &reply, now_us);
        } else {
            give_answer(c, &reply);
        }
    }
    return taken == FLOW_CACHE_NONE;
}

static bool take_request(struct flow_cache *c, enum flow_cache_request_kind kind,
                         struct flow_cache_request *out)
{
    return flow_cache_connection_has_room(c->connection, kind) &&
           flow_cache_queue_take(c->queue, kind, out);
}

/* The next request that may be sent now: somebody waits for look-ups. */
static bool next_request(struct flow_cache *c, struct flow_cache_request *out)
{
    return take_request(c, FLOW_CACHE_LOOK_UP, out) || take_request(c, FLOW_CACHE_STORE, out);
}

static void send_requests(struct flow_cache *c, uint64_t now_us)
{
    struct flow_cache_request request;
    while (next_request(c, &request)) {
        if (!flow_cache_connection_send(c->connection, &request, now_us)) {
            metric_add(request.kind == FLOW_CACHE_STORE ? &c->counters.stores_lost
                                                        : &c->counters.lookups_lost,
                       1);
        }
    }
}

/* --- The loop --------------------------------------------------------------------------------- */

static bool serve_connection(struct flow_cache *c, bool is_readable, struct fault *fault,
                             uint64_t now_us)
{
    if (is_readable &&
        (!flow_cache_connection_read(c->connection, fault) || !take_replies(c, fault, now_us))) {
        return false;
    }
    note_life(c, now_us);
    if (!flow_cache_connection_tick(c->connection, fault, now_us)) {
        return false;
    }
    if (flow_cache_is_up(c)) {
        send_requests(c, now_us);
    }
    return flow_cache_connection_write(c->connection, fault);
}

static int wait_ms(const struct flow_cache *c, uint64_t now_us)
{
    uint64_t until_us = now_us + STOP_LOOK_US;
    if (c->connection != NULL) {
        until_us = time_earlier(until_us, flow_cache_connection_next_timeout(c->connection));
    } else if (c->addresses.address_count > 0) {
        until_us = time_earlier(until_us, c->retry.next_try_us);
    }
    return (int)((time_since(now_us, until_us) + US_PER_MS - 1) / US_PER_MS);
}

static void turn(struct flow_cache *c)
{
    struct fault fault = {0};
    struct pollfd ready[3] = {{.fd = c->requests.read_fd, .events = POLLIN},
                              {.fd = name_resolver_fd(c->resolver), .events = POLLIN},
                              {.fd = -1}};
    if (c->connection != NULL) {
        ready[2].fd = flow_cache_connection_fd(c->connection);
        ready[2].events = POLLIN;
        if (flow_cache_connection_has_output(c->connection)) {
            ready[2].events |= POLLOUT;
        }
    }
    (void)poll(ready, COUNT_OF(ready), wait_ms(c, clock_now_us()));
    const uint64_t now_us = clock_now_us();
    take_requests(c);
    metric_add(&c->counters.lookups_lost, flow_cache_queue_expire(c->queue, now_us));
    take_addresses(c, now_us);
    const bool is_readable = (ready[2].revents & ~POLLOUT) != 0;
    if (c->connection != NULL && !serve_connection(c, is_readable, &fault, now_us)) {
        lose(c, &fault, now_us);
    }
    connect_when_due(c, now_us);
    metric_set(&c->counters.stores_waiting, flow_cache_queue_count(c->queue, FLOW_CACHE_STORE));
}

static void *run(void *context)
{
    struct flow_cache *c = context;
    while (!atomic_load_explicit(&c->is_stopping, memory_order_relaxed)) {
        turn(c);
    }
    return NULL;
}

/* --- Start and stop --------------------------------------------------------------------------- */

static bool open_parts(struct flow_cache *c, struct fault *fault)
{
    const char *const name[] = {c->url.address};
    c->queue = flow_cache_queue_create();
    if (c->queue == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "flow cache: out of memory");
    }
    if (!open_pipe(&c->requests, FLOW_CACHE_REQUESTS * sizeof(struct flow_cache_request), fault)) {
        return false;
    }
    for (size_t i = 0; i < c->port_count; i++) {
        if (!open_pipe(&c->answers[i], ANSWERS * sizeof(struct flow_cache_answer), fault)) {
            return false;
        }
    }
    c->resolver = name_resolver_start(name, 1, fault);
    if (c->resolver == NULL) {
        return false;
    }
    const int error = pthread_create(&c->thread, NULL, run, c);
    c->has_thread = error == 0;
    return error == 0 || fault_set(fault, FAULT_SYSTEM, "flow cache: thread: %s", strerror(error));
}

struct flow_cache *flow_cache_start(const struct flow_cache_url *url, size_t port_count,
                                    struct fault *fault)
{
    assert(port_count >= 1 && port_count <= FLOW_CACHE_PORTS_MAX);
    struct flow_cache *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "flow cache: out of memory");
        return NULL;
    }
    c->url = *url;
    c->port_count = port_count;
    flow_cache_retry_init(&c->retry);
    c->requests = (struct pipe_ends){-1, -1};
    for (size_t i = 0; i < FLOW_CACHE_PORTS_MAX; i++) {
        c->answers[i] = (struct pipe_ends){-1, -1};
    }
    if (!open_parts(c, fault)) {
        flow_cache_stop(c);
        return NULL;
    }
    return c;
}

void flow_cache_stop(struct flow_cache *c)
{
    if (c == NULL) {
        return;
    }
    if (c->has_thread) {
        atomic_store_explicit(&c->is_stopping, true, memory_order_relaxed);
        const int error = pthread_join(c->thread, NULL);
        assert(error == 0);
    }
    if (c->resolver != NULL) {
        name_resolver_stop(c->resolver);
    }
    flow_cache_connection_close(c->connection);
    flow_cache_queue_destroy(c->queue);
    close_pipe(&c->requests);
    for (size_t i = 0; i < c->port_count; i++) {
        close_pipe(&c->answers[i]);
    }
    explicit_bzero(&c->url, sizeof(c->url));
    free(c);
}
