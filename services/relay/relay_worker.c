/* relay_worker.c - see relay_worker.h */
#include "services/relay/relay_worker.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/relay/packet_batch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A beat and gauges at least this often, without a datagram too. */
#define IDLE_MS 250
/* Batches from one socket before the others have their turn. */
#define BATCHES_PER_TURN 4
/* One batch in so many shows how long a datagram was inside. */
#define RESIDENCE_SAMPLING 16
#define PUBLISH_US         (250 * US_PER_MS)

static_assert(PACKET_HEADROOM >= RELAY_SHIM_BYTES, "a shim fits before each datagram");
static_assert(PACKET_BYTES > RELAY_SHIM_BYTES + FORWARDER_DATAGRAM_BYTES_MAX,
              "a datagram that was cut is longer than any that is forwarded");

static const uint32_t time_bound_us[] = {10,   20,   50,    100,   200,   500,   1000,
                                         2000, 5000, 10000, 20000, 50000, 100000};

struct worker_socket {
    int fd;
    enum relay_direction direction; /* of what is received here */
    uint8_t public_index;           /* of a public one: its place in the configuration */
    uint32_t dropped_seen;
};

#define SOCKETS_MAX (FORWARDER_LISTEN_MAX + FORWARDER_INTERNAL_PORTS)

struct relay_worker {
    struct relay_worker_config config;
    struct forwarder *forwarder;
    struct worker_inbox inbox;
    struct worker_socket socket[SOCKETS_MAX]; /* the public ones, then the internal ones */
    size_t socket_count;
    int epoll_fd;

    struct relay_worker *const *peers;
    size_t peer_count;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;

    uint64_t started_us;
    uint64_t next_publish_us;
    unsigned batch_number;
    struct receive_batch received;
    struct send_batch to_transceivers;
    struct send_batch to_clients[FORWARDER_LISTEN_MAX]; /* by public socket */
    struct relay_counters counters;
};

/* --- Opening ---------------------------------------------------------------------------------- */

static bool watch(struct relay_worker *w, int fd, uint32_t number, struct fault *fault)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           fault_set(fault, FAULT_SYSTEM, "epoll_ctl: %s", strerror(errno));
}

static bool add_socket(struct relay_worker *w, int fd, enum relay_direction direction,
                       struct fault *fault)
{
    if (fd < 0) {
        return false;
    }
    const size_t i = w->socket_count++;
    w->socket[i] =
        (struct worker_socket){.fd = fd, .direction = direction, .public_index = (uint8_t)i};
    return watch(w, fd, (uint32_t)i, fault);
}

static bool open_sockets(struct relay_worker *w, struct fault *fault)
{
    const struct relay_config *relay = w->config.relay;
    const size_t buffer_bytes = relay->socket_buffer_bytes;
    for (size_t i = 0; i < relay->forwarder.listen_count; i++) {
        const int fd = relay_socket_open_public(&relay->forwarder.listen[i], buffer_bytes, fault);
        if (!add_socket(w, fd, RELAY_UP, fault)) {
            return false;
        }
    }
    for (unsigned i = w->config.index; i < FORWARDER_INTERNAL_PORTS; i += w->config.worker_count) {
        struct net_addr address = relay->forwarder.internal;
        address.port = (uint16_t)(address.port + i);
        const int fd = relay_socket_open_internal(&address, buffer_bytes, fault);
        if (!add_socket(w, fd, RELAY_DOWN, fault)) {
            return false;
        }
    }
    return true;
}

static bool open_parts(struct relay_worker *w, struct key_ring *ring, struct fault *fault)
{
    w->forwarder = forwarder_create(&w->config.relay->forwarder, ring, random_system());
    if (w->forwarder == NULL || !receive_batch_init(&w->received)) {
        return fault_set(fault, FAULT_SYSTEM, "worker %u: out of memory", w->config.index);
    }
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll_fd < 0) {
        return fault_set(fault, FAULT_SYSTEM, "epoll_create1: %s", strerror(errno));
    }
    return worker_inbox_open(&w->inbox, fault) && watch(w, w->inbox.read_fd, SOCKETS_MAX, fault) &&
           open_sockets(w, fault);
}

struct relay_worker *relay_worker_open(const struct relay_worker_config *config,
                                       struct key_ring *ring, struct fault *fault)
{
    assert(config->index < config->worker_count && config->worker_count <= RELAY_WORKERS_MAX);
    struct relay_worker *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        key_ring_destroy(ring);
        (void)fault_set(fault, FAULT_SYSTEM, "worker %u: out of memory", config->index);
        return NULL;
    }
    w->config = *config;
    w->epoll_fd = -1;
    w->inbox = (struct worker_inbox){.read_fd = -1, .write_fd = -1};
    struct metric_histogram *histogram[] = {&w->counters.residence[RELAY_UP],
                                            &w->counters.residence[RELAY_DOWN], &w->counters.lag};
    for (size_t i = 0; i < COUNT_OF(histogram); i++) {
        histogram[i]->bound_us = time_bound_us;
        histogram[i]->bound_count = COUNT_OF(time_bound_us);
    }
    if (!open_parts(w, ring, fault)) {
        relay_worker_close(w);
        return NULL;
    }
    return w;
}

