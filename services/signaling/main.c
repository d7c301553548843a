/* main.c - signaling: HTTP at the edge, calls placed on transceivers */
#include "common/runtime/admin_http.h"
#include "common/runtime/clock.h"
#include "common/runtime/process.h"
#include "services/signaling/call_operations.h"
#include "services/signaling/http_site.h"
#include "services/signaling/signaling_metrics.h"
#include "services/signaling/socket_site.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE "signaling"
#define PURPOSE "Takes offers over HTTP and places calls on transceivers."

#define TICK_US (500 * US_PER_MS)
/* After SIGTERM: long enough for a probe to see it, and never longer than the grace period. */
#define DRAIN_US_MIN US_PER_S
#define DRAIN_US_MAX (30 * US_PER_S)

#define SIGNAL_TAG CONTROL_PLANE_TAG_END

/* A file or directory that is read again when it changes. */
struct watched_file {
    const char *path;
    struct timespec seen; /* when it changed, as the last tick saw it */
    struct timespec read; /* and as what is in use saw it */
};

struct service {
    struct signaling_config config;
    int signal_fd;
    struct http_server *http;
    struct http_watch *signal_watch;
    struct control_plane *plane;
    struct sideband_feed *feed;
    struct access_gate *access;
    struct calls_api *calls;
    struct web_files *files;
    struct http_site site;
    struct socket_site sockets;
    struct signaling_metrics metrics;

    metric_value *beat;
    metric_value *is_listening;
    metric_value *has_heard;
    metric_value *is_not_draining;
    struct watched_file ring_directory;
    struct watched_file api_keys_file;
    struct watched_file certificate_file;
    uint64_t tick_us;
    uint64_t drain_began_us; /* 0: not draining */
    bool is_over;
};

static const uint32_t lag_bound_us[] = {100, 250, 500, 1000, 2000, 5000, 10000, 20000, 50000};

/* --- keys ------------------------------------------------------------------------------------- */

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The last change, also when a mounted volume was swapped by renaming a link in it. */
static struct timespec time_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

/* Files come one after the other: they are read when nothing has changed for a tick. */
static bool has_settled(struct watched_file *file)
{
    const struct timespec changed = time_of(file->path);
    const bool is_quiet = is_same_time(&changed, &file->seen);
    file->seen = changed;
    return is_quiet && !is_same_time(&changed, &file->read);
}

static void reload_ring(struct service *s)
{
    struct fault fault = {0};
    s->ring_directory.read = time_of(s->ring_directory.path);
    struct key_ring *ring = key_ring_load(s->config.keys_directory, &fault);
    if (ring == NULL || !auth_set_ring(access_gate_auth(s->access), ring)) {
        metric_add(&s->metrics.key_reloads_failed, 1);
        log_error("keys.reload_failed error=\"%s\" effect=\"the old ring stays\"", fault.text);
        key_ring_destroy(ring);
        return;
    }
    calls_api_set_ring(s->calls, ring);
    log_info("keys.reloaded active=%02u", key_ring_active_id(ring));
}

static void reload_api_keys(struct service *s)
{
    struct fault fault = {0};
    if (s->config.auth == AUTH_OFF) {
        return;
    }
    s->api_keys_file.read = time_of(s->api_keys_file.path);
    if (!access_gate_reload(s->access, &fault)) {
        metric_add(&s->metrics.api_key_reloads_failed, 1);
        log_error("api_keys.reload_failed error=\"%s\" effect=\"the old keys stay\"", fault.text);
        return;
    }
    log_info("api_keys.reloaded count=%llu",
             (unsigned long long)metric_get(&access_gate_counts(s->access)->api_keys));
}

/* --- certificate ------------------------------------------------------------------------------ */

static unsigned long long certificate_expiry_s(const struct service *s)
{
    return metric_get(&http_server_tls_counts(s->http)->certificate_expiry_s);
}

