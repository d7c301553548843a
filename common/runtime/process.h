/*
 * process.h - what every service does the same way: options, hardening, signals
 *
 * Options: --config FILE, --check-config, --version, --help, --health (asks the own admin port).
 *          Without --config the file is /etc/earshot/<service>.yaml, so that a container's health
 *          check needs no argument.
 * Exit:    0 good, 1 a fault (one line on stderr), 64 wrong usage.
 * Names:   `service` is "relay", the program "earshot-relay".
 */
#ifndef EARSHOT_PROCESS_H
#define EARSHOT_PROCESS_H

#include "common/base/status.h"

#define PROCESS_EXIT_FAULT 1
#define PROCESS_EXIT_USAGE 64

enum process_action { PROCESS_RUN, PROCESS_CHECK_CONFIG, PROCESS_HEALTH, PROCESS_EXIT };

struct process_options {
    enum process_action action;
    int exit_status;       /* when action is PROCESS_EXIT: --help, --version or wrong usage */
    char config_path[256]; /* cut text is wrong usage */
};

/* What SIGHUP does: told by --help, done by the service. */
enum process_reload { PROCESS_RELOADS_NOTHING, PROCESS_RELOADS_KEYS };

/* Prints help, version or usage itself. `purpose` is one sentence for --help. */
struct process_options process_parse_options(int argc, char **argv, const char *service,
                                             const char *purpose, enum process_reload reload);

/* umask 077, no core dumps, not dumpable, no new privileges, SIGPIPE ignored, RLIMIT_NOFILE raised
 * to the hard limit, library versions checked (OpenSSL >= 3.0.22: a warning). */
MUST_USE bool process_harden(bool allow_core_dumps, struct fault *fault);

/* First of all in a process that will serve: a signal that comes before process_signal_fd waits for
 * it, where it would have ended the process. */
void process_block_signals(void);

/* SIGTERM and SIGINT, SIGUSR2, SIGHUP arrive on a descriptor (signalfd); blocks them for all
 * threads, so call before any thread exists. Returns -1 and a fault. */
int process_signal_fd(struct fault *fault);
enum process_signal {
    PROCESS_SIGNAL_NONE,
    PROCESS_SIGNAL_STOP,
    PROCESS_SIGNAL_HAND_OVER, /* SIGUSR2: a successor comes; who has nothing to hand over stops */
    PROCESS_SIGNAL_RELOAD
};
/* Never blocks; one signal a call, NONE when no more wait. */
enum process_signal process_signal_read(int fd);

/* GET /healthz on the admin address ("ip:port"), within 2 s; prints the answer. Returns the exit
 * status for --health. */
int process_health(const char *admin_address);

/* `earshot-service: text` on stderr, returns 1: for `return process_fail(...)` in main. */
int process_fail(const char *service, const struct fault *fault);

#endif
