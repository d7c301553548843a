/* relay_worker.c - see relay_worker.h */
#include "services/relay/relay_worker.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/relay/relay_socket.h"
#include "services/relay/worker_cache.h"
#include "services/relay/worker_downlink.h"
#include "services/relay/worker_uplink.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* A beat and gauges at least this often, without a datagram too. */
#define IDLE_MS 250
/* Batches from one socket before the others have their turn. */
#define BATCHES_PER_TURN 4
#define PUBLISH_US       (250 * US_PER_MS)
#define TIMER_SLACK_NS   1000UL
#define PAGE_BYTES       4096
#define TOUCHED_BYTES    ((size_t)2 << 20) /* at once */

/* Watched beside the sockets. */
#define INBOX_NUMBER WORKER_SOCKETS_MAX
#define CACHE_NUMBER (WORKER_SOCKETS_MAX + 1)

struct relay_worker {
    struct relay_worker_config config;
    struct forwarder *forwarder;
    struct worker_inbox inbox;
    struct worker_sockets sockets;
    struct worker_cache cache;
    struct worker_uplink uplink;
    struct worker_downlink downlink;

    pthread_t thread;
    pthread_t toucher; /* ends by itself */
    bool has_thread;
    bool has_toucher;
    atomic_bool is_stopping;

    uint64_t next_publish_us;
    struct relay_counters counters;
};

/* --- Life ------------------------------------------------------------------------------------- */

/* Each worker has its share of the process's look-ups. */
static bool open_cache(struct relay_worker *w)
{
    const struct relay_config *relay = w->config.relay;
    const unsigned count = w->config.worker_count;
    const struct worker_cache_config config = {
        .cache = w->config.cache,
        .port = w->config.index,
        .budget = {.lookups_per_s = (relay->cache_budget.lookups_per_s + count - 1) / count,
                   .burst = (relay->cache_budget.burst + count - 1) / count},
        .cluster_id = relay->forwarder.cluster_id,
    };
    return worker_cache_open(&w->cache, &config, w->forwarder, &w->counters);
}

static bool open_parts(struct relay_worker *w, struct key_ring *ring, struct fault *fault)
{
    const struct relay_worker_config *config = &w->config;
    w->forwarder = forwarder_create(&config->relay->forwarder, ring, random_system());
    if (w->forwarder == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "worker %u: out of memory", config->index);
    }
    relay_keep_recall(config->keep, w->forwarder, clock_now_us());
    if (!worker_sockets_open(&w->sockets, config->keep, config->index, config->worker_count,
                             fault) ||
        !worker_inbox_open(&w->inbox, fault)) {
        return false;
    }
    worker_sockets_watch(&w->sockets, w->inbox.read_fd, INBOX_NUMBER);
    if (!open_cache(w) ||
        !worker_uplink_open(&w->uplink, &w->sockets, w->forwarder, &w->cache, &w->counters) ||
        !worker_downlink_open(&w->downlink, &w->sockets, w->forwarder, &w->cache, &w->counters)) {
        return fault_set(fault, FAULT_SYSTEM, "worker %u: out of memory", config->index);
    }
    worker_sockets_watch(&w->sockets, worker_cache_fd(&w->cache), CACHE_NUMBER);
    return true;
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
    w->inbox = (struct worker_inbox){.read_fd = -1, .write_fd = -1};
    relay_counters_init(&w->counters);
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
    worker_uplink_close(&w->uplink);
    worker_downlink_close(&w->downlink);
    worker_cache_close(&w->cache);
    worker_inbox_close(&w->inbox);
    worker_sockets_close(&w->sockets);
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

const struct udp_sender_counters *relay_worker_trains(const struct relay_worker *w)
{
    return udp_sender_counters(w->uplink.sender);
}

struct relay_socket_buffers relay_worker_buffers(const struct relay_worker *w)
{
    return relay_socket_buffers(w->sockets.socket[0].fd);
}

/* --- The loop --------------------------------------------------------------------------------- */

static void publish(struct relay_worker *w, uint64_t now_us)
{
    if (now_us < w->next_publish_us) {
        return;
    }
    w->next_publish_us = now_us + PUBLISH_US;
    relay_counters_publish(&w->counters, w->forwarder);
}

static void serve_socket(struct relay_worker *w, struct worker_socket *s)
{
    bool has_more = true;
    for (unsigned i = 0; i < BATCHES_PER_TURN && has_more; i++) {
        has_more = s->direction == RELAY_UP ? worker_uplink_serve(&w->uplink, s)
                                            : worker_downlink_serve(&w->downlink, s);
    }
}

