/* flood_bench.c - what strangers in great numbers cost the calls that go through a relay */
#include "tests/bench/load_junk.h"
#include "tests/bench/own_network.h"
#include "tests/bench/relay_stand.h"
#include "tests/bench/samples.h"

#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_DEFAULT 11
#define ROUNDS_MAX     99
#define BURST_NS       UINT64_C(350000000)
#define CLIENTS        200
#define CALLS_HZ       10000 /* round trips: 200 calls, both ways */
#define PUBLISHED_MS   300   /* until a worker's counters are in its metrics */
#define METRICS_CAP    65536

enum stand { TRAINS, SINGLY, STANDS };

static const struct relay_stand_config stand_config[STANDS] = {
    [TRAINS] = {.kind = RELAY_STAND_RELAY, .clients = CLIENTS},
    [SINGLY] = {.kind = RELAY_STAND_RELAY, .clients = CLIENTS, .has_no_trains = true},
};

/* Each beside a burst without junk, one right after the other. */
enum flood { JUNK_50K, JUNK_2X, SINGLY_2X, FLOODS };

static const struct {
    const char *name;
    enum stand stand;
    uint32_t rate_hz; /* 0: as many as the stand's capacity times so much */
    unsigned capacity;
} flood[FLOODS] = {
    [JUNK_50K] = {"50k", TRAINS, 50000, 0},
    [JUNK_2X] = {"2x", TRAINS, 0, 2},
    [SINGLY_2X] = {"singly_2x", SINGLY, 0, 2},
};

struct values {
    double loss[ROUNDS_MAX];       /* percent of the calls' datagrams */
    double added_loss[ROUNDS_MAX]; /* above the burst without junk */
    double added_p99[ROUNDS_MAX];  /* of a round trip, ms */
    double junk_hz[ROUNDS_MAX];
    double junk_ratio[ROUNDS_MAX]; /* to what the stand can forward */
    double dropped[ROUNDS_MAX];    /* by the kernel, of all that came, percent */
};

static struct relay_stand stand[STANDS];
static struct relay_load *load;
static struct load_junk *junk;
static struct values seen[FLOODS];
static double capacity_hz[STANDS][ROUNDS_MAX];
static char metrics[METRICS_CAP];

/* --- rounds ----------------------------------------------------------------------------------- */

/* What came to the relay's public socket since its start. */
struct arrivals {
    double dropped; /* by the kernel, which had no room */
    double judged;  /* by the relay, one way or the other */
};

static struct arrivals count_arrivals(const struct relay_stand *s)
{
    (void)kill(s->pid, SIGCONT);
    (void)poll(NULL, 0, PUBLISHED_MS);
    const bool is_answered = relay_process_metrics(&s->relay, metrics, sizeof(metrics));
    assert(is_answered);
    (void)kill(s->pid, SIGSTOP);
    return (struct arrivals){.dropped = (double)relay_process_sum(
                                 metrics, "earshot_socket_dropped_messages_total{direction=\"up\""),
                             .judged = (double)relay_process_sum(
                                 metrics, "earshot_relay_datagrams_total{direction=\"up\"")};
}

/* Forwarded datagrams of a relay that does nothing else. */
static double measure_capacity(struct relay_stand *s)
{
    static struct relay_burst result;
    const struct load_burst burst = {.way = LOAD_BOTH_WAYS, .duration_ns = BURST_NS};
    relay_stand_burst(s, load, &burst, &result);
    return 1e9 / result.ns;
}

static double loss_of(const struct relay_burst *b)
{
    const struct load_figures *f = &b->figures;
    return 100.0 * (1.0 - (double)f->down_received / (double)f->up_sent);
}

static const struct relay_burst *burst(struct relay_stand *s, uint32_t junk_hz)
{
    static struct relay_burst result[2]; /* of a pair */
    static unsigned turn;
    struct relay_burst *out = &result[turn++ % COUNT_OF(result)];
    const struct load_burst b = {.way = LOAD_BOTH_WAYS,
                                 .duration_ns = BURST_NS,
                                 .rate_hz = CALLS_HZ,
                                 .junk = junk_hz > 0 ? junk : NULL};
    if (junk_hz > 0) {
        load_junk_begin(junk, &s->target.listen, junk_hz);
    }
    relay_stand_burst(s, load, &b, out);
    assert(out->figures.wrong == 0);
    return out;
}

