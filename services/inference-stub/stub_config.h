/*
 * stub_config.h - the configuration of the stub
 *
 * Keys, units and defaults: config/local/inference-stub.yaml.
 */
#ifndef EARSHOT_STUB_CONFIG_H
#define EARSHOT_STUB_CONFIG_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/log.h"
#include "services/inference-stub/dialogue.h"
#include "services/inference-stub/sound/speech.h"

#define STUB_UNIX_PATH_CAP   108 /* of sockaddr_un */
#define STUB_CONNECTIONS_MAX 256
#define STUB_PATH_CAP        512

/* The first three are modes of a dialogue. */
enum stub_mode {
    STUB_MODE_ECHO = DIALOGUE_ECHO,
    STUB_MODE_TONE = DIALOGUE_TONE,
    STUB_MODE_PARROT = DIALOGUE_PARROT,
    STUB_MODE_AGENT
};

struct stub_config {
    char unix_path[STUB_UNIX_PATH_CAP]; /* "" = TCP at listen */
    struct net_addr listen;
    enum stub_mode mode;
    char agent_script[STUB_PATH_CAP]; /* "": a script of defaults */
    char greeting[SPEECH_TEXT_CAP];
    uint64_t echo_delay_us;
    uint32_t tone_hz;
    uint32_t connections_max;
    uint32_t sessions_max;
    uint64_t drain_timeout_us;
    struct net_addr admin_listen;
    enum log_level log_level;
    enum log_format log_format;
    bool allow_core_dumps;
};

MUST_USE bool stub_config_load(const char *path, struct stub_config *out, struct fault *fault);
/* "echo", "tone", "parrot" or "agent"; false for anything else. */
MUST_USE bool stub_config_mode(const char *name, enum stub_mode *out);
const char *stub_config_mode_name(enum stub_mode mode);

#endif
