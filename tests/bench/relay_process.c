/* relay_process.c - see relay_process.h */
#include "tests/bench/relay_process.h"

#include "common/control/control_message.h"
#include "common/runtime/clock.h"
#include "common/runtime/message_port.h"
#include "tests/bench/pinned.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM           "earshot-relay"
#define PATIENCE_US       (10 * US_PER_S)
#define STOP_PATIENCE_US  (2 * US_PER_S)
#define PAUSE_MS          5
#define METRICS_CAP       65536
#define LEAST_FLOWS       65536
#define SECRET_HEX_CAP    (2 * KEY_RING_SECRET_BYTES + 1)
#define NAME_CAP          (RELAY_PROCESS_PATH_CAP + 32)
#define CONTROL_PORT_STEP 1

const uint8_t relay_process_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};

/* --- files ------------------------------------------------------------------------------------ */

static bool write_file(const char *folder, const char *name, const char *text, struct fault *fault)
{
    char path[NAME_CAP];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const size_t len = strlen(text);
    const bool is_written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written || fault_set(fault, FAULT_SYSTEM, "write %s: %s", path, strerror(errno));
}

static bool write_keys(const char *folder, struct fault *fault)
{
    char keys[NAME_CAP];
    char name[16];
    char text[SECRET_HEX_CAP];
    (void)snprintf(keys, sizeof(keys), "%s/keys", folder);
    if (mkdir(keys, 0700) != 0 && errno != EEXIST) {
        return fault_set(fault, FAULT_SYSTEM, "mkdir %s: %s", keys, strerror(errno));
    }
    const bool is_hex = bytes_to_hex(
        bytes_view_of(relay_process_secret, sizeof(relay_process_secret)), text, sizeof(text));
    assert(is_hex);
    (void)snprintf(name, sizeof(name), "%02d.key", RELAY_PROCESS_KEY_ID);
    if (!write_file(keys, name, text, fault)) {
        return false;
    }
    (void)snprintf(text, sizeof(text), "%02d", RELAY_PROCESS_KEY_ID);
    return write_file(keys, "active", text, fault);
}

static bool write_config(const struct relay_process_config *c, struct fault *fault)
{
    char text[2048];
    const int len = snprintf(
        text, sizeof(text),
        "keys: %s/keys\n"
        "listen: [\"%s\"]\n"
        "internal: %s\n"
        "workers: 1\n"
        "socket_buffer: 16MB\n"
        "transceiver_networks: [127.0.0.0/8]\n"
        "allow_private_clients: true\n"
        "flows: %zu\n"
        "new_flows_per_source: {per_second: 1000000, burst: 1000000}\n"
        "trains: %s\n"
        "gather_us: %u\n"
        "busy_poll: %s\n"
        "control_listen: tcp://127.0.0.1:%u\n"
        "admin_listen: 127.0.0.1:%u\n"
        "log: {level: warn}\n",
        c->folder, c->listen, c->internal, c->flows > LEAST_FLOWS ? c->flows : LEAST_FLOWS,
        c->has_no_trains ? "false" : "true", c->gather_us, c->is_polling ? "true" : "false",
        c->admin_port + CONTROL_PORT_STEP, c->admin_port);
    assert(len > 0 && (size_t)len < sizeof(text));
    return write_file(c->folder, "relay.yaml", text, fault);
}

/* The program lies beside this one. */
static void find_program(char path[RELAY_PROCESS_PATH_CAP])
{
    const ssize_t len = readlink("/proc/self/exe", path, RELAY_PROCESS_PATH_CAP - 1);
    assert(len > 0);
    path[len] = '\0';
    char *name = strrchr(path, '/') + 1;
    const size_t used = (size_t)(name - path);
    assert(used + sizeof(PROGRAM) <= RELAY_PROCESS_PATH_CAP);
    memcpy(name, PROGRAM, sizeof(PROGRAM));
}

/* --- life ------------------------------------------------------------------------------------- */

/* In the child. There may be threads in the parent: nothing but system calls. */
static void run_child(const struct relay_process_config *c, const char *program, char **arguments,
                      int log_fd)
{
    (void)dup2(log_fd, STDOUT_FILENO);
    (void)dup2(log_fd, STDERR_FILENO);
    if (!c->may_outlive_us) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    pinned_enter(c->cpu, c->fifo_priority);
    (void)execv(program, arguments);
    _exit(127);
}

