/* main.c - the relay: start, forward, drain, end */
#include "common/runtime/admin_http.h"
#include "common/runtime/log.h"
#include "common/runtime/process.h"
#include "services/relay/cache_metrics.h"
#include "services/relay/relay_control.h"
#include "services/relay/relay_self_test.h"
#include "services/relay/worker_cpus.h"

#include <stdio.h>
#include <stdlib.h>

#define SERVICE "relay"
#define PURPOSE                                                                                    \
    "Forwards media between clients and transceivers: one public port for a whole fleet."

struct relay {
    struct relay_config config;
    struct relay_keep keep;
    struct relay_metrics metrics; /* and the workers */
    struct relay_control *control;
    struct flow_cache *cache; /* NULL = none is configured */
    struct cache_metrics cache_metrics;
    struct key_ring *ring;
    int signal_fd;
};

static void log_workers(const struct relay *r, const struct worker_cpus *cpus, unsigned count)
{
    const struct relay_config *c = &r->config;
    log_info("relay.workers count=%u cpus=%zu pinned=%s flows=%zu busy_poll=%s gather_us=%u", count,
             cpus->count, worker_cpus_choose(cpus, 0, count) >= 0 ? "yes" : "no",
             c->forwarder.flow_cap, c->is_busy_polling ? "yes" : "no", c->gather_us);
    if (count > cpus->count) {
        log_warn("relay.workers_many count=%u cpus=%zu problem=\"they wait for each other\" "
                 "remedy=\"workers: auto\"",
                 count, cpus->count);
    }
    if (c->is_busy_polling && c->gather_us > 0) {
        log_warn("relay.gather_unused gather_us=%u problem=\"a worker of busy_poll never sleeps\"",
                 c->gather_us);
    }
}

/* One thread binds all, in the order of the workers: so the kernel gives a client to the same
 * worker again after a restart. */
