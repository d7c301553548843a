/* tcp_ingress.c - see tcp_ingress.h */
#include "services/relay/tcp_ingress.h"

#include "common/runtime/clock.h"
#include "common/udp/udp_receiver.h"
#include "services/relay/relay_socket.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A beat, gauges and a look at each connection at least this often. */
#define SWEEP_US        (250 * US_PER_MS)
#define IDLE_MS         250
#define EVENTS_PER_TURN 256
/* Batches from transceivers before clients have their turn. */
#define BATCHES_PER_TURN 4

/* In the epoll's events, above those of tcp_clients.h. */
#define INTERNAL_NUMBER (TCP_ROSTER_CAP_MAX + FORWARDER_LISTEN_MAX)
#define INBOX_NUMBER    (INTERNAL_NUMBER + 1)
#define CACHE_NUMBER    (INTERNAL_NUMBER + 2)

struct tcp_ingress {
    struct forwarder *forwarder;
    struct worker_inbox inbox;
    struct tcp_clients clients;
    struct worker_cache cache;
    struct udp_receiver *receiver;
    struct udp_sender *sender;
    int internal_fd;
    int epoll_fd;
    uint32_t dropped_seen;

    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;
    metric_value *beat;
    uint64_t next_sweep_us;
    struct relay_counters counters;
    struct tcp_counters tcp_counters;
};

/* --- Life ------------------------------------------------------------------------------------- */

static bool watch(const struct tcp_ingress *t, int fd, uint32_t number, struct fault *fault)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           fault_set(fault, FAULT_SYSTEM, "epoll_ctl: %s", strerror(errno));
}

static struct forwarder *make_forwarder(const struct relay_config *relay, struct key_ring *ring)
{
    struct forwarder_config f = relay->forwarder;
    f.is_tcp = true;
    f.listen_count = relay->tcp.listen_count;
    memcpy(f.listen, relay->tcp.listen, sizeof(f.listen));
    return forwarder_create(&f, ring, random_system());
}

static bool open_internal(struct tcp_ingress *t, const struct relay_config *relay,
                          struct fault *fault)
{
    struct net_addr address = relay->forwarder.internal;
    address.port = (uint16_t)(address.port + FORWARDER_TCP_PORT);
    t->internal_fd = relay_socket_open_internal(&address, relay->socket_buffer_bytes, fault);
    return t->internal_fd >= 0;
}

/* As many look-ups as if the workers were RELAY_WORKERS_MAX: clients of TCP are few. */
static bool open_cache(struct tcp_ingress *t, const struct tcp_ingress_config *config)
{
    const struct cache_budget *all = &config->relay->cache_budget;
    const struct worker_cache_config cache = {
        .cache = config->cache,
        .port = TCP_INGRESS_CACHE_PORT,
        .budget = {.lookups_per_s = all->lookups_per_s / RELAY_WORKERS_MAX + 1,
                   .burst = all->burst / RELAY_WORKERS_MAX + 1},
        .cluster_id = config->relay->forwarder.cluster_id,
        .is_tcp = true,
    };
    return worker_cache_open(&t->cache, &cache, t->forwarder, &t->counters);
}

/* What needs no address. */
static bool open_parts(struct tcp_ingress *t, const struct tcp_ingress_config *config,
                       struct key_ring *ring, struct fault *fault)
{
    t->forwarder = make_forwarder(config->relay, ring);
    t->receiver = udp_receiver_create(UDP_RECEIVER_SLOTS);
    t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return (t->forwarder != NULL && t->receiver != NULL && t->epoll_fd >= 0 &&
            open_cache(t, config)) ||
           fault_set(fault, FAULT_SYSTEM, "tcp: out of memory or descriptors");
}

static bool open_sockets(struct tcp_ingress *t, const struct tcp_ingress_config *config,
                         struct fault *fault)
{
    if (!open_internal(t, config->relay, fault)) {
        return false;
    }
    t->sender = udp_sender_create(t->internal_fd, false);
    if (t->sender == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "tcp: out of memory");
    }
    const struct tcp_clients_config clients = {.tcp = &config->relay->tcp,
                                               .forwarder = t->forwarder,
                                               .sender = t->sender,
                                               .cache = &t->cache,
                                               .counters = &t->counters,
                                               .tcp_counters = &t->tcp_counters,
                                               .epoll_fd = t->epoll_fd};
    const int cache_fd = worker_cache_fd(&t->cache);
    return worker_inbox_open(&t->inbox, fault) && watch(t, t->inbox.read_fd, INBOX_NUMBER, fault) &&
           watch(t, t->internal_fd, INTERNAL_NUMBER, fault) &&
           (cache_fd < 0 || watch(t, cache_fd, CACHE_NUMBER, fault)) &&
           tcp_clients_open(&t->clients, &clients, random_system(), fault);
}