static void run_pair(enum flood which, size_t round)
{
    struct values *v = &seen[which];
    struct relay_stand *s = &stand[flood[which].stand];
    const double capacity = capacity_hz[flood[which].stand][round];
    const uint32_t junk_hz = flood[which].rate_hz > 0
                                 ? flood[which].rate_hz
                                 : (uint32_t)(flood[which].capacity * capacity);
    const struct arrivals before = count_arrivals(s);
    const bool is_first = round % 2 == 0;
    const struct relay_burst *one = burst(s, is_first ? junk_hz : 0);
    const struct relay_burst *other = burst(s, is_first ? 0 : junk_hz);
    const struct relay_burst *flooded = is_first ? one : other;
    const struct relay_burst *control = is_first ? other : one;
    const double sent = (double)load_junk_sent(junk);
    v->loss[round] = loss_of(flooded);
    v->added_loss[round] = loss_of(flooded) - loss_of(control);
    v->added_p99[round] = (load_latency_us(&flooded->figures.latency, 99) -
                           load_latency_us(&control->figures.latency, 99)) /
                          1000;
    v->junk_hz[round] = sent * 1e9 / (double)BURST_NS;
    v->junk_ratio[round] = v->junk_hz[round] / capacity;
    const struct arrivals after = count_arrivals(s);
    v->dropped[round] = 100 * (after.dropped - before.dropped) / sent;
    assert(after.judged - before.judged + after.dropped - before.dropped > sent);
}

static void run_round(size_t round)
{
    for (size_t i = 0; i < STANDS; i++) {
        capacity_hz[i][round] = measure_capacity(&stand[i]);
    }
    for (size_t k = 0; k < FLOODS; k++) {
        run_pair((enum flood)((round + k) % FLOODS), round);
    }
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print(const char *flood_name, const char *figure, const char *unit, double *value,
                  size_t rounds, double goal)
{
    const double median = samples_percentile(value, rounds, 50);
    printf("{\"bench\":\"flood\",\"figure\":\"%s%s\",\"unit\":\"%s\",\"median\":%.3f,"
           "\"min\":%.3f,\"max\":%.3f,\"repeats\":%zu",
           flood_name, figure, unit, median, value[0], value[rounds - 1], rounds);
    if (goal > 0) {
        printf(",\"goal\":%.3f", goal);
    }
    puts("}");
}

static void print_all(size_t rounds)
{
    print("trains", "_capacity", "per_s", capacity_hz[TRAINS], rounds, 0);
    print("singly", "_capacity", "per_s", capacity_hz[SINGLY], rounds, 0);
    for (size_t i = 0; i < FLOODS; i++) {
        struct values *v = &seen[i];
        print(flood[i].name, "_junk", "per_s", v->junk_hz, rounds, 0);
        print(flood[i].name, "_junk_of_capacity", "ratio", v->junk_ratio, rounds, 0);
        print(flood[i].name, "_loss", "percent", v->loss, rounds, 0);
        print(flood[i].name, "_added_loss", "percent", v->added_loss, rounds, 0.1);
        print(flood[i].name, "_added_p99", "ms", v->added_p99, rounds, 2);
        print(flood[i].name, "_kernel_dropped", "percent", v->dropped, rounds, 0);
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

static bool start(const char *folder, struct fault *fault)
{
    struct net_addr media;
    const bool is_address = net_addr_parse(RELAY_STAND_MEDIA, &media);
    assert(is_address);
    load =
        relay_load_open(&media, key_ring_from_secret(RELAY_PROCESS_KEY_ID, relay_process_secret));
    junk = load_junk_open(RELAY_PROCESS_KEY_ID);
    for (unsigned i = 0; i < STANDS; i++) {
        if (!relay_stand_start(&stand[i], &stand_config[i], folder, i, fault)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    size_t rounds = 0;
    char folder[] = "/tmp/earshot-flood-bench-XXXXXX";
    cpu_set_t cpus;
    if (!read_options(argc, argv, &rounds)) {
        fprintf(stderr, "usage: flood_bench [--repeats 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) < 2) {
        fputs("flood_bench: needs two CPUs, one for the relay and one for the load\n", stderr);
        return 1;
    }
    if (!own_network_enter(&fault) || mkdtemp(folder) == NULL) {
        fprintf(stderr, "flood_bench: %s\n", fault.text);
        return 1;
    }
    const bool is_started = start(folder, &fault);
    if (is_started) {
        run_round(0); /* warm */
        for (size_t round = 0; round < rounds; round++) {
            run_round(round);
        }
        print_all(rounds);
    } else {
        fprintf(stderr, "flood_bench: %s\n", fault.text);
    }
    for (unsigned i = 0; i < STANDS; i++) {
        relay_stand_stop(&stand[i]);
    }
    relay_load_close(load);
    load_junk_close(junk);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return is_started ? 0 : 1;
}
