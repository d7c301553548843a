/* relay_stand.c - see relay_stand.h */
#include "tests/bench/relay_stand.h"

#include "tests/bench/copy_loop.h"
#include "tests/bench/load_clock.h"
#include "tests/bench/pinned.h"
#include "tests/bench/process_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define RELAY_CPU  0
#define LOAD_CPU   1
#define RELAY_FIFO 40
#define LOAD_FIFO  50

#define FIRST_PORT      20000
#define PORTS_OF_STAND  400
#define INTERNAL_OFFSET 200
#define FIRST_ADMIN     7800

/* A confirmed flow lives for 60 s without a downlink. */
#define CONNECTED_NS (UINT64_C(25) * 1000000000)
/* What a process does about having been stopped is no part of a burst; and who runs before all
 * others must rest for a twentieth of each second, or the kernel sees to it. */
#define REST_MS          40
#define SETTLE_MS        50
#define SETTLED_NS       1000000 /* of CPU in that time */
#define SETTLE_STEPS_MAX 100
/* What the buffer of a socket holds. */
#define BACKLOG 4096

static struct net_addr loopback(unsigned port)
{
    return (struct net_addr){.ip = {[10] = 0xff, 0xff, 127, 0, 0, 1}, .port = (uint16_t)port};
}

static int fifo_of(const struct relay_stand_config *config)
{
    return config->is_polling ? 0 : RELAY_FIFO;
}

/* It makes its tables ready, which it can not be stopped at. */
static void settle(pid_t pid)
{
    uint64_t before_ns = 0;
    uint64_t now_ns = process_cpu_ns(pid);
    for (int i = 0; i < SETTLE_STEPS_MAX && now_ns - before_ns > SETTLED_NS; i++) {
        before_ns = now_ns;
        (void)poll(NULL, 0, SETTLE_MS);
        now_ns = process_cpu_ns(pid);
    }
}

/* Not from its start: a thread that never sleeps would keep the others of its priority from theirs.
 * The first thread is the one that stops the process when it is told to. */
static void put_first(pid_t pid)
{
    const struct sched_param fifo = {.sched_priority = RELAY_FIFO};
    const struct sched_param above = {.sched_priority = RELAY_FIFO + 1};
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    (void)kill(pid, SIGSTOP);
    for (const struct dirent *entry = NULL;
         threads != NULL && (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] != '.') {
            const pid_t thread = (pid_t)atoi(entry->d_name);
            (void)sched_setscheduler(thread, SCHED_FIFO, thread == pid ? &above : &fifo);
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
}

static bool start_relay(struct relay_stand *s, const char *folder, unsigned number,
                        struct fault *fault)
{
    struct relay_process_config *c = &s->relay;
    *c = (struct relay_process_config){.media = RELAY_STAND_MEDIA,
                                       .admin_port = (uint16_t)(FIRST_ADMIN + 2 * number),
                                       .flows = s->config.clients,
                                       .cpu = RELAY_CPU,
                                       .fifo_priority = fifo_of(&s->config),
                                       .has_no_trains = s->config.has_no_trains,
                                       .is_polling = s->config.is_polling,
                                       .gather_us = s->config.gather_us};
    const int len = snprintf(c->folder, sizeof(c->folder), "%s/%u", folder, number);
    if (len < 0 || (size_t)len >= sizeof(c->folder) || mkdir(c->folder, 0700) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "mkdir in %s: %s", folder, strerror(errno));
    }
    (void)net_addr_format(&s->target.listen, c->listen, sizeof(c->listen));
    (void)net_addr_format(&s->target.internal, c->internal, sizeof(c->internal));
    s->pid = relay_process_start(c, fault);
    if (s->pid <= 0 || !relay_process_announce(c, s->pid, fault)) {
        return false;
    }
    if (s->config.is_polling) {
        put_first(s->pid);
    } else {
        settle(s->pid);
    }
    return true;
}