static void reload_certificate(struct service *s)
{
    struct fault fault = {0};
    if (s->config.http.tls_certificate[0] == '\0') {
        return;
    }
    s->certificate_file.read = time_of(s->certificate_file.path);
    if (http_server_reload_tls(s->http, &fault)) {
        log_info("tls.reloaded expires_unix_s=%llu", certificate_expiry_s(s));
    } else {
        metric_add(&s->metrics.tls_reloads_failed, 1);
        log_error("tls.reload_failed error=\"%s\" effect=\"the old certificate stays\"",
                  fault.text);
    }
}

/* Whoever renews a certificate replaces its key first, and links of a mounted volume swap both. */
static void watch_files(struct service *s)
{
    if (has_settled(&s->ring_directory)) {
        reload_ring(s);
    }
    if (s->config.auth == AUTH_KEYS && has_settled(&s->api_keys_file)) {
        reload_api_keys(s);
    }
    if (s->config.http.tls_certificate[0] != '\0' && has_settled(&s->certificate_file)) {
        reload_certificate(s);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

static void add_condition(struct service *s, const char *name, metric_value **out)
{
    *out = admin_http_add_condition(name);
    s->site.condition[s->site.condition_count++] = (struct http_site_condition){name, *out};
}

/* The page is a guest here: without it the service still serves. */
static void load_page(struct service *s)
{
    struct fault fault = {0};
    if (s->config.web_directory[0] == '\0') {
        return;
    }
    s->files = web_files_load(s->config.web_directory, &fault);
    if (s->files == NULL) {
        log_warn("page.absent reason=\"%s\"", fault.text);
    }
}

static bool open_ports(struct service *s, struct fault *fault)
{
    s->certificate_file = (struct watched_file){s->config.http.tls_certificate,
                                                .read = time_of(s->config.http.tls_certificate)};
    s->config.http.judge = socket_site_judge;
    s->config.http.judge_context = &s->sockets;
    s->http = http_server_create(&s->config.http, fault);
    if (s->http == NULL) {
        return false;
    }
    if (http_server_tls_counts(s->http) != NULL) {
        log_info("tls.loaded expires_unix_s=%llu", certificate_expiry_s(s));
    }
    s->signal_watch = http_server_watch(s->http, s->signal_fd, SIGNAL_TAG);
    if (s->signal_watch == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "signals: can not be watched");
    }
    s->plane =
        control_plane_create(s->http, &s->config.control_listen, s->config.cluster_id, fault);
    return s->plane != NULL;
}

/* The ring that calls are named with; auth has a copy. NULL and a fault. */
static struct key_ring *open_access(struct service *s, struct fault *fault)
{
    s->ring_directory =
        (struct watched_file){s->config.keys_directory, .read = time_of(s->config.keys_directory)};
    s->api_keys_file =
        (struct watched_file){s->config.api_keys_path, .read = time_of(s->config.api_keys_path)};
    struct key_ring *ring = key_ring_load(s->config.keys_directory, fault);
    if (ring == NULL) {
        return NULL;
    }
    log_info("keys.loaded active=%02u", key_ring_active_id(ring));
    s->access = access_gate_create(&s->config, fault);
    if (s->access == NULL) {
        key_ring_destroy(ring);
        return NULL;
    }
    if (!auth_set_ring(access_gate_auth(s->access), ring)) {
        (void)fault_set(fault, FAULT_SYSTEM, "access: out of memory");
        key_ring_destroy(ring);
        return NULL;
    }
    return ring;
}

static bool open_sockets(struct service *s, struct fault *fault)
{
    s->feed = sideband_feed_create(s->http, s->plane, s->config.answer_timeout_us);
    if (s->feed == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "side-bands: out of memory");
    }
    s->sockets.plane = s->plane;
    s->sockets.calls = s->calls;
    s->sockets.sidebands = events_sideband_create(s->http, s->feed, s->access, s->calls);
    s->sockets.signals = signal_socket_create(s->http, s->plane, s->access, s->calls,
                                              s->config.http.connections_max);
    return (s->sockets.sidebands != NULL && s->sockets.signals != NULL) ||
           fault_set(fault, FAULT_SYSTEM, "sockets: out of memory");
}

