/* events_bench.c - 1,000 events of 1 KB a second on one call: CPU, latency; and a call's heap */
#include "common/runtime/clock.h"
#include "services/transceiver/core/transport/sctp/sctp_association.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/bench/cpu_clock.h"
#include "tests/bench/live_shard.h"
#include "tests/bench/shard_world.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ROUNDS_DEFAULT   7
#define ROUNDS_MAX       99
#define EVENTS_PER_S     1000
#define ROUND_US         US_PER_S
#define SMALL_WORLD      2 /* calls: what is not theirs cancels out */
#define LARGE_WORLD      10
#define SCTP_MESSAGES    20000
#define SCTP_SMALL_BYTES 200

enum figure {
    SHARE,
    UP_P50,
    UP_P99,
    DOWN_P50,
    DOWN_P99,
    SCTP_SMALL,
    SCTP_LARGE,
    SCTP_HEAP,
    CALL_HEAP,
    FIGURES
};

static const struct {
    const char *name;
    const char *unit;
    double goal; /* 0: none */
} figure[FIGURES] = {
    [SHARE] = {"shard", "percent_of_core", 5},
    [UP_P50] = {"up_p50", "ms", 0},
    [UP_P99] = {"up_p99", "ms", 2},
    [DOWN_P50] = {"down_p50", "ms", 0},
    [DOWN_P99] = {"down_p99", "ms", 2},
    [SCTP_SMALL] = {"sctp_200_bytes", "us", 2},
    [SCTP_LARGE] = {"sctp_1_kb", "us", 0},
    [SCTP_HEAP] = {"sctp_idle", "kb", 6},
    [CALL_HEAP] = {"call_idle", "kb", 90},
};

static double heap_kb(void)
{
    const struct mallinfo2 heap = mallinfo2();
    return (double)(heap.uordblks + heap.hblkhd) / 1024;
}

/* --- two ends of SCTP, nothing between -------------------------------------------------------- */

struct ends {
    struct random_generator random;
    struct sctp_association *end[2];
    uint64_t now_us;
    size_t heard;
};

static void drain(struct ends *e)
{
    for (int from = 0; from < 2; from++) {
        struct bytes_view packet;
        struct sctp_message message;
        struct sctp_event event;
        while (sctp_association_poll_packet(e->end[from], &packet, e->now_us)) {
            sctp_association_input(e->end[1 - from], packet, e->now_us);
        }
        while (sctp_association_poll_event(e->end[1 - from], &event)) {
            assert(event.kind == SCTP_EVENT_CONNECTED);
        }
        while (sctp_association_poll_message(e->end[1 - from], &message)) {
            e->heard++;
        }
    }
}

static void connect_ends(struct ends *e)
{
    random_generator_init(&e->random, 1);
    e->now_us = US_PER_S;
    const struct sctp_config config = {.port = SCTP_PORT_DEFAULT,
                                       .packet_bytes_max = 1163,
                                       .message_bytes_max = 262144,
                                       .random = random_seeded(&e->random)};
    for (int i = 0; i < 2; i++) {
        e->end[i] = sctp_association_create(&config, e->now_us);
        assert(e->end[i] != NULL);
    }
    sctp_association_connect(e->end[0], e->now_us);
    for (int i = 0; i < 4; i++) {
        drain(e);
    }
}

/* Of one message, both ends together, in microseconds. */
static double sctp_cost_us(struct ends *e, size_t len)
{
    static const uint8_t text[1024];
    const struct sctp_message message = {.stream = 1, .data = bytes_view_of(text, len)};
    e->heard = 0;
    const double from_s = cpu_clock_thread_s();
    for (size_t i = 0; i < SCTP_MESSAGES; i++) {
        const enum sctp_send_result result =
            sctp_association_send(e->end[0], &message, NULL, e->now_us);
        assert(result == SCTP_SEND_OK);
        drain(e);
        e->now_us += US_PER_MS;
    }
    const double used_s = cpu_clock_thread_s() - from_s;
    assert(e->heard == SCTP_MESSAGES);
    return used_s * 1e6 / SCTP_MESSAGES;
}

static void measure_sctp(double out[FIGURES])
{
    struct ends e = {0};
    const double before_kb = heap_kb();
    connect_ends(&e);
    out[SCTP_HEAP] = (heap_kb() - before_kb) / 2;
    out[SCTP_SMALL] = sctp_cost_us(&e, SCTP_SMALL_BYTES);
    out[SCTP_LARGE] = sctp_cost_us(&e, 1024);
    sctp_association_destroy(e.end[0]);
    sctp_association_destroy(e.end[1]);
}

/* --- the heap of a call in which nobody has spoken -------------------------------------------- */

static double freed_kb(size_t calls)
{
    struct shard_world *w = shard_world_create(calls, true);
    const double kb = (double)shard_world_free_calls(w) / 1024;
    shard_world_destroy(w);
    return kb;
}

static double call_kb(void)
{
    return (freed_kb(LARGE_WORLD) - freed_kb(SMALL_WORLD)) / (LARGE_WORLD - SMALL_WORLD);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void run_round(struct live_shard *l, double out[FIGURES])
{
    static struct live_figures f;
    f.event_up.count = f.event_down.count = 0;
    live_shard_events(l, 0, ROUND_US, &f);
    const double silent_s = f.cpu_s;
    live_shard_events(l, EVENTS_PER_S, ROUND_US, &f);
    assert(f.event_up.count > EVENTS_PER_S * 9 / 10);
    assert(f.event_down.count > EVENTS_PER_S * 9 / 10);
    out[SHARE] = 100 * (f.cpu_s - silent_s) / ((double)ROUND_US / 1e6);
    out[UP_P50] = samples_percentile_ms(&f.event_up, 50);
    out[UP_P99] = samples_percentile_ms(&f.event_up, 99);
    out[DOWN_P50] = samples_percentile_ms(&f.event_down, 50);
    out[DOWN_P99] = samples_percentile_ms(&f.event_down, 99);
    measure_sctp(out);
}

static void print_figures(double value[FIGURES][ROUNDS_MAX], size_t rounds)
{
    for (size_t i = 0; i < FIGURES; i++) {
        const double median = samples_percentile(value[i], rounds, 50);
        printf("{\"bench\":\"events\",\"figure\":\"%s\",\"unit\":\"%s\",\"median\":%.3f,"
               "\"min\":%.3f,\"max\":%.3f,\"repeats\":%zu",
               figure[i].name, figure[i].unit, median, value[i][0], value[i][rounds - 1], rounds);
        if (figure[i].goal > 0) {
            printf(",\"goal\":%.3f", figure[i].goal);
        }
        puts("}");
    }
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

int main(int argc, char **argv)
{
    static double value[FIGURES][ROUNDS_MAX];
    struct fault fault;
    size_t rounds = 0;
    if (!read_options(argc, argv, &rounds)) {
        fprintf(stderr, "usage: events_bench [--repeats 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    /* As the shard's own thread: what else runs on the machine is not what is measured. */
    (void)setpriority(PRIO_PROCESS, 0, -15);
    const bool is_ready = srtp_transport_init(&fault);
    assert(is_ready);
    const double kb = call_kb();
    struct live_shard *l = live_shard_create(1, 5, true);
    double round[FIGURES];
    run_round(l, round); /* warm */
    for (size_t i = 0; i < rounds; i++) {
        run_round(l, round);
        round[CALL_HEAP] = kb;
        for (size_t k = 0; k < FIGURES; k++) {
            value[k][i] = round[k];
        }
    }
    print_figures(value, rounds);
    live_shard_destroy(l);
    return 0;
}