static bool start_copy_loop(struct relay_stand *s, struct fault *fault)
{
    const struct copy_loop_config config = {.listen = s->target.listen,
                                            .internal = s->target.internal,
                                            .media = loopback(6000),
                                            .client = load_client_address(0),
                                            .cpu = RELAY_CPU,
                                            .fifo_priority = fifo_of(&s->config)};
    s->pid = copy_loop_start(&config);
    return s->pid > 0 || fault_set(fault, FAULT_SYSTEM, "fork: %s", strerror(errno));
}

bool relay_stand_start(struct relay_stand *s, const struct relay_stand_config *config,
                       const char *folder, unsigned number, struct fault *fault)
{
    const unsigned port = FIRST_PORT + PORTS_OF_STAND * number;
    *s = (struct relay_stand){.config = *config,
                              .target = {.listen = loopback(port),
                                         .internal = loopback(port + INTERNAL_OFFSET),
                                         .clients = config->clients,
                                         .manner = config->kind != RELAY_STAND_RELAY
                                                       ? LOAD_WITHOUT_SHIMS
                                                   : config->has_no_trains ? LOAD_SINGLY
                                                                           : LOAD_IN_TRAINS}};
    bool is_started = true;
    if (config->kind == RELAY_STAND_RELAY) {
        is_started = start_relay(s, folder, number, fault);
    } else if (config->kind == RELAY_STAND_COPY_LOOP) {
        is_started = start_copy_loop(s, fault);
    } else {
        s->target.listen = loopback(6000);
    }
    if (is_started) {
        relay_stand_hold(s, true);
    }
    return is_started;
}

void relay_stand_hold(const struct relay_stand *s, bool is_held)
{
    if (s->pid > 0) {
        (void)kill(s->pid, is_held ? SIGSTOP : SIGCONT);
    }
}

void relay_stand_stop(struct relay_stand *s)
{
    if (s->pid > 0 && s->config.kind == RELAY_STAND_RELAY) {
        relay_process_stop(s->pid);
    } else {
        copy_loop_stop(s->pid);
    }
    s->pid = 0;
}

void relay_stand_prepare(struct relay_stand *s, struct relay_load *load)
{
    relay_stand_hold(s, false);
    (void)poll(NULL, 0, REST_MS);
    relay_load_aim(load, &s->target);
    if (s->config.kind == RELAY_STAND_RELAY &&
        (s->connected_ns == 0 || load_clock_ns() - s->connected_ns > CONNECTED_NS)) {
        const bool is_connected = relay_load_connect(load);
        assert(is_connected);
        s->connected_ns = load_clock_ns();
    }
}

static void run(const struct relay_stand *s, struct relay_load *load,
                const struct load_burst *burst, struct load_figures *out)
{
    memset(out, 0, sizeof(*out));
    if (burst->way != LOAD_UP) {
        relay_load_run(load, burst, out);
        return;
    }
    const uint64_t start_ns = load_clock_ns();
    while (load_clock_ns() - start_ns < burst->duration_ns) {
        relay_stand_hold(s, true);
        relay_load_send(load, BACKLOG, out);
        const uint64_t sent_ns = load_clock_ns();
        relay_stand_hold(s, false);
        relay_load_await(load, burst, out);
        out->taken_ns += load_clock_ns() - sent_ns;
    }
}

void relay_stand_burst(struct relay_stand *s, struct relay_load *load,
                       const struct load_burst *burst, struct relay_burst *out)
{
    pinned_enter(LOAD_CPU, 0);
    relay_stand_prepare(s, load);
    const uint64_t before_ns = s->pid > 0 ? process_cpu_ns(s->pid) : 0;
    pinned_enter(LOAD_CPU, LOAD_FIFO);
    run(s, load, burst, &out->figures);
    pinned_enter(LOAD_CPU, 0);
    const uint64_t used_ns = s->pid > 0 ? process_cpu_ns(s->pid) - before_ns : 0;
    relay_stand_hold(s, true);
    const struct load_figures *f = &out->figures;
    const uint64_t packets = f->up_received + f->down_received;
    assert(packets > 0);
    out->ns = (double)used_ns / (double)packets;
    out->busy = (double)used_ns / (double)f->taken_ns;
}
