/* process.c - see process.h */
#include "common/runtime/process.h"

#include "common/base/net_addr.h"
#include "common/runtime/log.h"

#include <errno.h>
#include <getopt.h>
#include <openssl/crypto.h> /* for its version alone */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- options ---- */

static void print_help(const char *service, const char *purpose, enum process_reload reload)
{
    static const char *const sighup[] = {
        [PROCESS_RELOADS_NOTHING] = "does nothing",
        [PROCESS_RELOADS_KEYS] = "reads the keys again, and nothing else",
    };
    (void)printf("usage: earshot-%s [--config FILE] [--check-config | --health]\n"
                 "%s\n"
                 "\n"
                 "  --config FILE    the configuration (default /etc/earshot/%s.yaml)\n"
                 "  --check-config   read the configuration, say what is wrong with it, and end\n"
                 "  --health         ask the running process on its admin port whether it is well\n"
                 "  --version        print the version and end\n"
                 "  --help           print this and end\n"
                 "\n"
                 "signals: SIGTERM drains, a second one ends at once;\n"
                 "         SIGUSR2 likewise, but the relay ends at once: a successor takes over;\n"
                 "         SIGHUP %s.\n"
                 "exit:    0 good, %d a fault (one line on stderr), %d wrong usage.\n",
                 service, purpose, service, sighup[reload], PROCESS_EXIT_FAULT, PROCESS_EXIT_USAGE);
}

static struct process_options exit_with(int status)
{
    return (struct process_options){.action = PROCESS_EXIT, .exit_status = status};
}

/* getopt has named the option that is wrong, or `what` does. */
static struct process_options wrong_usage(const char *service, const char *what)
{
    if (what != NULL) {
        (void)fprintf(stderr, "earshot-%s: %s\n", service, what);
    }
    (void)fprintf(stderr, "try: earshot-%s --help\n", service);
    return exit_with(PROCESS_EXIT_USAGE);
}

struct process_options process_parse_options(int argc, char **argv, const char *service,
                                             const char *purpose, enum process_reload reload)
{
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'}, {"check-config", no_argument, NULL, 'k'},
        {"health", no_argument, NULL, 'p'},       {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    struct process_options options = {.action = PROCESS_RUN};
    const char *path = NULL;
    int option = 0;
    optind = 0; /* glibc: start anew, also in a test's second call */
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            path = optarg;
            break;
        case 'k':
        case 'p':
            if (options.action != PROCESS_RUN) {
                return wrong_usage(service, "--check-config and --health: one of them, once");
            }
            options.action = option == 'k' ? PROCESS_CHECK_CONFIG : PROCESS_HEALTH;
            break;
        case 'v':
            (void)printf("earshot-%s %s\n", service, EARSHOT_VERSION);
            return exit_with(EXIT_SUCCESS);
        case 'h':
            print_help(service, purpose, reload);
            return exit_with(EXIT_SUCCESS);
        default:
            return wrong_usage(service, NULL);
        }
    }
    if (optind < argc) {
        return wrong_usage(service, "takes options only");
    }
    const int path_len =
        path != NULL ? snprintf(options.config_path, sizeof(options.config_path), "%s", path)
                     : snprintf(options.config_path, sizeof(options.config_path),
                                "/etc/earshot/%s.yaml", service);
    if (path_len < 1 || (size_t)path_len >= sizeof(options.config_path)) {
        return wrong_usage(service, "--config: not a path of 1..255 characters");
    }
    return options;
}

/* ---- hardening ---- */

/* Older 3.0 releases have known faults in the certificate and DTLS code that strangers reach. */
#define OPENSSL_VERSION_MIN 0x30000160L /* 3.0.22 */

static void check_library_versions(void)
{
    if (OpenSSL_version_num() < OPENSSL_VERSION_MIN) {
        log_warn("library.old name=openssl version=%s wanted=3.0.22",
                 OpenSSL_version(OPENSSL_VERSION_STRING));
    }
}

static bool raise_descriptor_limit(struct fault *fault)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0) {
            return true;
        }
    }
    return fault_set(fault, FAULT_SYSTEM, "raise the descriptor limit: %s", strerror(errno));
}

