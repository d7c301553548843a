/* transceiver_config.c - see transceiver_config.h */
#include "services/transceiver/port/transceiver_config.h"

#include "common/base/time_us.h"
#include "common/runtime/yaml_reader.h"

#include <stdio.h>

#define HOUR_US (3600 * US_PER_S)

static void read_addresses(struct yaml_reader *r, struct transceiver_config *c)
{
    char text[TRANSCEIVER_TEXT_CAP];
    yaml_reader_text(r, "address", "auto", text, sizeof(text));
    c->is_address_auto = strcmp(text, "auto") == 0;
    if (!c->is_address_auto && !net_addr_parse_ip(text, 0, &c->address)) {
        yaml_reader_fail(r, "address", "\"%s\" is neither auto nor an IP address", text);
    } else if (!c->is_address_auto && net_addr_is_unspecified(&c->address)) {
        yaml_reader_fail(r, "address", "relays can not send to %s: name this host's address", text);
    }
    c->media_port = (uint16_t)yaml_reader_u64(r, "media_port", 1, 65535, 4000);
    c->control_port = (uint16_t)yaml_reader_u64(r, "control_port", 1, 65535, 7001);
    c->events_port = (uint16_t)yaml_reader_u64(r, "events_port", 1, 65535, 7002);
    if (c->events_port == c->control_port) {
        yaml_reader_fail(r, "events_port", "%u is the control_port too", c->events_port);
    }
    c->shard_count = (unsigned)yaml_reader_u64(r, "shards", 1, 64, 1);
    if (c->media_port + c->shard_count - 1 > UINT16_MAX) {
        yaml_reader_fail(r, "media_port", "%u: no port is left for each of %u shards",
                         c->media_port, c->shard_count);
    }
    c->udp_buffer_bytes = yaml_reader_size(r, "udp_buffer", 65536, 1u << 30, 4u << 20);
    yaml_reader_addr(r, "admin_listen", "127.0.0.1:7802", &c->admin_listen);
}

static void read_targets(struct yaml_reader *r, struct transceiver_config *c)
{
    c->announce_count = yaml_reader_count(r, "announce");
    if (c->announce_count < 1 || c->announce_count > TRANSCEIVER_TARGETS_MAX) {
        yaml_reader_fail(r, "announce", "1 to %d targets, as \"relay:7102\"",
                         TRANSCEIVER_TARGETS_MAX);
        c->announce_count = 0;
    }
    for (size_t i = 0; i < c->announce_count; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "announce[%zu]", i);
        yaml_reader_text(r, key, NULL, c->announce[i], sizeof(c->announce[i]));
    }
    yaml_reader_text(r, "backend", NULL, c->backend, sizeof(c->backend));
}

static void read_limits(struct yaml_reader *r, struct transceiver_config *c)
{
    static const char *const off_on[] = {"off", "on", NULL};
    static const char *const idle[] = {"full", "sparse", NULL};
    c->session_count_max = yaml_reader_u64(r, "sessions_max", 1, 65536, 200);
    c->call_duration_max_us =
        yaml_reader_duration_us(r, "call_duration_max", US_PER_S, 24 * HOUR_US, HOUR_US);
    c->setup_timeout_us =
        yaml_reader_duration_us(r, "setup_timeout", US_PER_S, 300 * US_PER_S, 30 * US_PER_S);
    c->drain_timeout_us =
        yaml_reader_duration_us(r, "drain_timeout", 0, 24 * HOUR_US, HOUR_US + 30 * US_PER_S);
    c->credit_us =
        yaml_reader_duration_us(r, "backend_credit", US_PER_S, 60 * US_PER_S, 10 * US_PER_S);
    c->bitrate_bps = (uint32_t)yaml_reader_u64(r, "opus.bitrate_bps", 6000, 128000, 32000);
    c->complexity = (unsigned)yaml_reader_u64(r, "opus.complexity", 0, 10, 5);
    c->has_red = yaml_reader_choice(r, "red", off_on, 1) == 1;
    c->complexity_min = (unsigned)yaml_reader_u64(r, "opus.complexity_min", 0, c->complexity,
                                                  c->complexity < 1 ? c->complexity : 1);
    yaml_reader_text(r, "event_channel", "oai-events", c->event_channel, sizeof(c->event_channel));
    c->idle_sparse = yaml_reader_choice(r, "idle", idle, 0) == 1;
}

bool transceiver_config_load(const char *path, struct transceiver_config *out, struct fault *fault)
{
    static const char *const level[] = {"debug", "info", "warn", "error", NULL};
    static const char *const format[] = {"text", "json", NULL};
    struct yaml_reader *r = yaml_reader_load(path, fault);
    if (r == NULL) {
        return false;
    }
    struct transceiver_config *c = out;
    *c = (struct transceiver_config){0};
    c->cluster_id = (uint16_t)yaml_reader_u64(r, "cluster_id", 0, 65535, 1);
    yaml_reader_text(r, "name", "transceiver", c->name, sizeof(c->name));
    yaml_reader_text(r, "keys", NULL, c->keys_directory, sizeof(c->keys_directory));
    read_addresses(r, c);
    read_targets(r, c);
    read_limits(r, c);
    c->log_level = (enum log_level)yaml_reader_choice(r, "log.level", level, LOG_INFO);
    c->log_format = (enum log_format)yaml_reader_choice(r, "log.format", format, LOG_TEXT);
    c->allow_core_dumps = yaml_reader_bool(r, "debug.core_dumps", false);
    const bool good = yaml_reader_finish(r, fault);
    yaml_reader_destroy(r);
    return good;
}