static bool open_workers(struct relay *r, struct fault *fault)
{
    static char beat_name[RELAY_WORKERS_MAX][16];
    const struct worker_cpus cpus = worker_cpus_read();
    const size_t wanted = r->config.worker_count > 0 ? r->config.worker_count : cpus.count;
    const unsigned count = wanted < RELAY_WORKERS_MAX ? (unsigned)wanted : RELAY_WORKERS_MAX;
    relay_keep_open_flows(&r->keep, count);
    for (size_t i = 0; i < r->config.forwarder.listen_count; i++) {
        if (!relay_keep_probe(&r->keep, &r->config.forwarder.listen[i], fault)) {
            return false;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(beat_name[i], sizeof(beat_name[i]), "worker%u", i);
        const struct relay_worker_config config = {.relay = &r->config,
                                                   .keep = &r->keep,
                                                   .index = i,
                                                   .worker_count = count,
                                                   .cpu = worker_cpus_choose(&cpus, i, count),
                                                   .beat = admin_http_add_loop(beat_name[i]),
                                                   .cache = r->cache};
        struct key_ring *copy = key_ring_copy(r->ring);
        if (copy == NULL) {
            return fault_set(fault, FAULT_SYSTEM, "key ring: out of memory");
        }
        r->metrics.worker[i] = relay_worker_open(&config, copy, fault);
        if (r->metrics.worker[i] == NULL) {
            return false;
        }
        r->metrics.worker_count = i + 1;
    }
    relay_keep_opened(&r->keep);
    log_workers(r, &cpus, count);
    return true;
}

/* It connects in its own time: a relay does not wait for Redis, neither now nor later. */
static bool start_cache(struct relay *r, struct fault *fault)
{
    if (!r->config.forwarder.has_cache) {
        return true;
    }
    r->cache = flow_cache_start(&r->config.flow_cache, TCP_INGRESS_CACHE_PORT + 1, fault);
    explicit_bzero(r->config.flow_cache.password, sizeof(r->config.flow_cache.password));
    return r->cache != NULL;
}

static bool open_tcp(struct relay *r, struct fault *fault)
{
    if (r->config.tcp.listen_count == 0) {
        return true;
    }
    struct key_ring *copy = key_ring_copy(r->ring);
    if (copy == NULL) {
        return fault_set(fault, FAULT_SYSTEM, "key ring: out of memory");
    }
    const struct tcp_ingress_config config = {
        .relay = &r->config, .cache = r->cache, .beat = admin_http_add_loop("tcp")};
    r->metrics.tcp = tcp_ingress_open(&config, copy, fault);
    return r->metrics.tcp != NULL;
}

static void log_tcp(const struct relay *r)
{
    const struct relay_tcp_config *tcp = &r->config.tcp;
    if (r->metrics.tcp == NULL) {
        return;
    }
    const size_t places = tcp_ingress_places(r->metrics.tcp);
    for (size_t i = 0; i < tcp->listen_count; i++) {
        char text[NET_ADDR_TEXT_CAP];
        log_info("relay.listening tcp=%s connections_max=%zu",
                 net_addr_format(&tcp->listen[i], text, sizeof(text)), places);
    }
    if (places < tcp->connections_max) {
        log_warn("relay.descriptors_few connections_max=%zu wanted=%zu remedy=\"raise the limit of "
                 "open files (ulimit -Hn)\"",
                 places, tcp->connections_max);
    }
}

static void log_sockets(const struct relay *r)
{
    const struct forwarder_config *f = &r->config.forwarder;
    const struct relay_socket_buffers granted = relay_worker_buffers(r->metrics.worker[0]);
    char text[NET_ADDR_TEXT_CAP];
    for (size_t i = 0; i < f->listen_count; i++) {
        log_info("relay.listening udp=%s", net_addr_format(&f->listen[i], text, sizeof(text)));
        if (net_addr_is_unspecified(&f->listen[i])) {
            log_warn("relay.wildcard udp=%s problem=\"answers may leave from another address of "
                     "this host\" remedy=\"listen on the address itself\"",
                     text);
        }
    }
    log_info("relay.internal first=%s ports=%d tcp_clients=%d",
             net_addr_format(&f->internal, text, sizeof(text)), FORWARDER_INTERNAL_PORTS,
             r->metrics.tcp != NULL ? f->internal.port + FORWARDER_TCP_PORT : 0);
    log_info("relay.buffers receive_bytes=%zu send_bytes=%zu", granted.receive_bytes,
             granted.send_bytes);
    const size_t wanted = r->config.socket_buffer_bytes;
    if (relay_socket_buffers_are_small(&granted, wanted)) {
        log_warn("relay.buffers_small wanted_bytes=%zu remedy=\"sysctl -w net.core.rmem_max=%zu "
                 "net.core.wmem_max=%zu\"",
                 wanted, wanted, wanted);
    }
}

static bool start_workers(struct relay *r, struct fault *fault)
{
    for (size_t i = 0; i < r->metrics.worker_count; i++) {
        if (!relay_worker_start(r->metrics.worker[i], r->metrics.worker, r->metrics.worker_count,
                                fault)) {
            return false;
        }
    }
    return r->metrics.tcp == NULL || tcp_ingress_start(r->metrics.tcp, fault);
}

/* Forwards first: a relay that was restarted inside calls has no time to lose. */
static bool start(struct relay *r, struct fault *fault)
{
    r->signal_fd = process_signal_fd(fault);
    if (r->signal_fd < 0 || !relay_self_test(fault)) {
        return false;
    }
    r->ring = key_ring_load(r->config.keys_directory, fault);
    if (r->ring == NULL || !start_cache(r, fault) || !open_workers(r, fault) ||
        !open_tcp(r, fault) || !start_workers(r, fault)) {
        return false;
    }
    log_info("keys.loaded active=%02u", key_ring_active_id(r->ring));
    log_sockets(r);
    log_tcp(r);
    r->control = relay_control_open(&r->config, r->ring, &r->metrics,
                                    flow_memory_notes(&r->keep.memory), fault);
    if (r->control == NULL) {
        return false;
    }
    relay_metrics_register(&r->metrics);
    if (r->cache != NULL) {
        r->cache_metrics = (struct cache_metrics){.relay = &r->metrics, .cache = r->cache};
        cache_metrics_register(&r->cache_metrics);
    }
    metric_set(admin_http_add_condition("sockets_bound"), 1);
    metric_set(admin_http_add_condition("keys_loaded"), 1);
    if (!admin_http_start(SERVICE, &r->config.admin_listen, fault)) {
        return false;
    }
    relay_keep_ready(&r->keep);
    log_info("relay.started version=%s cluster=%u control=%s private_clients=%s", EARSHOT_VERSION,
             r->config.forwarder.cluster_id, r->config.control_url,
             r->config.forwarder.allow_private_clients ? "yes" : "no");
    return true;
}

/* The admin thread reads what the workers own: it ends first. The workers forward as long as they
 * can: what comes after them waits for the next process. That one does not wait for the cache's
 * thread, which may be in the middle of a name look-up: the end of this process is the thread's. */
static void stop(struct relay *r, bool is_handing_over)
{
    admin_http_stop();
    relay_control_close(r->control);
    if (r->metrics.tcp != NULL) {
        tcp_ingress_stop(r->metrics.tcp);
    }
    for (size_t i = 0; i < r->metrics.worker_count; i++) {
        relay_worker_stop(r->metrics.worker[i]);
    }
    for (size_t i = 0; i < r->metrics.worker_count; i++) {
        relay_worker_close(r->metrics.worker[i]);
    }
    tcp_ingress_close(r->metrics.tcp);
    if (!is_handing_over) {
        flow_cache_stop(r->cache);
    }
    relay_keep_close(&r->keep);
    key_ring_destroy(r->ring);
}

static int run(struct relay *r)
{
    struct fault fault = {0};
    log_open(SERVICE, r->config.log_level, r->config.log_format);
    if (!process_harden(r->config.allow_core_dumps, &fault)) {
        return process_fail(SERVICE, &fault);
    }
    relay_keep_open(&r->keep, &r->config);
    const bool is_started = start(r, &fault);
    bool is_handing_over = false;
    if (is_started) {
        is_handing_over = relay_control_run(r->control, r->signal_fd);
        log_info("relay.stopped");
    }
    stop(r, is_handing_over);
    return is_started ? EXIT_SUCCESS : process_fail(SERVICE, &fault);
}

int main(int argc, char **argv)
{
    static struct relay relay;
    struct fault fault = {0};
    const struct process_options options =
        process_parse_options(argc, argv, SERVICE, PURPOSE, PROCESS_RELOADS_KEYS);
    if (options.action == PROCESS_EXIT) {
        return options.exit_status;
    }
    if (options.action == PROCESS_RUN) {
        process_block_signals();
    }
    if (!relay_config_load(options.config_path, &relay.config, &fault)) {
        return process_fail(SERVICE, &fault);
    }
    if (options.action == PROCESS_CHECK_CONFIG) {
        return EXIT_SUCCESS;
    }
    if (options.action == PROCESS_HEALTH) {
        char admin[NET_ADDR_TEXT_CAP];
        return process_health(net_addr_format(&relay.config.admin_listen, admin, sizeof(admin)));
    }
    return run(&relay);
}
