/*
 * transceiver_config.h - config/local/transceiver.yaml as a struct
 */
#ifndef EARSHOT_TRANSCEIVER_CONFIG_H
#define EARSHOT_TRANSCEIVER_CONFIG_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/log.h"

#define TRANSCEIVER_TARGETS_MAX 8
#define TRANSCEIVER_TEXT_CAP    272
#define TRANSCEIVER_LABEL_CAP   128

struct transceiver_config {
    uint16_t cluster_id;
    char name[TRANSCEIVER_TEXT_CAP];
    char keys_directory[TRANSCEIVER_TEXT_CAP];

    bool is_address_auto;    /* the address the kernel picks toward the first announce target */
    struct net_addr address; /* else this one; port 0 */
    uint16_t media_port;     /* of shard 0 */
    uint16_t control_port;
    uint16_t events_port;
    unsigned shard_count;
    size_t udp_buffer_bytes;

    char announce[TRANSCEIVER_TARGETS_MAX][TRANSCEIVER_TEXT_CAP]; /* host:port */
    size_t announce_count;
    char backend[TRANSCEIVER_TEXT_CAP]; /* host:port, or unix:/path */

    size_t session_count_max; /* of the process */
    uint64_t call_duration_max_us;
    uint64_t setup_timeout_us;
    uint64_t drain_timeout_us;
    uint64_t credit_us; /* speech a backend may send ahead */
    uint32_t bitrate_bps;
    unsigned complexity;
    bool has_red;            /* RED is answered where it is offered */
    unsigned complexity_min; /* at most complexity; under load no step goes below */
    bool idle_sparse;        /* silence as one packet each 400 ms */
    char event_channel[TRANSCEIVER_LABEL_CAP]; /* the label of the one for events */

    struct net_addr admin_listen;
    enum log_level log_level;
    enum log_format log_format;
    bool allow_core_dumps;
};

MUST_USE bool transceiver_config_load(const char *path, struct transceiver_config *out,
                                      struct fault *fault);

#endif
