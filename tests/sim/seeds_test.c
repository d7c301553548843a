/*
 * seeds_test.c - calls drawn from seeds, each under every rule (tests/support/sim_play.h)
 *
 *   seeds_test                           SEEDS_BY_ITSELF calls, from seed 1, and those below
 *   seeds_test --seed N                  one, and what happens in it
 *   seeds_test --count N [--from N]      so many
 *   seeds_test --hours H                 fresh ones for so long
 *
 * The first broken seeds are told with their last lines; the exit code is 1.
 */
#include "tests/allocation_count.h"
#include "tests/support/sim_fleet.h"
#include "tests/support/sim_play.h"
#include "tests/virtual_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS_BY_ITSELF 100
#define BROKEN_MAX      5

/* Beyond the seeds of every run: each found something once. */
static const uint64_t found_once[] = {
    7004,  /* a packet comes while the history is replayed: it waits for its turn, as it must */
    7064,  /* a client closes while a check of it is answered, its alerts are lost: consent ends */
    10007, /* the same, beside an event channel */
};

void sim_fleet_set_time(uint64_t now_us)
{
    virtual_time_us = now_us;
}

struct wanted {
    uint64_t from;
    uint64_t count;
    double hours; /* 0: as many as count says */
    bool is_by_itself;
    bool is_loud;
};

struct tally {
    uint64_t played;
    uint64_t broken;
    uint64_t real;
    uint64_t connected;
    uint64_t packets;
    uint64_t copies;
    uint64_t repeats;
};

static uint64_t clock_s(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec;
}

static bool read_options(int argc, char **argv, struct wanted *out)
{
    *out = (struct wanted){.from = 1, .count = SEEDS_BY_ITSELF, .is_by_itself = argc == 1};
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        const char *name = argv[i];
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        const uint64_t number = strtoull(text, &end, 10);
        const bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0';
        if (strcmp(name, "--seed") == 0 && is_number) {
            *out = (struct wanted){.from = number, .count = 1, .is_loud = true};
        } else if (strcmp(name, "--from") == 0 && is_number) {
            out->from = number;
        } else if (strcmp(name, "--count") == 0 && is_number) {
            out->count = number;
        } else if (strcmp(name, "--hours") == 0 && (out->hours = strtod(text, NULL)) > 0) {
            out->from = clock_s(CLOCK_REALTIME) * 1000;
        } else {
            (void)fprintf(stderr,
                          "seeds_test: %s %s: want --seed N, --count N, --from N or "
                          "--hours H\n",
                          name, text);
            return false;
        }
    }
    return true;
}

static void play(uint64_t seed, bool is_loud, struct tally *t)
{
    const struct sim_play_result result =
        sim_play(seed, is_loud, ALLOCATIONS_ARE_COUNTED ? &allocation_count : NULL);
    t->played++;
    t->broken += result.is_broken;
    t->real += result.was_real;
    t->connected += result.was_connected;
    t->packets += result.packets;
    t->copies += result.copies;
    t->repeats += result.repeats;
    if (result.is_broken) {
        (void)printf("seed %" PRIu64 " again: ./dev sim --seed %" PRIu64 "\n", seed, seed);
    }
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct wanted wanted;
    struct tally t = {0};
    if (!read_options(argc, argv, &wanted)) {
        return 2;
    }
    const uint64_t begin_s = clock_s(CLOCK_MONOTONIC);
    const uint64_t for_s = (uint64_t)(wanted.hours * 3600);
    for (uint64_t i = 0; t.broken < BROKEN_MAX; i++) {
        const bool is_enough =
            for_s > 0 ? clock_s(CLOCK_MONOTONIC) - begin_s >= for_s : i >= wanted.count;
        if (is_enough) {
            break;
        }
        play(wanted.from + i, wanted.is_loud, &t);
    }
    for (size_t i = 0; wanted.is_by_itself && i < COUNT_OF(found_once); i++) {
        play(found_once[i], false, &t);
    }
    (void)printf("%" PRIu64 " seeds from %" PRIu64 " in %" PRIu64 " s: %" PRIu64 " broken; %" PRIu64
                 " connected, %" PRIu64 " real Opus, %" PRIu64 " packets heard, %" PRIu64
                 " RED copies, %" PRIu64 " repeats; allocations %s\n",
                 t.played, wanted.from, clock_s(CLOCK_MONOTONIC) - begin_s, t.broken, t.connected,
                 t.real, t.packets, t.copies, t.repeats,
                 ALLOCATIONS_ARE_COUNTED ? "counted" : "not counted (sanitizer)");
    const bool is_clock_ours = virtual_time_reads > 0; /* else OpenSSL read the real one */
    return t.broken == 0 && is_clock_ours ? 0 : 1;
}
