/*
 * relay_config.h - config/local/relay.yaml as a struct
 */
#ifndef EARSHOT_RELAY_CONFIG_H
#define EARSHOT_RELAY_CONFIG_H

#include "common/base/status.h"
#include "common/runtime/log.h"
#include "services/relay/forwarder.h"

#define RELAY_WORKERS_MAX FORWARDER_INTERNAL_PORTS /* each needs an internal port */
#define RELAY_TEXT_CAP    272

struct relay_config {
    char keys_directory[RELAY_TEXT_CAP];
    unsigned worker_count; /* 0: as many as CPUs may be used */
    size_t socket_buffer_bytes;
    char control_url[RELAY_TEXT_CAP]; /* NNG: transceivers announce themselves here */
    struct net_addr admin_listen;
    enum log_level log_level;
    enum log_format log_format;
    bool allow_core_dumps;
    struct forwarder_config forwarder; /* public and internal addresses, limits */
};

MUST_USE bool relay_config_load(const char *path, struct relay_config *out, struct fault *fault);

#endif