pid_t relay_process_start(const struct relay_process_config *c, struct fault *fault)
{
    char program[RELAY_PROCESS_PATH_CAP];
    char config[NAME_CAP];
    char log[NAME_CAP];
    if (!write_keys(c->folder, fault) || !write_config(c, fault)) {
        return -1;
    }
    find_program(program);
    (void)snprintf(config, sizeof(config), "%s/relay.yaml", c->folder);
    (void)snprintf(log, sizeof(log), "%s/relay.log", c->folder);
    char option[] = "--config";
    char *arguments[] = {program, option, config, NULL};
    const int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t pid = log_fd >= 0 ? fork() : -1;
    if (pid == 0) {
        run_child(c, program, arguments, log_fd);
    }
    if (log_fd >= 0) {
        (void)close(log_fd);
    }
    if (pid < 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "start %s: %s", program, strerror(errno));
    }
    return pid;
}

void relay_process_stop(pid_t pid)
{
    (void)kill(pid, SIGTERM);
    (void)kill(pid, SIGCONT);
    const uint64_t start_us = clock_now_us();
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        const bool is_late = time_since(start_us, clock_now_us()) > STOP_PATIENCE_US;
        /* The second signal ends the drain. */
        (void)kill(pid, is_late ? SIGKILL : SIGTERM);
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

static bool blame_log(const struct relay_process_config *c, struct fault *fault)
{
    char path[NAME_CAP];
    char line[FAULT_TEXT_CAP - 40] = "";
    char last[FAULT_TEXT_CAP - 40] = "(its log is empty)";
    (void)snprintf(path, sizeof(path), "%s/relay.log", c->folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        memcpy(last, line, sizeof(last));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    last[strcspn(last, "\n")] = '\0';
    return fault_set(fault, FAULT_SYSTEM, PROGRAM " does not serve: %s", last);
}

/* --- announcing ------------------------------------------------------------------------------- */

static bool knows_transceiver(const struct relay_process_config *c)
{
    static char text[METRICS_CAP];
    return relay_process_metrics(c, text, sizeof(text)) &&
           relay_process_sum(text, "earshot_relay_instances_known") == 1;
}

/* Whether it arrived is seen at the other end. */
static void announce(struct message_port *port, struct control_announcement *a)
{
    static uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
    const struct bytes_span room = {.data = message, .cap = sizeof(message)};
    a->sequence++;
    const size_t len = control_encode_announcement(a, room);
    assert(len > 0);
    const bool is_taken = message_port_send(port, bytes_view_of(message, len));
    (void)is_taken;
}

bool relay_process_announce(const struct relay_process_config *c, pid_t pid, struct fault *fault)
{
    char url[64];
    struct control_announcement a = {.cluster_id = RELAY_PROCESS_CLUSTER,
                                     .instance_id = RELAY_PROCESS_INSTANCE,
                                     .state = CONTROL_STATE_READY,
                                     .shard_count = 1,
                                     .start_time_unix_us = clock_unix_us()};
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", c->admin_port + CONTROL_PORT_STEP);
    const bool is_address = net_addr_parse(c->media, &a.media_address);
    assert(is_address);
    struct message_port *port = message_port_open(MESSAGE_PORT_PUB, fault);
    bool is_known = false;
    if (port != NULL && message_port_dial(port, url, fault)) {
        const uint64_t start_us = clock_now_us();
        while (!is_known && waitpid(pid, NULL, WNOHANG) == 0 &&
               time_since(start_us, clock_now_us()) < PATIENCE_US) {
            announce(port, &a);
            (void)poll(NULL, 0, PAUSE_MS);
            is_known = knows_transceiver(c);
        }
        if (!is_known) {
            (void)blame_log(c, fault);
        }
    }
    message_port_close(port);
    return is_known;
}

/* --- asking ----------------------------------------------------------------------------------- */

bool relay_process_metrics(const struct relay_process_config *c, char *text, size_t cap)
{
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
    const struct sockaddr_in admin = {.sin_family = AF_INET,
                                      .sin_port = htons(c->admin_port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 1};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = 0;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
        connect(fd, (const struct sockaddr *)&admin, sizeof(admin)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1) {
        ssize_t got = 0;
        while (len + 1 < cap && (got = recv(fd, text + len, cap - 1 - len, 0)) > 0) {
            len += (size_t)got;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    text[len] = '\0';
    return len > 0;
}

uint64_t relay_process_sum(const char *metrics, const char *prefix)
{
    uint64_t sum = 0;
    const size_t len = strlen(prefix);
    for (const char *line = metrics; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t line_len = strcspn(line, "\n");
        const char *value = memrchr(line, ' ', line_len);
        if (strncmp(line, prefix, len) == 0 && value != NULL) {
            sum += strtoull(value, NULL, 10);
        }
    }
    return sum;
}
