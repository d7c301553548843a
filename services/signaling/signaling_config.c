/* signaling_config.c - see signaling_config.h */
#include "services/signaling/signaling_config.h"

#include "common/base/time_us.h"
#include "common/runtime/yaml_reader.h"
#include "services/signaling/placement.h"
#include "services/signaling/sideband_feed.h"

#include <stdio.h>

#define HOUR_US (3600 * US_PER_S)

#define SOCKET_PING_US    (20 * US_PER_S)
#define SOCKET_HANG_UP_US (45 * US_PER_S)

/* A form of an offer and a session, and what stands around them. */
#define BODY_BYTES_MAX ((size_t)320 * 1024)

/* Beside one watch per transceiver: the announcements, signals and the listening socket. */
#define OTHER_WATCHES 8

static void read_origins(struct yaml_reader *r, struct http_origins *origins)
{
    const size_t count = yaml_reader_count(r, "http.allow_origins");
    if (count > HTTP_ORIGINS_MAX) {
        yaml_reader_fail(r, "http.allow_origins", "more than %d origins", HTTP_ORIGINS_MAX);
        return;
    }
    origins->is_any = count == 0;
    for (size_t i = 0; i < count; i++) {
        char path[40];
        char origin[HTTP_ORIGIN_CHARS_MAX + 1];
        (void)snprintf(path, sizeof(path), "http.allow_origins[%zu]", i);
        yaml_reader_text(r, path, NULL, origin, sizeof(origin));
        if (strcmp(origin, "*") == 0) {
            origins->is_any = true;
        } else if (strstr(origin, "://") == NULL || strpbrk(origin, " \t\r\n") != NULL) {
            yaml_reader_fail(r, path, "an origin looks like https://app.example, or is \"*\"");
        } else {
            memcpy(origins->allowed[origins->allowed_count++], origin, strlen(origin) + 1);
        }
    }
}

/* Of one family at least. */
static bool is_everybody(const struct net_block *block)
{
    struct net_addr first = {0};
    memcpy(first.ip, block->ip, sizeof(first.ip));
    return block->prefix_bits == 0 || (block->prefix_bits <= 96 && net_addr_is_ipv4(&first));
}