static bool open_parts(struct service *s, struct fault *fault)
{
    struct key_ring *ring = open_access(s, fault);
    if (ring == NULL) {
        return false;
    }
    if (!open_ports(s, fault)) {
        key_ring_destroy(ring);
        return false;
    }
    s->calls = calls_api_create(s->http, s->plane, access_gate_calls(s->access), ring, &s->config);
    if (s->calls == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "calls: out of memory");
    }
    if (!open_sockets(s, fault)) {
        return false;
    }
    load_page(s);
    s->site.server = s->http;
    s->site.access = s->access;
    s->site.calls = s->calls;
    s->site.files = s->files;
    s->site.has_demo = s->config.has_demo;
    s->metrics.loop_lag.bound_us = lag_bound_us;
    s->metrics.loop_lag.bound_count = COUNT_OF(lag_bound_us);
    s->metrics.http = http_server_counts(s->http);
    s->metrics.tls = http_server_tls_counts(s->http);
    s->metrics.plane = control_plane_counts(s->plane);
    s->metrics.calls = calls_api_counts(s->calls);
    s->metrics.feed = sideband_feed_counts(s->feed);
    s->metrics.access = access_gate_counts(s->access);
    s->metrics.sidebands = events_sideband_counts(s->sockets.sidebands);
    return true;
}

static bool open_admin(struct service *s, struct fault *fault)
{
    s->beat = admin_http_add_loop("http");
    add_condition(s, "listening", &s->is_listening);
    add_condition(s, "transceiver_heard_once", &s->has_heard);
    add_condition(s, "not_draining", &s->is_not_draining);
    metrics_add_source(signaling_metrics_print, &s->metrics);
    metric_set(s->beat, clock_now_us());
    return admin_http_start(SERVICE, &s->config.admin_listen, fault);
}

