/*
 * relay_config.h - config/local/relay.yaml as a struct
 */
#ifndef EARSHOT_RELAY_CONFIG_H
#define EARSHOT_RELAY_CONFIG_H

#include "common/base/status.h"
#include "common/runtime/log.h"
#include "services/relay/core/forwarder.h"
#include "services/relay/core/hold_queue.h"
#include "services/relay/flow_cache/flow_cache_url.h"

#define RELAY_WORKERS_MAX   FORWARDER_INTERNAL_PORTS /* each needs an internal port */
#define RELAY_TEXT_CAP      272
#define RELAY_GATHER_US_MAX 100

/* Look-ups in the flow cache, of all workers together. */
struct cache_budget {
    uint32_t lookups_per_s;
    uint32_t burst;
};

/* For clients whose network blocks UDP. */
struct relay_tcp_config {
    struct net_addr listen[FORWARDER_LISTEN_MAX];
    size_t listen_count; /* 0: none are let in */
    size_t connections_max;
    size_t connections_per_address_max;
};

struct relay_config {
    char keys_directory[RELAY_TEXT_CAP];
    unsigned worker_count; /* 0: as many as CPUs may be used */
    size_t socket_buffer_bytes;
    bool has_no_trains; /* toward transceivers each datagram goes alone */
    unsigned gather_us; /* asleep after a wake-up, so that more arrives; 0 = not */
    bool is_busy_polling;
    char control_url[RELAY_TEXT_CAP]; /* NNG: transceivers announce themselves here */
    struct net_addr admin_listen;
    enum log_level log_level;
    enum log_format log_format;
    bool allow_core_dumps;
    struct flow_cache_url flow_cache; /* if forwarder.has_cache; holds a password */
    struct cache_budget cache_budget;
    struct forwarder_config forwarder; /* public and internal addresses, limits */
    struct relay_tcp_config tcp;
};

MUST_USE bool relay_config_load(const char *path, struct relay_config *out, struct fault *fault);

#endif