/* Empty is absent, as in addresses. */
static void read_proxies(struct yaml_reader *r, struct http_proxies *proxies)
{
    const size_t count = yaml_reader_count(r, "http.trusted_proxies");
    if (count > HTTP_PROXIES_MAX) {
        yaml_reader_fail(r, "http.trusted_proxies", "more than %d blocks", HTTP_PROXIES_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char path[40];
        char text[NET_ADDR_TEXT_CAP];
        (void)snprintf(path, sizeof(path), "http.trusted_proxies[%zu]", i);
        yaml_reader_text(r, path, NULL, text, sizeof(text));
        if (text[0] == '\0') {
            continue;
        }
        struct net_block *block = &proxies->block[proxies->count];
        if (!net_block_parse(text, block)) {
            yaml_reader_fail(r, path, "\"%s\" is not a block of addresses as 10.0.0.0/8%s", text,
                             strchr(text, ',') != NULL ? ": one in each entry of the list" : "");
        } else if (is_everybody(block)) {
            yaml_reader_fail(r, path, "%s trusts what every stranger says of himself", text);
        } else {
            proxies->count++;
        }
    }
}

/* libwebsockets counts its own time-outs in seconds. */
static uint64_t read_whole_seconds(struct yaml_reader *r, const char *path, uint64_t seconds_max,
                                   uint64_t fallback_seconds)
{
    const uint64_t us = yaml_reader_duration_us(r, path, US_PER_S, seconds_max * US_PER_S,
                                                fallback_seconds * US_PER_S);
    if (us % US_PER_S != 0) {
        const unsigned long long seconds = us / US_PER_S;
        yaml_reader_fail(r, path, "must be whole seconds: give %llus or %llus", seconds,
                         seconds + 1);
    }
    return us;
}

static void read_tls(struct yaml_reader *r, struct http_server_config *http)
{
    yaml_reader_text(r, "http.tls.certificate", "", http->tls_certificate,
                     sizeof(http->tls_certificate));
    yaml_reader_text(r, "http.tls.key", "", http->tls_key, sizeof(http->tls_key));
    if ((http->tls_certificate[0] == '\0') != (http->tls_key[0] == '\0')) {
        yaml_reader_fail(r, "http.tls.key", "give certificate and key, or neither");
    }
}

static void read_http(struct yaml_reader *r, struct http_server_config *http)
{
    yaml_reader_addr(r, "http.listen", "127.0.0.1:8080", &http->listen);
    http->connections_max = (unsigned)yaml_reader_u64(r, "http.connections_max", 1, 16384, 1000);
    http->connections_per_address_max =
        (unsigned)yaml_reader_u64(r, "http.connections_per_address_max", 1, 16384, 100);
    http->requests_per_connection_max =
        (unsigned)yaml_reader_u64(r, "http.requests_per_connection_max", 1, 1000, 16);
    http->header_timeout_us = read_whole_seconds(r, "http.header_timeout", 60, 3);
    http->request_timeout_us = read_whole_seconds(r, "http.request_timeout", 60, 10);
    http->idle_timeout_us = read_whole_seconds(r, "http.idle_timeout", 600, 60);
    http->socket_ping_us = SOCKET_PING_US;
    http->socket_hang_up_us = SOCKET_HANG_UP_US;
    http->body_bytes_max = BODY_BYTES_MAX;
    http->watches_max = FLEET_INSTANCES_MAX + SIDEBAND_FEED_WATCHES + OTHER_WATCHES;
    read_origins(r, &http->origins);
    read_proxies(r, &http->proxies);
    read_tls(r, http);
}

/* The slowest placement must still be answered before its connection is closed. */
static void check_answer_timeout(struct yaml_reader *r, const struct signaling_config *c)
{
    if (c->answer_timeout_us * PLACEMENT_TRIES_MAX >= c->http.request_timeout_us) {
        yaml_reader_fail(r, "answer_timeout", "%d times this must be below http.request_timeout",
                         PLACEMENT_TRIES_MAX);
    }
}

/* An address that a client could really send to. */
static void check_advertised(struct yaml_reader *r, const char *path, const struct net_addr *a)
{
    if (net_addr_is_unspecified(a) || net_addr_is_multicast(a) || a->port == 0) {
        char text[NET_ADDR_TEXT_CAP];
        yaml_reader_fail(r, path, "%s can not be advertised: give the address that clients reach",
                         net_addr_format(a, text, sizeof(text)));
    }
}

/* Empty is absent: one file serves one address and two. */
static bool read_advertised(struct yaml_reader *r, size_t entry, const char *key,
                            struct net_addr *out)
{
    char path[40];
    char text[NET_ADDR_TEXT_CAP];
    (void)snprintf(path, sizeof(path), "ingress[%zu].%s", entry, key);
    yaml_reader_text(r, path, "", text, sizeof(text));
    if (text[0] == '\0') {
        return false;
    }
    if (!net_addr_parse(text, out)) {
        yaml_reader_fail(r, path, "\"%s\" is not an address and port as 192.0.2.1:3478", text);
        return false;
    }
    check_advertised(r, path, out);
    return true;
}

static void add_ingress(struct yaml_reader *r, struct signaling_config *c,
                        const struct net_addr *address, bool is_tcp)
{
    if (c->ingress_count == CONTROL_INGRESS_MAX) {
        yaml_reader_fail(r, "ingress", "more than %d addresses", CONTROL_INGRESS_MAX);
        return;
    }
    c->ingress[c->ingress_count++] =
        (struct control_ingress){.address = *address, .is_tcp = is_tcp};
}

static void read_ingress(struct yaml_reader *r, struct signaling_config *c)
{
    const size_t entry_count = yaml_reader_count(r, "ingress");
    for (size_t i = 0; i < entry_count; i++) {
        char path[40];
        char name[64];
        (void)snprintf(path, sizeof(path), "ingress[%zu].name", i);
        yaml_reader_text(r, path, NULL, name, sizeof(name));
    }
    struct net_addr address;
    for (size_t i = 0; i < entry_count; i++) {
        if (read_advertised(r, i, "udp", &address)) {
            add_ingress(r, c, &address, false);
        }
    }
    for (size_t i = 0; i < entry_count; i++) {
        if (read_advertised(r, i, "tcp", &address)) {
            add_ingress(r, c, &address, true);
        }
    }
    if (c->ingress_count == 0) {
        yaml_reader_fail(r, "ingress", "no address: clients would not know where to send media");
    }
}

static uint32_t read_limit(struct yaml_reader *r, const char *path, uint32_t fallback)
{
    return (uint32_t)yaml_reader_u64(r, path, 0, API_KEY_OFFERS_PER_S_MAX, fallback);
}

static void read_limits(struct yaml_reader *r, struct signaling_limits *limits)
{
    limits->offers_per_s = read_limit(r, "limits.offers_per_s", 0);
    limits->offers_per_s_per_tenant = read_limit(r, "limits.offers_per_s_per_tenant", 10);
    limits->offers_per_s_per_address = read_limit(r, "limits.offers_per_s_per_address", 5);
    limits->offers_per_minute_per_secret = read_limit(r, "limits.offers_per_minute_per_secret", 10);
    limits->calls_per_secret = read_limit(r, "limits.calls_per_secret", 8);
    limits->operations_per_s_per_tenant = read_limit(r, "limits.operations_per_s_per_tenant", 50);
    limits->operations_per_s_per_address = read_limit(r, "limits.operations_per_s_per_address", 50);
    limits->demo_secrets_per_minute_per_address =
        read_limit(r, "limits.demo_secrets_per_minute_per_address", 6);
}

static void read_access(struct yaml_reader *r, struct signaling_config *c)
{
    static const char *const mode[] = {"keys", "off", NULL};
    const bool is_public = yaml_reader_bool(r, "public", false);
    c->auth = (enum auth_mode)yaml_reader_choice(r, "auth", mode, AUTH_KEYS);
    c->has_demo = yaml_reader_bool(r, "demo", false);
    yaml_reader_text(r, "demo_host", "", c->demo_host, sizeof(c->demo_host));
    if (strpbrk(c->demo_host, ":/ ") != NULL) {
        yaml_reader_fail(r, "demo_host", "is a name alone, as edge.example");
    }
    yaml_reader_text(r, "api_keys", "", c->api_keys_path, sizeof(c->api_keys_path));
    if (is_public && c->auth == AUTH_OFF) {
        yaml_reader_fail(r, "auth", "off with public: true: set auth: keys");
    }
    if (c->auth == AUTH_KEYS && c->api_keys_path[0] == '\0') {
        yaml_reader_fail(r, "api_keys", "is empty: name the file of API keys");
    }
    read_limits(r, &c->limits);
}

static void read_all(struct yaml_reader *r, struct signaling_config *c)
{
    static const char *const level[] = {"debug", "info", "warn", "error", NULL};
    static const char *const format[] = {"text", "json", NULL};
    *c = (struct signaling_config){0};
    c->cluster_id = (uint16_t)yaml_reader_u64(r, "cluster_id", 0, 65535, 1);
    yaml_reader_text(r, "keys", NULL, c->keys_directory, sizeof(c->keys_directory));
    if (c->keys_directory[0] == '\0') {
        yaml_reader_fail(r, "keys", "is empty: name the directory of the key ring");
    }
    read_access(r, c);
    yaml_reader_text(r, "web", "", c->web_directory, sizeof(c->web_directory));
    read_http(r, &c->http);
    yaml_reader_addr(r, "control_listen", "127.0.0.1:7101", &c->control_listen);
    yaml_reader_addr(r, "admin_listen", "127.0.0.1:7803", &c->admin_listen);
    read_ingress(r, c);
    c->call_duration_s_max = (uint32_t)(yaml_reader_duration_us(r, "call_duration_max", US_PER_S,
                                                                24 * HOUR_US, HOUR_US) /
                                        US_PER_S);
    c->answer_timeout_us = yaml_reader_duration_us(r, "answer_timeout", 100 * US_PER_MS,
                                                   3 * US_PER_S, 1500 * US_PER_MS);
    check_answer_timeout(r, c);
    c->log_level = (enum log_level)yaml_reader_choice(r, "log.level", level, LOG_INFO);
    c->log_format = (enum log_format)yaml_reader_choice(r, "log.format", format, LOG_TEXT);
    c->allow_core_dumps = yaml_reader_bool(r, "debug.core_dumps", false);
}

static bool finish(struct yaml_reader *r, struct signaling_config *out, struct fault *fault)
{
    if (r == NULL) {
        return false;
    }
    read_all(r, out);
    const bool is_good = yaml_reader_finish(r, fault);
    yaml_reader_destroy(r);
    return is_good;
}

bool signaling_config_load(const char *path, struct signaling_config *out, struct fault *fault)
{
    return finish(yaml_reader_load(path, fault), out, fault);
}

bool signaling_config_parse(struct bytes_view text, const char *name, struct signaling_config *out,
                            struct fault *fault)
{
    return finish(yaml_reader_parse(text, name, fault), out, fault);
}
