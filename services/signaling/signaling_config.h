/*
 * signaling_config.h - config/local/signaling.yaml as a struct
 */
#ifndef EARSHOT_SIGNALING_CONFIG_H
#define EARSHOT_SIGNALING_CONFIG_H

#include "common/control/control_message.h"
#include "common/runtime/log.h"
#include "services/signaling/access/auth.h"
#include "services/signaling/http_server.h"
#include "services/signaling/own_page.h"

#define SIGNALING_PATH_CAP 272

/* Of this replica alone; 0 = no limit. */
struct signaling_limits {
    uint32_t offers_per_s; /* in all */
    uint32_t offers_per_s_per_tenant;
    uint32_t offers_per_s_per_address;
    uint32_t offers_per_minute_per_secret;
    uint32_t calls_per_secret;            /* that live */
    uint32_t operations_per_s_per_tenant; /* twice as many at once */
    uint32_t operations_per_s_per_address;
    uint32_t demo_secrets_per_minute_per_address;
};

struct signaling_config {
    uint16_t cluster_id;
    char keys_directory[SIGNALING_PATH_CAP];
    enum auth_mode auth;
    char api_keys_path[SIGNALING_PATH_CAP]; /* a file; empty with AUTH_OFF alone */
    bool has_demo;                          /* the page gets client secrets */
    char demo_host[OWN_PAGE_NAME_CAP];      /* of the page in browsers; may be empty */
    struct signaling_limits limits;
    char web_directory[SIGNALING_PATH_CAP]; /* empty: no page */
    struct http_server_config http;
    struct net_addr control_listen;
    struct net_addr admin_listen;

    /* What answers advertise, in order of preference: UDP of all entries, then TCP. */
    struct control_ingress ingress[CONTROL_INGRESS_MAX];
    size_t ingress_count;

    uint32_t call_duration_s_max;
    uint64_t answer_timeout_us; /* of one transceiver; then the next one is asked */

    enum log_level log_level;
    enum log_format log_format;
    bool allow_core_dumps;
};

MUST_USE bool signaling_config_load(const char *path, struct signaling_config *out,
                                    struct fault *fault);
/* The same from memory, for tests. */
MUST_USE bool signaling_config_parse(struct bytes_view text, const char *name,
                                     struct signaling_config *out, struct fault *fault);

#endif
