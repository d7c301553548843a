/* relay_config.c - see relay_config.h */
#include "services/relay/relay_config.h"

#include "common/runtime/yaml_reader.h"
#include "services/relay/core/rate_buckets.h"
#include "services/relay/core/tcp_roster.h"

#include <stdio.h>
#include <stdlib.h>

/* "auto" or a number: as text, since a default of one deployment comes from the environment. */
static void read_workers(struct yaml_reader *r, struct relay_config *c)
{
    char text[RELAY_TEXT_CAP];
    yaml_reader_text(r, "workers", "auto", text, sizeof(text));
    if (strcmp(text, "auto") == 0) {
        c->worker_count = 0;
        return;
    }
    const size_t digits = strspn(text, "0123456789");
    const unsigned long count = digits > 0 && digits <= 3 ? strtoul(text, NULL, 10) : 0;
    if (text[digits] != '\0' || count < 1 || count > RELAY_WORKERS_MAX) {
        yaml_reader_fail(r, "workers", "\"%s\" is neither auto nor 1..%d", text, RELAY_WORKERS_MAX);
    }
    c->worker_count = (unsigned)count;
}

static bool is_listed(const struct net_addr *list, size_t count, const struct net_addr *address)
{
    for (size_t i = 0; i < count; i++) {
        if (net_addr_equal(&list[i], address)) {
            return true;
        }
    }
    return false;
}

/* An empty entry is skipped, so that a deployment with one address can leave the second unset.
 * Returns how many there are. */
static size_t read_addresses(struct yaml_reader *r, const char *list,
                             struct net_addr out[FORWARDER_LISTEN_MAX])
{
    const size_t count = yaml_reader_count(r, list);
    size_t read_count = 0;
    for (size_t i = 0; i < count; i++) {
        char key[64];
        char text[RELAY_TEXT_CAP];
        struct net_addr address;
        (void)snprintf(key, sizeof(key), "%s[%zu]", list, i);
        yaml_reader_text(r, key, NULL, text, sizeof(text));
        if (text[0] == '\0') {
            continue;
        }
        if (!net_addr_parse(text, &address)) {
            yaml_reader_fail(r, key, "\"%s\" is no ip:port", text);
        } else if (address.port == 0) {
            yaml_reader_fail(r, key, "%s has no port: clients have to be told one", text);
        } else if (is_listed(out, read_count, &address)) {
            yaml_reader_fail(r, key, "%s is listed twice", text);
        } else if (read_count == FORWARDER_LISTEN_MAX) {
            yaml_reader_fail(r, key, "more than %d addresses", FORWARDER_LISTEN_MAX);
        } else {
            out[read_count++] = address;
        }
    }
    return read_count;
}

static void read_listen(struct yaml_reader *r, struct forwarder_config *f)
{
    f->listen_count = read_addresses(r, "listen", f->listen);
    if (f->listen_count == 0) {
        yaml_reader_fail(r, "listen", "no address to listen on");
    }
}

static void read_internal(struct yaml_reader *r, struct forwarder_config *f)
{
    yaml_reader_addr(r, "internal", NULL, &f->internal);
    if (f->internal.port == 0 || f->internal.port > UINT16_MAX - FORWARDER_TCP_PORT) {
        yaml_reader_fail(r, "internal", "needs a port that %d more can follow", FORWARDER_TCP_PORT);
    }
}

static void read_tcp(struct yaml_reader *r, struct relay_tcp_config *tcp)
{
    tcp->listen_count = read_addresses(r, "tcp.listen", tcp->listen);
    tcp->connections_max =
        (size_t)yaml_reader_u64(r, "tcp.connections_max", 1, TCP_ROSTER_CAP_MAX, 4096);
    tcp->connections_per_address_max =
        (size_t)yaml_reader_u64(r, "tcp.connections_per_address_max", 1, TCP_ROSTER_CAP_MAX, 64);
}

/* Would the kernel refuse the second of these? */
static bool is_same_place(const struct net_addr *a, const struct net_addr *b)
{
    return net_addr_is_ipv4(a) == net_addr_is_ipv4(b) &&
           (net_addr_is_unspecified(a) || net_addr_is_unspecified(b) ||
            memcmp(a->ip, b->ip, sizeof(a->ip)) == 0);
}

static void check_overlap(struct yaml_reader *r, const struct forwarder_config *f, bool has_tcp)
{
    for (size_t i = 0; i < f->listen_count; i++) {
        const int above = f->listen[i].port - f->internal.port;
        const bool is_port = (above >= 0 && above < FORWARDER_INTERNAL_PORTS) ||
                             (has_tcp && above == FORWARDER_TCP_PORT);
        if (is_port && is_same_place(&f->listen[i], &f->internal)) {
            yaml_reader_fail(r, "internal", "port %d is that of listen too: this and %d more%s",
                             f->listen[i].port, FORWARDER_INTERNAL_PORTS - 1,
                             has_tcp ? ", and the one 63 above, are taken" : " are taken");
        }
    }
}

