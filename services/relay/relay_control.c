/* relay_control.c - see relay_control.h */
#include "services/relay/relay_control.h"

#include "common/control/control_message.h"
#include "common/runtime/admin_http.h"
#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "common/runtime/message_port.h"
#include "common/runtime/process.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#define IDLE_MS                250
#define NOTE_US                (250 * US_PER_MS)
#define NOTE_FIRST_US          (3 * US_PER_S) /* dialled again within 2 s, announced each 500 ms */
#define ANNOUNCEMENTS_PER_TURN 4096
#define KEY_WATCH_US           US_PER_S

struct relay_control {
    const struct relay_config *config;
    struct relay_metrics *metrics;
    struct route_table *routes; /* judges announcements; each worker has a copy */
    struct route_notes *notes;  /* NULL: they are not kept */
    uint64_t next_note_us;
    struct message_port *announcements;
    struct control_decoder *decoder;
    struct log_limit announcement_limit;

    metric_value *beat;
    metric_value *has_heard;
    metric_value *is_not_draining;
    uint64_t started_us;
    uint64_t draining_since_us; /* TIME_NEVER = not draining */
    bool is_over;
    bool is_handing_over;

    uint64_t next_key_watch_us;
    struct timespec keys_seen; /* when the directory was last changed */
    struct timespec keys_read; /* the same, when it was last read */
};

/* --- Telling the workers ---------------------------------------------------------------------- */

static void tell_workers(struct relay_control *c, const struct inbox_message *message)
{
    for (size_t i = 0; i < relay_metrics_thread_count(c->metrics); i++) {
        if (!worker_inbox_post(relay_metrics_inbox(c->metrics, i), message)) {
            metric_add(&c->metrics->control.messages_lost, 1);
        }
    }
}

/* --- Announcements ---------------------------------------------------------------------------- */

static void log_result(struct relay_control *c, enum route_result result,
                       const struct control_announcement *a, uint64_t now_us)
{
    char address[NET_ADDR_TEXT_CAP];
    (void)net_addr_format(&a->media_address, address, sizeof(address));
    if (result == ROUTE_NEW) {
        log_info("instance.known instance=%08x media=%s", a->instance_id, address);
    } else if (result != ROUTE_KEPT && result != ROUTE_STALE &&
               log_limit_pass(&c->announcement_limit, now_us)) {
        log_error("announcement.%s reason=%s instance=%08x media=%s cluster=%u",
                  route_result_is_taken(result) ? "taken" : "refused", route_result_name(result),
                  a->instance_id, address, a->cluster_id);
    }
}

static void take_announcement(struct relay_control *c, struct bytes_view message, uint64_t now_us)
{
    struct relay_control_counters *counters = &c->metrics->control;
    struct control_announcement a;
    if (!control_decode_announcement(c->decoder, message, &a)) {
        metric_add(&counters->announcements_malformed, 1);
        return;
    }
    const struct inbox_message news = {
        .kind = INBOX_ANNOUNCEMENT,
        .body.announcement = {
            .instance_id = a.instance_id,
            .cluster_id = a.cluster_id,
            .shard_count = a.shard_count > UINT16_MAX ? UINT16_MAX : (uint16_t)a.shard_count,
            .media_address = a.media_address,
            .start_time_unix_us = a.start_time_unix_us,
            .sequence = a.sequence,
        }};
    const enum route_result result =
        route_table_announce(c->routes, &news.body.announcement, now_us);
    metric_add(&counters->announcements[result], 1);
    log_result(c, result, &a, now_us);
    if (route_result_is_taken(result)) {
        tell_workers(c, &news);
        metric_set(c->has_heard, 1);
    }
}

static void take_announcements(struct relay_control *c, uint64_t now_us)
{
    struct bytes_view message;
    for (unsigned i = 0;
         i < ANNOUNCEMENTS_PER_TURN && message_port_receive(c->announcements, &message); i++) {
        take_announcement(c, message, now_us);
    }
}

