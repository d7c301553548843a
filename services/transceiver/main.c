/* main.c - the transceiver: start, the control loop, drain, stop */
#include "common/runtime/admin_http.h"
#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "common/runtime/process.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/control_port.h"
#include "services/transceiver/port/transceiver_config.h"
#include "services/transceiver/transceiver_metrics.h"

#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVICE       "transceiver"
#define LOOP_MAX      64
#define LAST_WORDS_MS 50
#define TURN_US_MAX   (500 * US_PER_MS)
/* With `address: auto` a name may not resolve before its service has started. */
#define ADDRESS_WAIT_US (30 * US_PER_S)

struct transceiver {
    struct transceiver_config config;
    struct net_addr address;
    uint32_t instance_id;
    struct key_ring *key_ring;
    struct dtls_identity *identity;
    struct voice_silences silences;
    struct event_loop *loops[LOOP_MAX];
    size_t loop_count;
    struct shard_inbox inboxes[LOOP_MAX]; /* of those */
    size_t inbox_count;
    struct control_port *control;
    struct transceiver_metrics metrics;
    metric_value *beat;
    metric_value *is_backend_up;
    metric_value *is_not_draining;
    metric_value *is_serving;
    bool is_draining;
    uint64_t drain_deadline_us;
};

/* --- start ------------------------------------------------------------------------------------ */

/* The address that the kernel would send from to reach `target` ("host:port"); sends nothing. */
static bool address_toward(const char *target, struct net_addr *out)
{
    char host[TRANSCEIVER_TEXT_CAP];
    const char *colon = strrchr(target, ':');
    if (colon == NULL) {
        return false;
    }
    (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - target), target);
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    if (getaddrinfo(host, colon + 1, &hints, &list) != 0) {
        return false;
    }
    struct sockaddr_storage own = {0};
    socklen_t own_len = sizeof(own);
    const int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool found = fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
                       getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
                       net_addr_from_sockaddr(&own, out);
    freeaddrinfo(list);
    if (fd >= 0) {
        (void)close(fd);
    }
    out->port = 0;
    return found;
}

static bool find_address(struct transceiver *t, struct fault *fault)
{
    const uint64_t until_us = clock_now_us() + ADDRESS_WAIT_US;
    if (!t->config.is_address_auto) {
        t->address = t->config.address;
        return true;
    }
    while (!address_toward(t->config.announce[0], &t->address)) {
        if (clock_now_us() > until_us) {
            return fault_set(fault, FAULT_CONFIG,
                             "address: auto: no way to \"%s\"; set address to this host's IP",
                             t->config.announce[0]);
        }
        (void)poll(NULL, 0, 200);
    }
    return true;
}

/* All of them, before the first shard runs. */
static bool open_inboxes(struct transceiver *t, struct fault *fault)
{
    while (t->inbox_count < t->config.shard_count) {
        if (!shard_inbox_open(&t->inboxes[t->inbox_count], fault)) {
            return false;
        }
        t->inbox_count++;
    }
    return true;
}

static bool start_shards(struct transceiver *t, struct fault *fault)
{
    static char name[LOOP_MAX][16]; /* the admin port borrows them */
    for (unsigned shard = 0; shard < t->config.shard_count; shard++) {
        (void)snprintf(name[shard], sizeof(name[shard]), "shard%u", shard);
        struct event_loop_config config = {
            .config = &t->config,
            .shard = shard,
            .inboxes = t->inboxes,
            .media_address = t->address,
            .instance_id = t->instance_id,
            .key_ring = t->key_ring,
            .identity = t->identity,
            .silences = &t->silences,
            .beat = admin_http_add_loop(name[shard]),
        };
        config.media_address.port = (uint16_t)(t->config.media_port + shard);
        t->loops[shard] = event_loop_create(&config, fault);
        if (t->loops[shard] == NULL) {
            return false;
        }
        t->loop_count++;
        if (!event_loop_start(t->loops[shard], fault)) {
            return false;
        }
    }
    return true;
}