static void read_networks(struct yaml_reader *r, struct route_networks *networks)
{
    networks->count = yaml_reader_count(r, "transceiver_networks");
    if (networks->count < 1 || networks->count > ROUTE_NETWORKS_MAX) {
        yaml_reader_fail(r, "transceiver_networks", "1 to %d blocks, as 10.0.0.0/8",
                         ROUTE_NETWORKS_MAX);
        networks->count = 0;
    }
    for (size_t i = 0; i < networks->count; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "transceiver_networks[%zu]", i);
        yaml_reader_block(r, key, &networks->block[i]);
    }
}

static void read_forwarder(struct yaml_reader *r, struct forwarder_config *f)
{
    f->cluster_id = (uint16_t)yaml_reader_u64(r, "cluster_id", 0, UINT16_MAX, 1);
    read_listen(r, f);
    read_internal(r, f);
    read_networks(r, &f->transceiver_networks);
    f->allow_private_clients = yaml_reader_bool(r, "allow_private_clients", false);
    f->flow_cap = (size_t)yaml_reader_u64(r, "flows", FLOW_CAP_MIN, FLOW_CAP_MAX, 65536);
    f->source_flows_per_s = (uint32_t)yaml_reader_u64(r, "new_flows_per_source.per_second", 1,
                                                      RATE_BUCKETS_RATE_MAX, 200);
    f->source_flows_burst =
        (uint32_t)yaml_reader_u64(r, "new_flows_per_source.burst", 1, RATE_BUCKETS_BURST_MAX, 400);
}

/* Empty: no flow cache. */
static void read_flow_cache(struct yaml_reader *r, struct relay_config *c)
{
    char text[FLOW_CACHE_URL_CAP];
    yaml_reader_text(r, "flow_cache", "", text, sizeof(text));
    c->forwarder.has_cache = text[0] != '\0';
    const char *wrong = c->forwarder.has_cache ? flow_cache_url_parse(text, &c->flow_cache) : NULL;
    if (wrong != NULL) {
        /* Not the text itself: it may hold a password. */
        yaml_reader_fail(r, "flow_cache", "is not redis://[[user]:password@]host:port[/0..%d]: %s",
                         FLOW_CACHE_DATABASE_MAX, wrong);
    }
    explicit_bzero(text, sizeof(text));
    c->cache_budget = (struct cache_budget){
        .lookups_per_s =
            (uint32_t)yaml_reader_u64(r, "flow_cache_lookups.per_second", 1, HOLD_RATE_MAX, 20000),
        .burst = (uint32_t)yaml_reader_u64(r, "flow_cache_lookups.burst", 1, HOLD_RATE_MAX, 20000)};
}

bool relay_config_load(const char *path, struct relay_config *out, struct fault *fault)
{
    static const char *const level[] = {"debug", "info", "warn", "error", NULL};
    static const char *const format[] = {"text", "json", NULL};
    struct yaml_reader *r = yaml_reader_load(path, fault);
    if (r == NULL) {
        return false;
    }
    struct relay_config *c = out;
    *c = (struct relay_config){0};
    yaml_reader_text(r, "keys", NULL, c->keys_directory, sizeof(c->keys_directory));
    read_workers(r, c);
    read_forwarder(r, &c->forwarder);
    read_flow_cache(r, c);
    read_tcp(r, &c->tcp);
    check_overlap(r, &c->forwarder, c->tcp.listen_count > 0);
    c->socket_buffer_bytes =
        (size_t)yaml_reader_size(r, "socket_buffer", 65536, 1u << 30, 4u << 20);
    c->has_no_trains = !yaml_reader_bool(r, "trains", true);
    c->gather_us = (unsigned)yaml_reader_u64(r, "gather_us", 0, RELAY_GATHER_US_MAX, 0);
    c->is_busy_polling = yaml_reader_bool(r, "busy_poll", false);
    yaml_reader_text(r, "control_listen", NULL, c->control_url, sizeof(c->control_url));
    yaml_reader_addr(r, "admin_listen", "127.0.0.1:7801", &c->admin_listen);
    c->log_level = (enum log_level)yaml_reader_choice(r, "log.level", level, LOG_INFO);
    c->log_format = (enum log_format)yaml_reader_choice(r, "log.format", format, LOG_TEXT);
    c->allow_core_dumps = yaml_reader_bool(r, "debug.core_dumps", false);
    const bool good = yaml_reader_finish(r, fault);
    yaml_reader_destroy(r);
    return good;
}