/* What the cache knows now, before what it does not know in time. */
static void release_held(struct relay_worker *w, bool has_answers, uint64_t now_us)
{
    struct held_batch held;
    while (has_answers && worker_cache_take_answered(&w->cache, &held, now_us)) {
        worker_uplink_take_held(&w->uplink, &held, now_us);
    }
    while (worker_cache_take_overdue(&w->cache, &held, now_us)) {
        worker_uplink_take_held(&w->uplink, &held, now_us);
    }
    worker_uplink_flush(&w->uplink);
}

static void turn(struct relay_worker *w)
{
    struct worker_sockets *sockets = &w->sockets;
    worker_sockets_wait(sockets, worker_cache_wait_ms(&w->cache, IDLE_MS, clock_now_us()));
    const uint64_t begin_us = clock_now_us();
    if (worker_sockets_is_ready(sockets, INBOX_NUMBER)) {
        worker_inbox_read(&w->inbox, w->forwarder, begin_us);
    }
    for (unsigned i = 0; i < sockets->count; i++) {
        if (worker_sockets_is_ready(sockets, i)) {
            serve_socket(w, &sockets->socket[i]);
        }
    }
    const uint64_t now_us = clock_now_us();
    release_held(w, worker_sockets_is_ready(sockets, CACHE_NUMBER), now_us);
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

/* A look-up among small pages is a walk through memory, and the first touch of a page costs a
 * client's packet much more: a thread of its own touches them all meanwhile, and changes nothing.
 * In pieces, since a call holds a lock that the first touches of others need. What the kernel can
 * not do is not needed. */
static void *touch_flows(void *context)
{
    const struct relay_worker *w = context;
    const struct bytes_span lines = flow_table_lines(forwarder_flows(w->forwarder));
    const size_t past_page = (uintptr_t)lines.data % PAGE_BYTES;
    uint8_t *page = lines.data + (past_page == 0 ? 0 : PAGE_BYTES - past_page);
    const uint8_t *end = lines.data + lines.len;
    size_t left = page < end ? (size_t)(end - page) / PAGE_BYTES * PAGE_BYTES : 0;
    (void)madvise(page, left, MADV_HUGEPAGE);
    while (left > 0 && !atomic_load_explicit(&w->is_stopping, memory_order_relaxed)) {
        const size_t bytes = left < TOUCHED_BYTES ? left : TOUCHED_BYTES;
        (void)madvise(page, bytes, MADV_POPULATE_WRITE);
        page += bytes;
        left -= bytes;
    }
    return NULL;
}

static void *run(void *context)
{
    struct relay_worker *w = context;
    pin(w);
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS); /* of this thread: a pause as long as it says */
    relay_keep_settle(w->config.keep, w->config.index, w->forwarder, clock_now_us());
    while (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed)) {
        turn(w);
    }
    return NULL;
}

bool relay_worker_start(struct relay_worker *w, struct relay_worker *const *peers,
                        size_t peer_count, struct fault *fault)
{
    const uint64_t now_us = clock_now_us();
    for (size_t i = 0; i < peer_count; i++) {
        if (peers[i] != w) {
            worker_downlink_teach(&w->downlink, &peers[i]->inbox, now_us);
        }
    }
    const int error = pthread_create(&w->thread, NULL, run, w);
    if (error != 0) {
        return fault_set(fault, FAULT_SYSTEM, "worker %u: thread: %s", w->config.index,
                         strerror(error));
    }
    w->has_thread = true;
    w->has_toucher = !relay_keep_has_memory(w->config.keep) &&
                     pthread_create(&w->toucher, NULL, touch_flows, w) == 0;
    return true;
}

void relay_worker_stop(struct relay_worker *w)
{
    if (!w->has_thread) {
        return;
    }
    atomic_store_explicit(&w->is_stopping, true, memory_order_relaxed);
    const struct inbox_message stop = {.kind = INBOX_STOP};
    const bool is_posted = worker_inbox_post(&w->inbox, &stop);
    (void)is_posted; /* a full pipe wakes it too */
    int error = pthread_join(w->thread, NULL);
    assert(error == 0);
    w->has_thread = false;
    if (w->has_toucher) {
        error = pthread_join(w->toucher, NULL);
        assert(error == 0);
    }
}
