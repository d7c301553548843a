/* stub_config.c - see stub_config.h */
#include "services/inference-stub/stub_config.h"

#include "common/runtime/yaml_reader.h"

#include <stdio.h>

static const char *const mode_name[] = {"echo", "tone", "parrot", "agent", NULL};

/* A delay is played out of the transceiver's queue, which the credit bounds. */
#define ECHO_DELAY_US_MAX (5 * US_PER_S)

bool stub_config_mode(const char *name, enum stub_mode *out)
{
    for (size_t i = 0; mode_name[i] != NULL; i++) {
        if (strcmp(mode_name[i], name) == 0) {
            *out = (enum stub_mode)i;
            return true;
        }
    }
    return false;
}

const char *stub_config_mode_name(enum stub_mode mode)
{
    return mode_name[mode];
}

static void read_listen(struct yaml_reader *r, struct stub_config *c)
{
    static const char unix_prefix[] = "unix:";
    char text[256];
    yaml_reader_text(r, "listen", "127.0.0.1:7200", text, sizeof(text));
    if (strncmp(text, unix_prefix, sizeof(unix_prefix) - 1) == 0) {
        const char *path = text + sizeof(unix_prefix) - 1;
        const int len = snprintf(c->unix_path, sizeof(c->unix_path), "%s", path);
        if (len < 1 || (size_t)len >= sizeof(c->unix_path)) {
            yaml_reader_fail(r, "listen", "a socket path has 1..%zu bytes",
                             sizeof(c->unix_path) - 1);
        }
    } else if (!net_addr_parse(text, &c->listen)) {
        yaml_reader_fail(r, "listen", "\"%s\" is neither ip:port nor unix:/path", text);
    }
}

/* A relative path starts at the folder of the configuration. */
static void read_agent_script(struct yaml_reader *r, const char *config_path, struct stub_config *c)
{
    char name[STUB_PATH_CAP];
    yaml_reader_text(r, "agent_script", "", name, sizeof(name));
    const char *slash = strrchr(config_path, '/');
    const bool is_relative = name[0] != '\0' && name[0] != '/' && slash != NULL;
    const int folder_len = is_relative ? (int)(slash + 1 - config_path) : 0;
    const int len =
        snprintf(c->agent_script, sizeof(c->agent_script), "%.*s%s", folder_len, config_path, name);
    if ((size_t)len >= sizeof(c->agent_script)) {
        yaml_reader_fail(r, "agent_script", "is longer than %zu bytes with its folder",
                         sizeof(c->agent_script) - 1);
    }
}

bool stub_config_load(const char *path, struct stub_config *out, struct fault *fault)
{
    static const char *const level[] = {"debug", "info", "warn", "error", NULL};
    static const char *const format[] = {"text", "json", NULL};
    struct yaml_reader *r = yaml_reader_load(path, fault);
    if (r == NULL) {
        return false;
    }
    struct stub_config *c = out;
    *c = (struct stub_config){0};
    read_listen(r, c);
    c->mode = (enum stub_mode)yaml_reader_choice(r, "mode", mode_name, STUB_MODE_AGENT);
    read_agent_script(r, path, c);
    yaml_reader_text(r, "greeting", "Hello. I am a parrot. Say something, and I will say it back.",
                     c->greeting, sizeof(c->greeting));
    if (c->greeting[0] == '\0') {
        yaml_reader_fail(r, "greeting", "is empty");
    }
    c->echo_delay_us = yaml_reader_duration_us(r, "echo_delay", 0, ECHO_DELAY_US_MAX, 0);
    c->tone_hz = (uint32_t)yaml_reader_u64(r, "tone_hz", 20, 7999, 1000);
    c->connections_max =
        (uint32_t)yaml_reader_u64(r, "connections_max", 1, STUB_CONNECTIONS_MAX, 64);
    c->sessions_max = (uint32_t)yaml_reader_u64(r, "sessions_max", 1, 100000, 1000);
    c->drain_timeout_us =
        yaml_reader_duration_us(r, "drain_timeout", 0, 24 * 3600 * US_PER_S, 10 * US_PER_S);
    yaml_reader_addr(r, "admin_listen", "127.0.0.1:7804", &c->admin_listen);
    c->log_level = (enum log_level)yaml_reader_choice(r, "log.level", level, LOG_INFO);
    c->log_format = (enum log_format)yaml_reader_choice(r, "log.format", format, LOG_TEXT);
    c->allow_core_dumps = yaml_reader_bool(r, "debug.core_dumps", false);
    const bool is_good = yaml_reader_finish(r, fault);
    yaml_reader_destroy(r);
    return is_good;
}