void relay_worker_close(struct relay_worker *w)
{
    if (w == NULL) {
        return;
    }
    relay_worker_stop(w);
    for (size_t i = 0; i < w->socket_count; i++) {
        (void)close(w->socket[i].fd);
    }
    worker_inbox_close(&w->inbox);
    if (w->epoll_fd >= 0) {
        (void)close(w->epoll_fd);
    }
    receive_batch_free(&w->received);
    forwarder_destroy(w->forwarder);
    free(w);
}

const struct worker_inbox *relay_worker_inbox(const struct relay_worker *w)
{
    return &w->inbox;
}

const struct relay_counters *relay_worker_counters(const struct relay_worker *w)
{
    return &w->counters;
}

struct relay_socket_buffers relay_worker_buffers(const struct relay_worker *w)
{
    return relay_socket_buffers(w->socket[0].fd);
}

/* --- Forwarding ------------------------------------------------------------------------------- */

static void count(struct relay_worker *w, enum forward_reason reason)
{
    metric_add(&w->counters.datagrams[reason], 1);
}

/* Sends a batch and counts each of its datagrams under the reason why it was forwarded, or as
 * unsent. overhead: bytes of each that are not the client's. */
static void send_and_count(struct relay_worker *w, struct send_batch *b, int fd,
                           enum relay_direction direction, size_t overhead_bytes)
{
    if (b->count == 0) {
        return;
    }
    send_batch_flush(b, fd);
    for (size_t i = 0; i < b->count; i++) {
        const struct sending_packet *packet = &b->packet[i];
        if (packet->is_sent) {
            count(w, (enum forward_reason)packet->tag);
            metric_add(&w->counters.bytes[direction], packet->bytes.len - overhead_bytes);
        } else {
            count(w, direction == RELAY_UP ? FORWARD_UP_UNSENT : FORWARD_DOWN_UNSENT);
        }
    }
    send_batch_clear(b);
}

static void forward_up(struct relay_worker *w, uint8_t public_index, uint64_t now_us)
{
    for (size_t i = 0; i < w->received.count; i++) {
        forwarder_prefetch(w->forwarder, &w->received.packet[i].from);
    }
    for (size_t i = 0; i < w->received.count; i++) {
        const struct received_packet *packet = &w->received.packet[i];
        const struct verdict v =
            forwarder_from_client(w->forwarder, bytes_view_of(packet->data, packet->len),
                                  &packet->from, public_index, now_us);
        if (v.action != FORWARD_TO_TRANSCEIVER) {
            count(w, v.reason);
            continue;
        }
        uint8_t *shim = packet->data - RELAY_SHIM_BYTES;
        forwarder_write_shim(w->forwarder, &v, &packet->from, shim);
        send_batch_add(&w->to_transceivers, bytes_view_of(shim, RELAY_SHIM_BYTES + packet->len),
                       &v.destination, v.reason);
        metric_set(&w->counters.client_heard_us, now_us);
    }
    const struct worker_socket *first_internal =
        &w->socket[w->config.relay->forwarder.listen_count];
    send_and_count(w, &w->to_transceivers, first_internal->fd, RELAY_UP, RELAY_SHIM_BYTES);
}

/* Where this client's datagrams arrive is not known yet: it may be any worker. */
static void teach_peers(struct relay_worker *w, const struct verdict *v,
                        const struct net_addr *from)
{
    const struct inbox_message message = {.kind = INBOX_LESSON,
                                          .body.lesson = forwarder_lesson_of(v, from)};
    for (size_t i = 0; i < w->peer_count; i++) {
        if (w->peers[i] != w && !worker_inbox_post(&w->peers[i]->inbox, &message)) {
            metric_add(&w->counters.lessons_lost, 1);
        }
    }
}

static void forward_down(struct relay_worker *w, uint64_t now_us)
{
    const bool is_teaching = now_us - w->started_us < RELAY_LESSON_TIME_US;
    for (size_t i = 0; i < w->received.count; i++) {
        const struct received_packet *packet = &w->received.packet[i];
        const struct verdict v = forwarder_from_transceiver(
            w->forwarder, bytes_view_of(packet->data, packet->len), &packet->from, now_us);
        if (v.is_news && is_teaching) {
            teach_peers(w, &v, &packet->from);
        }
        if (v.action == FORWARD_TO_CLIENT) {
            send_batch_add(&w->to_clients[v.socket], v.datagram, &v.destination, v.reason);
        } else {
            count(w, v.reason);
        }
    }
    for (size_t i = 0; i < w->config.relay->forwarder.listen_count; i++) {
        send_and_count(w, &w->to_clients[i], w->socket[i].fd, RELAY_DOWN, 0);
    }
}

