/* relay_bench.c - CPU of a forwarded packet and its latency: the relay's process, a copy loop */
#include "tests/bench/own_network.h"
#include "tests/bench/relay_stand.h"
#include "tests/bench/samples.h"

#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS_DEFAULT 7
#define ROUNDS_MAX     99
#define BURST_NS       UINT64_C(350000000)
#define LATENCY_HZ     20000
#define GATHER_US      100
#define FEW_CLIENTS    1000

enum stand {
    NOTHING,
    COPY_LOOP,
    TRAINS,
    SINGLY,
    CLIENTS_10K,
    CLIENTS_100K,
    CLIENTS_1M,
    POLLING,
    GATHERING,
    STANDS
};

static const struct relay_stand_config stand_config[STANDS] = {
    [NOTHING] = {.kind = RELAY_STAND_NOTHING, .clients = FEW_CLIENTS},
    [COPY_LOOP] = {.kind = RELAY_STAND_COPY_LOOP, .clients = FEW_CLIENTS},
    [TRAINS] = {.kind = RELAY_STAND_RELAY, .clients = FEW_CLIENTS},
    [SINGLY] = {.kind = RELAY_STAND_RELAY, .clients = FEW_CLIENTS, .has_no_trains = true},
    [CLIENTS_10K] = {.kind = RELAY_STAND_RELAY, .clients = 10000},
    [CLIENTS_100K] = {.kind = RELAY_STAND_RELAY, .clients = 100000},
    [CLIENTS_1M] = {.kind = RELAY_STAND_RELAY, .clients = 1000000},
    [POLLING] = {.kind = RELAY_STAND_RELAY, .clients = FEW_CLIENTS, .is_polling = true},
    [GATHERING] = {.kind = RELAY_STAND_RELAY, .clients = FEW_CLIENTS, .gather_us = GATHER_US},
};

/* Saturation: a stand and what it is measured against, one right after the other. */
static const struct {
    const char *figure;
    enum stand stand;
    enum stand baseline;
    const char *baseline_name;
    enum load_way way;
    double goal; /* of the ratio; 0: none */
} saturation[] = {
    {"trains", TRAINS, COPY_LOOP, "copy_loop", LOAD_BOTH_WAYS, 0.65},
    {"singly", SINGLY, COPY_LOOP, "copy_loop", LOAD_BOTH_WAYS, 1.10},
    {"trains_up", TRAINS, COPY_LOOP, "copy_loop_up", LOAD_UP, 0},
    {"singly_up", SINGLY, COPY_LOOP, "copy_loop_up", LOAD_UP, 0},
    {"trains_down", TRAINS, COPY_LOOP, "copy_loop_down", LOAD_DOWN, 0},
    {"singly_down", SINGLY, COPY_LOOP, "copy_loop_down", LOAD_DOWN, 0},
    {"clients_10k", CLIENTS_10K, TRAINS, "clients_1k", LOAD_BOTH_WAYS, 0},
    {"clients_100k", CLIENTS_100K, TRAINS, "clients_1k", LOAD_BOTH_WAYS, 0},
    {"clients_1m", CLIENTS_1M, TRAINS, "clients_1k", LOAD_BOTH_WAYS, 1.15},
};

/* 20,000 round trips a second, two passes each; what nothing in between takes is subtracted. */
static const struct {
    const char *figure;
    enum stand stand;
    double goal; /* of added_p50 in us; 0: none */
} latency[] = {
    {"nothing", NOTHING, 0}, {"copy_loop", COPY_LOOP, 0},   {"trains", TRAINS, 0},
    {"singly", SINGLY, 0},   {"gathering", GATHERING, 150}, {"polling", POLLING, 15},
};