static void close_parts(struct service *s)
{
    admin_http_stop(); /* it reads the counters of all the others */
    signal_socket_destroy(s->sockets.signals);
    events_sideband_destroy(s->sockets.sidebands);
    calls_api_destroy(s->calls);
    sideband_feed_destroy(s->feed);
    control_plane_destroy(s->plane);
    http_server_unwatch(s->signal_watch);
    http_server_destroy(s->http);
    web_files_destroy(s->files);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void stop(struct service *s, uint64_t now_us)
{
    if (s->drain_began_us != 0) {
        s->is_over = true; /* the second time means now */
        return;
    }
    s->drain_began_us = now_us;
    metric_set(s->is_not_draining, 0);
    calls_api_drain(s->calls);
    socket_site_drain(&s->sockets);
    log_info("signaling.draining");
}

static void handle_signals(struct service *s, uint64_t now_us)
{
    enum process_signal signal = PROCESS_SIGNAL_NONE;
    while ((signal = process_signal_read(s->signal_fd)) != PROCESS_SIGNAL_NONE) {
        if (signal == PROCESS_SIGNAL_RELOAD) {
            reload_ring(s);
            reload_api_keys(s);
            reload_certificate(s);
        } else {
            stop(s, now_us);
        }
    }
}

static void handle_events(struct service *s, uint64_t now_us)
{
    struct http_event event;
    while (http_server_take(s->http, &event)) {
        switch (event.kind) {
        case HTTP_EVENT_REQUEST:
            http_site_request(&s->site, event.exchange, event.request, now_us);
            break;
        case HTTP_EVENT_END:
            calls_api_end(s->calls, event.exchange, event.is_delivered, now_us);
            break;
        case HTTP_EVENT_READABLE:
            if (event.tag == SIGNAL_TAG) {
                handle_signals(s, now_us);
            } else if (event.tag >= SIDEBAND_FEED_TAG_BEGIN) {
                sideband_feed_readable(s->feed, event.tag, now_us);
            } else {
                control_plane_readable(s->plane, event.tag, now_us);
            }
            break;
        case HTTP_EVENT_SOCKET_OPEN:
        case HTTP_EVENT_SOCKET_MESSAGE:
        case HTTP_EVENT_SOCKET_END:
            socket_site_event(&s->sockets, &event, now_us);
            break;
        }
    }
    struct session_outcome outcome;
    while (control_plane_next(s->plane, &outcome, now_us)) {
        calls_api_outcome(s->calls, &outcome, now_us);
    }
    socket_site_turn(&s->sockets, now_us);
}

static void tick(struct service *s, uint64_t now_us)
{
    s->tick_us = now_us + TICK_US;
    control_plane_tick(s->plane, now_us);
    call_operations_ask(s->calls, now_us);
    watch_files(s);
    if (fleet_slot_end(control_plane_fleet(s->plane)) > 0) {
        metric_set(s->has_heard, 1);
    }
}

static bool may_end(const struct service *s, uint64_t now_us)
{
    const uint64_t drained_us = time_since(s->drain_began_us, now_us);
    return s->is_over ||
           (s->drain_began_us != 0 && (drained_us >= DRAIN_US_MAX ||
                                       (drained_us >= DRAIN_US_MIN && calls_api_is_idle(s->calls) &&
                                        http_server_is_idle(s->http))));
}

static uint64_t next_timeout(const struct service *s)
{
    const uint64_t of_control =
        time_earlier(control_plane_next_timeout(s->plane), sideband_feed_next_timeout(s->feed));
    return time_earlier(s->tick_us,
                        time_earlier(of_control, socket_site_next_timeout(&s->sockets)));
}

static void run_loop(struct service *s)
{
    uint64_t now_us = clock_now_us();
    while (!may_end(s, now_us)) {
        http_server_wait(s->http, next_timeout(s));
        const uint64_t woken_us = clock_now_us();
        metric_set(s->beat, woken_us);
        handle_events(s, woken_us);
        if (woken_us >= s->tick_us) {
            tick(s, woken_us);
        }
        now_us = clock_now_us();
        metric_observe(&s->metrics.loop_lag, time_since(woken_us, now_us));
    }
    log_info("signaling.stopped");
}

static bool run(struct service *s, struct fault *fault)
{
    log_open(SERVICE, s->config.log_level, s->config.log_format);
    if (!process_harden(s->config.allow_core_dumps, fault)) {
        return false;
    }
    s->signal_fd = process_signal_fd(fault);
    if (s->signal_fd < 0) {
        return false;
    }
    const bool is_good = open_parts(s, fault) && open_admin(s, fault);
    if (is_good) {
        char http[NET_ADDR_TEXT_CAP];
        metric_set(s->is_listening, 1);
        metric_set(s->is_not_draining, 1);
        log_info("signaling.started http=%s addresses=%zu",
                 net_addr_format(&s->config.http.listen, http, sizeof(http)),
                 s->config.ingress_count);
        run_loop(s);
    }
    close_parts(s);
    (void)close(s->signal_fd);
    return is_good;
}

int main(int argc, char **argv)
{
    static struct service service;
    struct fault fault = {0};
    const struct process_options options =
        process_parse_options(argc, argv, SERVICE, PURPOSE, PROCESS_RELOADS_KEYS);
    if (options.action == PROCESS_EXIT) {
        return options.exit_status;
    }
    if (!signaling_config_load(options.config_path, &service.config, &fault)) {
        return process_fail(SERVICE, &fault);
    }
    if (options.action == PROCESS_CHECK_CONFIG) {
        return EXIT_SUCCESS;
    }
    if (options.action == PROCESS_HEALTH) {
        char address[NET_ADDR_TEXT_CAP];
        return process_health(
            net_addr_format(&service.config.admin_listen, address, sizeof(address)));
    }
    return run(&service, &fault) ? EXIT_SUCCESS : process_fail(SERVICE, &fault);
}