static void note_kernel_drops(struct relay_worker *w, struct worker_socket *s)
{
    if (w->received.dropped_total != 0) {
        metric_add(&w->counters.kernel_dropped[s->direction],
                   w->received.dropped_total - s->dropped_seen);
        s->dropped_seen = w->received.dropped_total;
    }
}

/* The wall clock may be set between the two readings: a time that can not be is left out. */
static void note_residence(struct relay_worker *w, enum relay_direction direction)
{
    const uint64_t unix_us = clock_unix_us();
    if (w->received.first_unix_us != 0 && unix_us >= w->received.first_unix_us) {
        metric_observe(&w->counters.residence[direction], unix_us - w->received.first_unix_us);
    }
}

static void serve_socket(struct relay_worker *w, struct worker_socket *s)
{
    for (unsigned i = 0; i < BATCHES_PER_TURN; i++) {
        if (receive_batch_take(&w->received, s->fd) == 0) {
            return;
        }
        const uint64_t now_us = clock_now_us();
        note_kernel_drops(w, s);
        if (s->direction == RELAY_UP) {
            forward_up(w, s->public_index, now_us);
        } else {
            forward_down(w, now_us);
        }
        if (w->batch_number++ % RESIDENCE_SAMPLING == 0) {
            note_residence(w, s->direction);
        }
        if (w->received.count < PACKET_BATCH) {
            return;
        }
    }
}

/* --- The loop --------------------------------------------------------------------------------- */

static void read_inbox(struct relay_worker *w, uint64_t now_us)
{
    struct inbox_message message;
    for (unsigned i = 0; i < INBOX_MESSAGES && worker_inbox_take(&w->inbox, &message); i++) {
        switch (message.kind) {
        case INBOX_ANNOUNCEMENT:
            (void)forwarder_announce(w->forwarder, &message.body.announcement, now_us);
            break;
        case INBOX_LESSON:
            forwarder_learn(w->forwarder, &message.body.lesson, now_us);
            break;
        case INBOX_RING:
            forwarder_set_ring(w->forwarder, message.body.ring);
            break;
        }
    }
}

static void publish(struct relay_worker *w, uint64_t now_us)
{
    if (now_us < w->next_publish_us) {
        return;
    }
    w->next_publish_us = now_us + PUBLISH_US;
    const struct flow_table *flows = forwarder_flows(w->forwarder);
    for (unsigned i = 0; i < FLOW_STATE_COUNT; i++) {
        metric_set(&w->counters.flows[i], flow_table_count(flows, (enum flow_state)i));
        metric_set(&w->counters.flows_evicted[i], flow_table_evicted(flows, (enum flow_state)i));
    }
    metric_set(&w->counters.routes, route_table_count(forwarder_routes(w->forwarder)));
}

static void turn(struct relay_worker *w)
{
    struct epoll_event event[SOCKETS_MAX + 1];
    const int event_count = epoll_wait(w->epoll_fd, event, COUNT_OF(event), IDLE_MS);
    const uint64_t begin_us = clock_now_us();
    for (int i = 0; i < event_count; i++) {
        if (event[i].data.u32 == SOCKETS_MAX) {
            read_inbox(w, begin_us);
        } else {
            serve_socket(w, &w->socket[event[i].data.u32]);
        }
    }
    const uint64_t now_us = clock_now_us();
    forwarder_tick(w->forwarder, now_us);
    publish(w, now_us);
    metric_observe(&w->counters.lag, now_us - begin_us);
    metric_set(w->config.beat, now_us);
}

static void pin(const struct relay_worker *w)
{
    if (w->config.cpu < 0) {
        return;
    }
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET((size_t)w->config.cpu, &mask);
    const int error = pthread_setaffinity_np(pthread_self(), sizeof(mask), &mask);
    if (error != 0) {
        log_warn("worker.not_pinned worker=%u cpu=%d error=\"%s\"", w->config.index, w->config.cpu,
                 strerror(error));
    }
}

static void *run(void *context)
{
    struct relay_worker *w = context;
    pin(w);
    while (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed)) {
        turn(w);
    }
    return NULL;
}

bool relay_worker_start(struct relay_worker *w, struct relay_worker *const *peers,
                        size_t peer_count, struct fault *fault)
{
    w->peers = peers;
    w->peer_count = peer_count;
    w->started_us = clock_now_us();
    const int error = pthread_create(&w->thread, NULL, run, w);
    if (error != 0) {
        return fault_set(fault, FAULT_SYSTEM, "worker %u: thread: %s", w->config.index,
                         strerror(error));
    }
    w->has_thread = true;
    return true;
}

void relay_worker_stop(struct relay_worker *w)
{
    if (!w->has_thread) {
        return;
    }
    atomic_store_explicit(&w->is_stopping, true, memory_order_relaxed);
    const int error = pthread_join(w->thread, NULL);
    assert(error == 0);
    w->has_thread = false;
}