struct tcp_ingress *tcp_ingress_open(const struct tcp_ingress_config *config, struct key_ring *ring,
                                     struct fault *fault)
{
    assert(config->relay->tcp.listen_count >= 1);
    struct tcp_ingress *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        key_ring_destroy(ring);
        (void)fault_set(fault, FAULT_SYSTEM, "tcp: out of memory");
        return NULL;
    }
    t->beat = config->beat;
    t->internal_fd = -1;
    t->epoll_fd = -1;
    t->inbox = (struct worker_inbox){.read_fd = -1, .write_fd = -1};
    relay_counters_init(&t->counters);
    if (!open_parts(t, config, ring, fault) || !open_sockets(t, config, fault)) {
        tcp_ingress_close(t);
        return NULL;
    }
    return t;
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void tcp_ingress_close(struct tcp_ingress *t)
{
    if (t == NULL) {
        return;
    }
    tcp_ingress_stop(t);
    tcp_clients_close(&t->clients);
    worker_inbox_close(&t->inbox);
    udp_sender_destroy(t->sender);
    udp_receiver_destroy(t->receiver);
    worker_cache_close(&t->cache);
    close_if_open(t->internal_fd);
    close_if_open(t->epoll_fd);
    forwarder_destroy(t->forwarder);
    free(t);
}

const struct worker_inbox *tcp_ingress_inbox(const struct tcp_ingress *t)
{
    return &t->inbox;
}

const struct relay_counters *tcp_ingress_counters(const struct tcp_ingress *t)
{
    return &t->counters;
}

const struct tcp_counters *tcp_ingress_tcp_counters(const struct tcp_ingress *t)
{
    return &t->tcp_counters;
}

size_t tcp_ingress_places(const struct tcp_ingress *t)
{
    return t->clients.cap;
}

/* --- From transceivers ------------------------------------------------------------------------ */

static void take_downlink(struct tcp_ingress *t, const struct udp_arrival *arrival, uint64_t now_us)
{
    const struct verdict v = forwarder_from_transceiver(
        t->forwarder, bytes_view_of(arrival->data, arrival->len), &arrival->from, now_us);
    if (v.is_cache_due) {
        worker_cache_store(&t->cache, &v, now_us);
    }
    if (v.action != FORWARD_TO_CLIENT) {
        relay_counters_add(&t->counters, v.reason);
    } else if (!tcp_clients_send(&t->clients, &v, now_us)) {
        relay_counters_add(&t->counters, FORWARD_DOWN_NO_CLIENT);
    }
}

static void take_downlinks(struct tcp_ingress *t, uint64_t now_us)
{
    bool has_more = true;
    for (unsigned i = 0; i < BATCHES_PER_TURN && has_more; i++) {
        const struct udp_arrivals arrivals = udp_receiver_take(t->receiver, t->internal_fd);
        relay_counters_add_kernel_drops(&t->counters, RELAY_DOWN, arrivals.dropped_total,
                                        &t->dropped_seen);
        for (size_t j = 0; j < arrivals.count; j++) {
            take_downlink(t, &arrivals.datagram[j], now_us);
        }
        has_more = arrivals.is_full;
    }
}

/* --- The loop --------------------------------------------------------------------------------- */

static void sweep(struct tcp_ingress *t, uint64_t now_us)
{
    if (now_us < t->next_sweep_us) {
        return;
    }
    t->next_sweep_us = now_us + SWEEP_US;
    tcp_clients_sweep(&t->clients, now_us);
    relay_counters_publish(&t->counters, t->forwarder);
}

/* What the cache knows now, before what it does not know in time. */
static void release_held(struct tcp_ingress *t, bool has_answers, uint64_t now_us)
{
    struct held_batch held;
    while (has_answers && worker_cache_take_answered(&t->cache, &held, now_us)) {
        tcp_clients_take_held(&t->clients, &held, now_us);
    }
    while (worker_cache_take_overdue(&t->cache, &held, now_us)) {
        tcp_clients_take_held(&t->clients, &held, now_us);
    }
}

static void turn(struct tcp_ingress *t)
{
    struct epoll_event event[EVENTS_PER_TURN];
    const int wait_ms = worker_cache_wait_ms(&t->cache, IDLE_MS, clock_now_us());
    const int event_count = epoll_wait(t->epoll_fd, event, COUNT_OF(event), wait_ms);
    const uint64_t begin_us = clock_now_us();
    bool has_answers = false;
    for (int i = 0; i < event_count; i++) {
        switch (event[i].data.u32) {
        case INBOX_NUMBER:
            worker_inbox_read(&t->inbox, t->forwarder, begin_us);
            break;
        case CACHE_NUMBER:
            has_answers = true;
            break;
        case INTERNAL_NUMBER:
            take_downlinks(t, begin_us);
            break;
        default:
            tcp_clients_serve(&t->clients, event[i].data.u32, begin_us);
            break;
        }
    }
    const uint64_t now_us = clock_now_us();
    release_held(t, has_answers, now_us);
    forwarder_tick(t->forwarder, now_us);
    sweep(t, now_us);
    tcp_clients_flush(&t->clients);
    metric_observe(&t->counters.lag, now_us - begin_us);
    metric_set(t->beat, now_us);
}

static void *run(void *context)
{
    struct tcp_ingress *t = context;
    while (!atomic_load_explicit(&t->is_stopping, memory_order_relaxed)) {
        turn(t);
    }
    return NULL;
}

bool tcp_ingress_start(struct tcp_ingress *t, struct fault *fault)
{
    const int error = pthread_create(&t->thread, NULL, run, t);
    if (error != 0) {
        return fault_set(fault, FAULT_SYSTEM, "tcp: thread: %s", strerror(error));
    }
    t->has_thread = true;
    return true;
}

void tcp_ingress_stop(struct tcp_ingress *t)
{
    if (!t->has_thread) {
        return;
    }
    atomic_store_explicit(&t->is_stopping, true, memory_order_relaxed);
    const int error = pthread_join(t->thread, NULL);
    assert(error == 0);
    t->has_thread = false;
}