static bool forbid_core_dumps(struct fault *fault)
{
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "forbid core dumps: %s", strerror(errno));
    }
    return true;
}

bool process_harden(bool allow_core_dumps, struct fault *fault)
{
    (void)umask(077);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "give up new privileges: %s", strerror(errno));
    }
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
        return fault_set(fault, FAULT_SYSTEM, "ignore SIGPIPE: %s", strerror(errno));
    }
    check_library_versions();
    return raise_descriptor_limit(fault) && (allow_core_dumps || forbid_core_dumps(fault));
}

/* ---- signals ---- */

static int block_signals(sigset_t *signals)
{
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGUSR2);
    (void)sigaddset(signals, SIGHUP);
    return pthread_sigmask(SIG_BLOCK, signals, NULL);
}

void process_block_signals(void)
{
    sigset_t signals;
    (void)block_signals(&signals);
}

int process_signal_fd(struct fault *fault)
{
    sigset_t signals;
    const int error = block_signals(&signals);
    const int fd = error == 0 ? signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC) : -1;
    if (fd < 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "signalfd: %s", strerror(error ? error : errno));
    }
    return fd;
}

enum process_signal process_signal_read(int fd)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return PROCESS_SIGNAL_NONE;
    }
    switch (info.ssi_signo) {
    case SIGHUP:
        return PROCESS_SIGNAL_RELOAD;
    case SIGUSR2:
        return PROCESS_SIGNAL_HAND_OVER;
    default:
        return PROCESS_SIGNAL_STOP;
    }
}

/* ---- health ---- */

/* Room for the list of ADMIN_LOOPS_MAX loops; more is cut. */
#define HEALTH_ANSWER_CAP 8192

/* The admin port closes each connection after its answer. */
static bool ask_admin_port(int fd, const struct net_addr *admin, char *answer, size_t answer_cap)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const struct timeval patience = {.tv_sec = 2};
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(admin, &to);
    /* The send time-out also bounds connect. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
        connect(fd, (const struct sockaddr *)&to, to_len) != 0 ||
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(request) - 1) {
        return false;
    }
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < answer_cap - 1) {
        got = recv(fd, answer + len, answer_cap - 1 - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    answer[len] = '\0';
    return got >= 0;
}

/* A process that listens on every address is asked on loopback. */
static bool parse_admin_address(const char *text, struct net_addr *out)
{
    if (!net_addr_parse(text, out)) {
        return false;
    }
    const char *loopback = net_addr_is_ipv4(out) ? "127.0.0.1" : "::1";
    return !net_addr_is_unspecified(out) || net_addr_parse_ip(loopback, out->port, out);
}

int process_health(const char *admin_address)
{
    struct net_addr admin;
    if (!parse_admin_address(admin_address, &admin)) {
        (void)fprintf(stderr, "health: %s is not ip:port\n", admin_address);
        return PROCESS_EXIT_FAULT;
    }
    const int family = net_addr_is_ipv4(&admin) ? AF_INET : AF_INET6;
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char answer[HEALTH_ANSWER_CAP];
    const bool has_answer = fd >= 0 && ask_admin_port(fd, &admin, answer, sizeof(answer));
    const int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!has_answer) {
        const bool is_late = error == EAGAIN || error == EINPROGRESS;
        (void)fprintf(stderr, "health: ask %s: %s\n", admin_address,
                      is_late ? "no answer within 2 s" : strerror(error));
        return PROCESS_EXIT_FAULT;
    }
    const char *body = strstr(answer, "\r\n\r\n");
    (void)fputs(body == NULL ? answer : body + 4, stdout);
    return strncmp(answer, "HTTP/1.1 200 ", 13) == 0 ? EXIT_SUCCESS : PROCESS_EXIT_FAULT;
}

int process_fail(const char *service, const struct fault *fault)
{
    (void)fprintf(stderr, "earshot-%s: %s\n", service, fault->text);
    return PROCESS_EXIT_FAULT;
}