/* --- Keys ------------------------------------------------------------------------------------- */

static void publish_keys(struct relay_control_counters *counters, const struct key_ring *ring)
{
    uint64_t ids = 0;
    for (uint8_t id = 0; id < KEY_RING_IDS; id++) {
        ids |= (uint64_t)key_ring_has(ring, id) << id;
    }
    metric_set(&counters->key_ids, ids);
    metric_set(&counters->key_active_id, key_ring_active_id(ring));
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The time of the last change, also when a mounted volume was swapped by renaming a link in it. */
static struct timespec key_directory_time(const struct relay_control *c)
{
    struct stat status;
    if (stat(c->config->keys_directory, &status) != 0) {
        return (struct timespec){0};
    }
    return status.st_mtim;
}

static void give_ring(struct relay_control *c, size_t worker, const struct key_ring *ring)
{
    struct key_ring *copy = key_ring_copy(ring);
    const struct inbox_message message = {.kind = INBOX_RING, .body.ring = copy};
    if (copy == NULL || !worker_inbox_post(relay_metrics_inbox(c->metrics, worker), &message)) {
        key_ring_destroy(copy);
        metric_add(&c->metrics->control.messages_lost, 1);
        log_error("keys.not_delivered worker=%zu remedy=\"send SIGHUP again\"", worker);
    }
}

static void reload_keys(struct relay_control *c)
{
    struct fault fault = {0};
    c->keys_read = key_directory_time(c);
    struct key_ring *ring = key_ring_load(c->config->keys_directory, &fault);
    if (ring == NULL) {
        metric_add(&c->metrics->control.key_reloads_failed, 1);
        log_error("keys.reload_failed error=\"%s\" effect=\"the old ring stays\"", fault.text);
        return;
    }
    for (size_t i = 0; i < relay_metrics_thread_count(c->metrics); i++) {
        give_ring(c, i, ring);
    }
    publish_keys(&c->metrics->control, ring);
    log_info("keys.reloaded active=%02u", key_ring_active_id(ring));
    key_ring_destroy(ring);
}

/* Files come one after the other: the directory is read when it has been quiet for a while. */
static void watch_keys(struct relay_control *c, uint64_t now_us)
{
    if (now_us < c->next_key_watch_us) {
        return;
    }
    c->next_key_watch_us = now_us + KEY_WATCH_US;
    const struct timespec changed = key_directory_time(c);
    const bool is_quiet = is_same_time(&changed, &c->keys_seen);
    c->keys_seen = changed;
    if (is_quiet && !is_same_time(&changed, &c->keys_read)) {
        reload_keys(c);
    }
}

/* --- Readiness and drain ---------------------------------------------------------------------- */

static void take_signals(struct relay_control *c, int signal_fd, uint64_t now_us)
{
    for (;;) {
        switch (process_signal_read(signal_fd)) {
        case PROCESS_SIGNAL_NONE:
            return;
        case PROCESS_SIGNAL_RELOAD:
            reload_keys(c);
            break;
        case PROCESS_SIGNAL_HAND_OVER:
            c->is_over = true;
            c->is_handing_over = true;
            return;
        case PROCESS_SIGNAL_STOP:
            if (c->draining_since_us != TIME_NEVER) {
                c->is_over = true;
                return;
            }
            c->draining_since_us = now_us;
            metric_set(c->is_not_draining, 0);
            log_info("relay.draining idle_s=%u", (unsigned)(RELAY_DRAIN_IDLE_US / US_PER_S));
            break;
        }
    }
}

static uint64_t client_heard_us(const struct relay_control *c)
{
    uint64_t last_us = 0;
    for (size_t i = 0; i < relay_metrics_thread_count(c->metrics); i++) {
        const struct relay_counters *counters = relay_metrics_counters(c->metrics, i);
        last_us = time_later(last_us, metric_get(&counters->client_heard_us));
    }
    return last_us;
}

static void note_routes(struct relay_control *c, uint64_t now_us)
{
    if (c->notes != NULL && now_us >= c->next_note_us) {
        c->next_note_us = now_us + NOTE_US;
        route_table_note(c->routes, c->notes, now_us);
    }
}

static void keep_house(struct relay_control *c, uint64_t now_us)
{
    uint32_t lost_id = 0;
    while (route_table_take_lost(c->routes, &lost_id, now_us)) {
        log_warn("instance.lost instance=%08x silent_s=%u", lost_id,
                 (unsigned)(ROUTE_LIFE_US / US_PER_S));
    }
    metric_set(&c->metrics->control.instances_known, route_table_count(c->routes));
    note_routes(c, now_us);
    watch_keys(c, now_us);
    if (time_since(c->started_us, now_us) >= RELAY_READY_ANYWAY_US) {
        metric_set(c->has_heard, 1);
    }
    if (c->draining_since_us != TIME_NEVER) {
        const uint64_t busy_us = time_later(c->draining_since_us, client_heard_us(c));
        c->is_over = c->is_over || time_since(busy_us, now_us) >= RELAY_DRAIN_IDLE_US;
    }
    metric_set(c->beat, now_us);
}

bool relay_control_run(struct relay_control *c, int signal_fd)
{
    struct pollfd ready[] = {
        {.fd = signal_fd, .events = POLLIN},
        {.fd = message_port_receive_fd(c->announcements), .events = POLLIN},
    };
    while (!c->is_over) {
        (void)poll(ready, COUNT_OF(ready), IDLE_MS);
        const uint64_t now_us = clock_now_us();
        take_signals(c, signal_fd, now_us);
        take_announcements(c, now_us);
        keep_house(c, now_us);
    }
    return c->is_handing_over;
}

/* --- Life ------------------------------------------------------------------------------------- */

struct relay_control *relay_control_open(const struct relay_config *config,
                                         const struct key_ring *ring, struct relay_metrics *metrics,
                                         struct route_notes *notes, struct fault *fault)
{
    struct relay_control *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "control: out of memory");
        return NULL;
    }
    c->config = config;
    c->metrics = metrics;
    c->started_us = clock_now_us();
    c->notes = notes;
    /* The notes of a process before are better until each transceiver had time to dial again and
     * to announce itself. */
    if (notes != NULL && notes->noted_us != 0) {
        c->next_note_us = c->started_us + NOTE_FIRST_US;
    }
    c->draining_since_us = TIME_NEVER;
    c->routes =
        route_table_create(config->forwarder.cluster_id, &config->forwarder.transceiver_networks);
    c->decoder = control_decoder_create();
    c->announcements = message_port_open(MESSAGE_PORT_SUB, fault);
    /* What else transceivers say there is for signaling. */
    const struct bytes_view topic = bytes_view_of_text(CONTROL_ANNOUNCEMENT_TOPIC);
    if (c->routes == NULL || c->decoder == NULL || c->announcements == NULL ||
        !message_port_subscribe(c->announcements, topic) ||
        !message_port_listen(c->announcements, config->control_url, fault)) {
        relay_control_close(c);
        return NULL;
    }
    publish_keys(&metrics->control, ring);
    c->keys_read = key_directory_time(c);
    c->keys_seen = c->keys_read;
    c->beat = admin_http_add_loop("main");
    c->has_heard = admin_http_add_condition("transceiver_awaited");
    c->is_not_draining = admin_http_add_condition("not_draining");
    metric_set(c->is_not_draining, 1);
    metric_set(c->beat, c->started_us);
    return c;
}

void relay_control_close(struct relay_control *c)
{
    if (c == NULL) {
        return;
    }
    message_port_close(c->announcements);
    control_decoder_destroy(c->decoder);
    route_table_destroy(c->routes);
    free(c);
}