struct saturation_values {
    double ns[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    double busy[ROUNDS_MAX];
    uint64_t lost;
};

struct latency_values {
    double p50_us[ROUNDS_MAX];
    double added_us[ROUNDS_MAX];
    double p99_us[ROUNDS_MAX];
    double ns[ROUNDS_MAX];
    double busy[ROUNDS_MAX];
    uint64_t lost;
};

static struct relay_stand stand[STANDS];
static struct relay_load *load;
static struct saturation_values saturated[COUNT_OF(saturation)];
static struct latency_values waited[COUNT_OF(latency)];
static uint64_t wrong;

/* --- rounds ----------------------------------------------------------------------------------- */

static uint64_t lost_of(const struct load_figures *f, enum load_way way)
{
    const uint64_t sent = way == LOAD_DOWN ? f->down_sent : f->up_sent;
    const uint64_t there = way == LOAD_UP ? f->up_received : f->down_received;
    return sent - there;
}

static const struct relay_burst *burst(enum stand which, enum load_way way, uint32_t rate_hz)
{
    static struct relay_burst result[2]; /* of a pair */
    static unsigned turn;
    struct relay_burst *out = &result[turn++ % COUNT_OF(result)];
    const struct load_burst b = {.way = way, .duration_ns = BURST_NS, .rate_hz = rate_hz};
    relay_stand_burst(&stand[which], load, &b, out);
    wrong += out->figures.wrong;
    return out;
}

static void saturate(size_t i, size_t round)
{
    const bool is_first = round % 2 == 0;
    const enum load_way way = saturation[i].way;
    const struct relay_burst *one =
        burst(is_first ? saturation[i].stand : saturation[i].baseline, way, 0);
    const struct relay_burst *other =
        burst(is_first ? saturation[i].baseline : saturation[i].stand, way, 0);
    const struct relay_burst *self = is_first ? one : other;
    const struct relay_burst *baseline = is_first ? other : one;
    saturated[i].ns[round] = self->ns;
    saturated[i].ratio[round] = self->ns / baseline->ns;
    saturated[i].busy[round] = self->busy;
    saturated[i].lost += lost_of(&self->figures, way);
}

static void wait_for_all(size_t round)
{
    for (size_t k = 0; k < COUNT_OF(latency); k++) {
        const size_t i = (round + k) % COUNT_OF(latency);
        const struct relay_burst *b = burst(latency[i].stand, LOAD_BOTH_WAYS, LATENCY_HZ);
        waited[i].p50_us[round] = load_latency_us(&b->figures.latency, 50);
        waited[i].p99_us[round] = load_latency_us(&b->figures.latency, 99);
        waited[i].ns[round] = b->ns;
        waited[i].busy[round] = b->busy;
        waited[i].lost += lost_of(&b->figures, LOAD_BOTH_WAYS);
    }
    for (size_t i = 0; i < COUNT_OF(latency); i++) {
        waited[i].added_us[round] = waited[i].p50_us[round] - waited[0].p50_us[round];
    }
}

static void run_round(size_t round)
{
    for (size_t k = 0; k < COUNT_OF(saturation); k++) {
        saturate((round + k) % COUNT_OF(saturation), round);
    }
    wait_for_all(round);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print_spread(const char *figure, const char *unit, double *value, size_t rounds)
{
    const double median = samples_percentile(value, rounds, 50);
    printf("{\"bench\":\"relay\",\"figure\":\"%s\",\"unit\":\"%s\",\"median\":%.3f,\"min\":%.3f,"
           "\"max\":%.3f,\"repeats\":%zu",
           figure, unit, median, value[0], value[rounds - 1], rounds);
}

static void end_line(double goal)
{
    if (goal > 0) {
        printf(",\"goal\":%.3f", goal);
    }
    puts("}");
}

static void print_saturation(size_t i, size_t rounds)
{
    struct saturation_values *v = &saturated[i];
    const double busy = samples_percentile(v->busy, rounds, 50);
    print_spread(saturation[i].figure, "ns", v->ns, rounds);
    printf(",\"busy\":%.2f,\"kpps\":%.0f,\"lost\":%zu", busy,
           1e6 / samples_percentile(v->ns, rounds, 50), (size_t)v->lost);
    end_line(0);
    print_spread(saturation[i].figure, "ratio", v->ratio, rounds);
    printf(",\"baseline\":\"%s\"", saturation[i].baseline_name);
    end_line(saturation[i].goal);
}

static void print_latency(size_t i, size_t rounds)
{
    struct latency_values *v = &waited[i];
    char name[64];
    const struct {
        const char *name;
        const char *unit;
        double *value;
        double goal;
    } line[] = {{"p50", "us", v->p50_us, 0},
                {"added_p50", "us", v->added_us, latency[i].goal},
                {"p99", "us", v->p99_us, 0},
                {"20khz", "ns", v->ns, 0}};
    for (size_t k = 0; k < COUNT_OF(line); k++) {
        (void)snprintf(name, sizeof(name), "%s_%s", latency[i].figure, line[k].name);
        print_spread(name, line[k].unit, line[k].value, rounds);
        printf(",\"busy\":%.2f,\"lost\":%zu", samples_percentile(v->busy, rounds, 50),
               (size_t)v->lost);
        end_line(line[k].goal);
    }
}

/* --- a run ------------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static bool start_all(const char *folder, struct fault *fault)
{
    struct net_addr media;
    const bool is_address = net_addr_parse(RELAY_STAND_MEDIA, &media);
    assert(is_address);
    load =
        relay_load_open(&media, key_ring_from_secret(RELAY_PROCESS_KEY_ID, relay_process_secret));
    for (unsigned i = 0; i < STANDS; i++) {
        if (!relay_stand_start(&stand[i], &stand_config[i], folder, i, fault)) {
            return false;
        }
    }
    return true;
}

static void stop_all(void)
{
    for (unsigned i = 0; i < STANDS; i++) {
        relay_stand_stop(&stand[i]);
    }
    relay_load_close(load);
}

static bool read_options(int argc, char **argv, size_t *rounds)
{
    char *end = NULL;
    *rounds = ROUNDS_DEFAULT;
    if (argc == 1) {
        return true;
    }
    if (argc == 3 && strcmp(argv[1], "--repeats") == 0) {
        *rounds = strtoul(argv[2], &end, 10);
    }
    return end != NULL && *end == '\0' && *rounds >= 1 && *rounds <= ROUNDS_MAX;
}

static void measure(size_t rounds)
{
    run_round(0); /* warm */
    memset(saturated, 0, sizeof(saturated));
    memset(waited, 0, sizeof(waited));
    for (size_t round = 0; round < rounds; round++) {
        run_round(round);
    }
    for (size_t i = 0; i < COUNT_OF(saturation); i++) {
        print_saturation(i, rounds);
    }
    for (size_t i = 0; i < COUNT_OF(latency); i++) {
        print_latency(i, rounds);
    }
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    size_t rounds = 0;
    char folder[] = "/tmp/earshot-relay-bench-XXXXXX";
    cpu_set_t cpus;
    if (!read_options(argc, argv, &rounds)) {
        fprintf(stderr, "usage: relay_bench [--repeats 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) < 2) {
        fputs("relay_bench: needs two CPUs, one for the relay and one for the load\n", stderr);
        return 1;
    }
    if (!own_network_enter(&fault) || mkdtemp(folder) == NULL) {
        fprintf(stderr, "relay_bench: %s\n", fault.text);
        return 1;
    }
    const bool is_started = start_all(folder, &fault);
    if (is_started) {
        measure(rounds);
    } else {
        fprintf(stderr, "relay_bench: %s\n", fault.text);
    }
    stop_all();
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (wrong > 0) {
        fprintf(stderr, "relay_bench: %zu packets were not what they said they were\n",
                (size_t)wrong);
    }
    return is_started && wrong == 0 ? 0 : 1;
}