static bool start_admin(struct transceiver *t, struct fault *fault)
{
    t->metrics.loops = t->loops;
    t->metrics.loop_count = t->loop_count;
    t->metrics.capacity = t->config.session_count_max;
    transceiver_metrics_note_keys(&t->metrics, t->key_ring);
    metrics_add_source(transceiver_metrics_print, &t->metrics);
    t->beat = admin_http_add_loop("control");
    t->is_serving = admin_http_add_condition("serving");
    t->is_backend_up = admin_http_add_condition("backend_reached");
    t->is_not_draining = admin_http_add_condition("not_draining");
    metric_set(t->beat, clock_now_us());
    metric_set(t->is_not_draining, 1);
    return admin_http_start("transceiver", &t->config.admin_listen, fault);
}

static bool start(struct transceiver *t, struct fault *fault)
{
    t->instance_id = random_u32(random_system());
    t->key_ring = key_ring_load(t->config.keys_directory, fault);
    if (t->key_ring == NULL || !srtp_transport_init(fault)) {
        return false;
    }
    log_info("keys.loaded active=%02u", key_ring_active_id(t->key_ring));
    t->identity = dtls_identity_create(fault);
    if (t->identity == NULL) {
        return false;
    }
    if (!voice_silences_make(&t->silences)) {
        return fault_set(fault, FAULT_LIBRARY, "opus: no silence packet");
    }
    if (!find_address(t, fault) || !open_inboxes(t, fault) || !start_shards(t, fault)) {
        return false;
    }
    const struct control_port_config control = {
        .config = &t->config,
        .address = t->address,
        .instance_id = t->instance_id,
        .loops = t->loops,
        .loop_count = t->loop_count,
        .key_ring = t->key_ring,
        .unix_offset_us = clock_unix_us() - clock_now_us(),
    };
    t->control = control_port_open(&control, fault);
    if (t->control == NULL || !start_admin(t, fault)) {
        return false;
    }
    char text[NET_ADDR_TEXT_CAP];
    log_info("transceiver.started address=%s media_port=%u instance=%08x shards=%zu "
             "sessions_max=%zu",
             net_addr_format_ip(&t->address, text, sizeof(text)), t->config.media_port,
             t->instance_id, t->loop_count, t->config.session_count_max);
    metric_set(t->is_serving, 1);
    return true;
}

/* What the shards said last: NNG's threads need a moment to write it. */
static void publish_last_words(struct transceiver *t)
{
    control_port_service(t->control, clock_now_us());
    (void)poll(NULL, 0, LAST_WORDS_MS);
}

static void stop(struct transceiver *t)
{
    admin_http_stop();
    for (size_t i = 0; i < t->loop_count; i++) {
        event_loop_stop(t->loops[i]);
    }
    if (t->control != NULL) {
        publish_last_words(t);
    }
    control_port_close(t->control);
    for (size_t i = 0; i < t->loop_count; i++) {
        event_loop_destroy(t->loops[i]);
    }
    while (t->inbox_count > 0) {
        shard_inbox_close(&t->inboxes[--t->inbox_count]);
    }
    dtls_identity_destroy(t->identity);
    key_ring_destroy(t->key_ring);
}

/* --- run -------------------------------------------------------------------------------------- */

static void reload_keys(struct transceiver *t)
{
    struct fault fault = {0};
    struct key_ring *ring = key_ring_load(t->config.keys_directory, &fault);
    if (ring == NULL) {
        metric_add(&t->metrics.key_reloads_failed, 1);
        log_error("keys.reload_failed error=\"%s\" effect=\"the old ring stays\"", fault.text);
        return;
    }
    for (size_t i = 0; i < t->loop_count; i++) {
        event_loop_set_key_ring(t->loops[i], ring);
    }
    control_port_set_key_ring(t->control, ring);
    transceiver_metrics_note_keys(&t->metrics, ring);
    key_ring_destroy(t->key_ring);
    t->key_ring = ring;
    log_info("keys.reloaded active=%02u", key_ring_active_id(ring));
}

