/* main.c - inference-stub: a voice agent for trying and testing, without a model */
#include "common/runtime/admin_http.h"
#include "common/runtime/clock.h"
#include "common/runtime/process.h"
#include "services/inference-stub/agent/agent_script.h"
#include "services/inference-stub/sound/speech.h"
#include "services/inference-stub/stub_config.h"
#include "services/inference-stub/stub_metrics.h"
#include "services/inference-stub/stub_port.h"

#include <stdlib.h>
#include <unistd.h>

#define SERVICE "inference-stub"
#define PURPOSE                                                                                    \
    "A backend without a model: a scripted agent, a parrot, an echo, a tone. One option more:\n"   \
    "--mode MODE, which is agent, parrot, echo or tone, overrides the configured mode."

/* Takes --mode out of the arguments, which the options of every service follow. */
static const char *take_mode_option(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], "--mode") == 0) {
            const char *mode = argv[i + 1];
            memmove(&argv[i], &argv[i + 2], (size_t)(*argc - i - 1) * sizeof(*argv));
            *argc -= 2;
            return mode;
        }
    }
    return NULL;
}

/* script: of an agent; else not read. */
static bool load_config(const char *path, const char *mode, struct stub_config *config,
                        struct agent_script *script, struct fault *fault)
{
    if (!stub_config_load(path, config, fault)) {
        return false;
    }
    if (mode != NULL && !stub_config_mode(mode, &config->mode)) {
        return fault_set(fault, FAULT_CONFIG, "--mode %s: choose agent, parrot, echo or tone",
                         mode);
    }
    return config->mode != STUB_MODE_AGENT ||
           agent_script_load(config->agent_script, script, fault);
}

/* A parrot's words are made once, for the whole life of the process. */
static bool prepare_greeting(const struct stub_config *config, struct stub_behaviour *behaviour,
                             struct fault *fault)
{
    return config->mode != STUB_MODE_PARROT ||
           (speech_synthesize(config->greeting, 16000, &behaviour->greeting_16k, fault) &&
            speech_synthesize(config->greeting, 24000, &behaviour->greeting_24k, fault));
}

/* An agent's words are made while it runs. */
static bool prepare_agent(struct stub_behaviour *behaviour, struct fault *fault)
{
    if (behaviour->script == NULL) {
        return true;
    }
    behaviour->desk = speech_desk_create();
    behaviour->wall_clock_us = clock_unix_us() - clock_now_us();
    return behaviour->desk != NULL || fault_set(fault, FAULT_SYSTEM, "no memory for the voice");
}

static bool serve(const struct stub_config *config, struct stub_behaviour *behaviour, int signal_fd,
                  struct fault *fault)
{
    metric_value *beat = admin_http_add_loop("stub");
    metric_value *is_listening = admin_http_add_condition("listening");
    metrics_add_source(stub_metrics_print, behaviour->counters);
    if (!admin_http_start(SERVICE, &config->admin_listen, fault)) {
        return false;
    }
    struct stub_port *port = NULL;
    if (prepare_greeting(config, behaviour, fault) && prepare_agent(behaviour, fault)) {
        port = stub_port_open(config, behaviour, signal_fd, fault);
    }
    if (port != NULL) {
        metric_set(is_listening, 1);
        stub_port_run(port, beat);
    }
    const bool is_good = port != NULL;
    stub_port_close(port);
    admin_http_stop();
    speech_free(&behaviour->greeting_16k);
    speech_free(&behaviour->greeting_24k);
    speech_desk_destroy(behaviour->desk);
    return is_good;
}

static bool run(const struct stub_config *config, const struct agent_script *script,
                struct fault *fault)
{
    static struct stub_counters counters;
    static struct log_limit session_lines = {.lines_per_s = LOG_EVENTS_PER_S};
    struct stub_behaviour behaviour = {
        .mode = config->mode == STUB_MODE_AGENT ? DIALOGUE_ECHO : (enum dialogue_mode)config->mode,
        .script = config->mode == STUB_MODE_AGENT ? script : NULL,
        .random = random_system(),
        .mode_name = stub_config_mode_name(config->mode),
        .echo_delay_us = config->echo_delay_us,
        .tone_hz = config->tone_hz,
        .sessions_max = config->sessions_max,
        .session_lines = &session_lines,
        .counters = &counters,
    };
    log_open(SERVICE, config->log_level, config->log_format);
    if (!process_harden(config->allow_core_dumps, fault)) {
        return false;
    }
    const int signal_fd = process_signal_fd(fault);
    if (signal_fd < 0) {
        return false;
    }
    const bool is_good = serve(config, &behaviour, signal_fd, fault);
    (void)close(signal_fd);
    return is_good;
}

int main(int argc, char **argv)
{
    const char *mode = take_mode_option(&argc, argv);
    const struct process_options options =
        process_parse_options(argc, argv, SERVICE, PURPOSE, PROCESS_RELOADS_NOTHING);
    if (options.action == PROCESS_EXIT) {
        return options.exit_status;
    }
    static struct agent_script script;
    struct stub_config config;
    struct fault fault = {0};
    if (!load_config(options.config_path, mode, &config, &script, &fault)) {
        return process_fail(SERVICE, &fault);
    }
    if (options.action == PROCESS_CHECK_CONFIG) {
        return EXIT_SUCCESS;
    }
    if (options.action == PROCESS_HEALTH) {
        char address[NET_ADDR_TEXT_CAP];
        return process_health(net_addr_format(&config.admin_listen, address, sizeof(address)));
    }
    return run(&config, &script, &fault) ? EXIT_SUCCESS : process_fail(SERVICE, &fault);
}