static uint64_t session_count(const struct transceiver *t)
{
    uint64_t count = 0;
    for (size_t i = 0; i < t->loop_count; i++) {
        count += metric_get(&event_loop_calls(t->loops[i])->sessions_active);
    }
    return count;
}

/* The first SIGTERM lets calls go on; the second ends them now. */
static void begin_drain(struct transceiver *t, uint64_t now_us)
{
    if (t->is_draining) {
        t->drain_deadline_us = now_us;
        return;
    }
    t->is_draining = true;
    t->drain_deadline_us = now_us + t->config.drain_timeout_us;
    metric_set(&t->metrics.is_draining, 1);
    metric_set(t->is_not_draining, 0);
    for (size_t i = 0; i < t->loop_count; i++) {
        event_loop_drain(t->loops[i]);
    }
    control_port_drain(t->control, clock_unix_us() + t->config.drain_timeout_us, now_us);
    log_info("transceiver.draining sessions=%llu", (unsigned long long)session_count(t));
}

static void publish_readiness(struct transceiver *t, uint64_t now_us)
{
    metric_set(t->beat, now_us);
    for (size_t i = 0; i < t->loop_count; i++) {
        /* Once reached is enough: whether it is up now is in the announcement. */
        if (metric_get(&event_loop_backend(t->loops[i])->connects) == 0) {
            return;
        }
    }
    metric_set(t->is_backend_up, 1);
}

static void run(struct transceiver *t, int signal_fd)
{
    uint64_t now_us = clock_now_us();
    while (!t->is_draining || (session_count(t) > 0 && now_us < t->drain_deadline_us)) {
        int fds[CONTROL_PORT_FDS];
        struct pollfd wait[1 + CONTROL_PORT_FDS] = {{.fd = signal_fd, .events = POLLIN}};
        const size_t count = control_port_want(t->control, fds);
        for (size_t i = 0; i < count; i++) {
            wait[1 + i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        }
        const uint64_t due_us =
            time_earlier(control_port_next_timeout(t->control), now_us + TURN_US_MAX);
        (void)poll(wait, 1 + count, (int)(time_since(now_us, due_us) / US_PER_MS) + 1);
        now_us = clock_now_us();
        enum process_signal signal = PROCESS_SIGNAL_NONE;
        while ((signal = process_signal_read(signal_fd)) != PROCESS_SIGNAL_NONE) {
            if (signal == PROCESS_SIGNAL_RELOAD) {
                reload_keys(t);
            } else {
                begin_drain(t, now_us);
            }
        }
        control_port_service(t->control, now_us);
        publish_readiness(t, now_us);
    }
}

int main(int argc, char **argv)
{
    static struct transceiver t;
    struct fault fault = {0};
    const struct process_options options = process_parse_options(
        argc, argv, SERVICE, "Owns the calls: ICE, DTLS, SRTP and voice.", PROCESS_RELOADS_KEYS);
    if (options.action == PROCESS_EXIT) {
        return options.exit_status;
    }
    if (!transceiver_config_load(options.config_path, &t.config, &fault)) {
        return process_fail(SERVICE, &fault);
    }
    if (options.action == PROCESS_CHECK_CONFIG) {
        return 0;
    }
    if (options.action == PROCESS_HEALTH) {
        char text[NET_ADDR_TEXT_CAP];
        return process_health(net_addr_format(&t.config.admin_listen, text, sizeof(text)));
    }
    log_open(SERVICE, t.config.log_level, t.config.log_format);
    const int signal_fd = process_signal_fd(&fault);
    if (signal_fd < 0 || !process_harden(t.config.allow_core_dumps, &fault) || !start(&t, &fault)) {
        const int status = process_fail(SERVICE, &fault);
        stop(&t);
        return status;
    }
    run(&t, signal_fd);
    stop(&t);
    log_info("transceiver.stopped");
    return 0;
}
