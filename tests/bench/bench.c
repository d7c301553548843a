/* bench.c - see bench.h */
#include "tests/bench/bench.h"

#include "tests/bench/cpu_clock.h"
#include "tests/bench/samples.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double cost[BENCH_CASES_MAX][BENCH_REPEATS_MAX]; /* seconds of one operation */
static double paused_at;
static double paused_s;

void bench_pause(void)
{
    paused_at = cpu_clock_process_s();
}

void bench_resume(void)
{
    paused_s += cpu_clock_process_s() - paused_at;
}

static double measure(const struct bench_case *c)
{
    paused_s = 0;
    const double start = cpu_clock_process_s();
    c->run(c->context, c->count);
    return (cpu_clock_process_s() - start - paused_s) / (double)c->count;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print_number(const char *name, double value)
{
    const int decimals = value < 10 ? 3 : value < 1000 ? 1 : 0;
    printf(",\"%s\":%.*f", name, decimals, value);
}

static void print_spread(double *value, size_t count)
{
    samples_sort(value, count);
    print_number("median", (value[(count - 1) / 2] + value[count / 2]) / 2);
    print_number("min", value[0]);
    print_number("max", value[count - 1]);
    printf(",\"repeats\":%zu", count);
}

static double in_unit(enum bench_unit unit, double seconds)
{
    static const double per_second[] = {[BENCH_NS] = 1e9, [BENCH_US] = 1e6, [BENCH_MS] = 1e3};
    return unit == BENCH_PER_S ? 1 / seconds : seconds * per_second[unit];
}

static void print_case(const char *name, const struct bench_case *c, const double *seconds,
                       size_t repeats)
{
    static const char *const unit_name[] = {
        [BENCH_NS] = "ns", [BENCH_US] = "us", [BENCH_MS] = "ms", [BENCH_PER_S] = "per_s"};
    double value[BENCH_REPEATS_MAX];
    for (size_t i = 0; i < repeats; i++) {
        value[i] = in_unit(c->unit, seconds[i]);
    }
    printf("{\"bench\":\"%s\",\"figure\":\"%s\",\"unit\":\"%s\"", name, c->figure,
           unit_name[c->unit]);
    print_spread(value, repeats);
    printf(",\"count\":%zu", c->count);
    if (c->goal > 0) {
        print_number("goal", c->goal);
    }
    puts("}");
}

static void print_ratio(const char *name, const struct bench_case *c, const double *seconds,
                        const double *baseline_seconds, size_t repeats)
{
    double value[BENCH_REPEATS_MAX];
    for (size_t i = 0; i < repeats; i++) {
        value[i] = seconds[i] / baseline_seconds[i];
    }
    printf("{\"bench\":\"%s\",\"figure\":\"%s\",\"unit\":\"ratio\",\"baseline\":\"%s\"", name,
           c->figure, c->baseline);
    print_spread(value, repeats);
    if (c->ratio_goal > 0) {
        print_number("goal", c->ratio_goal);
    }
    puts("}");
}

static size_t baseline_of(const struct bench_case *cases, size_t index)
{
    size_t i = 0;
    while (i < index && strcmp(cases[i].figure, cases[index].baseline) != 0) {
        i++;
    }
    assert(i < index);
    return i;
}

/* --- a run ------------------------------------------------------------------------------------ */

static bool read_options(int argc, char **argv, size_t *repeats)
{
    *repeats = BENCH_REPEATS_DEFAULT;
    if (argc == 1) {
        return true;
    }
    char *end = NULL;
    if (argc == 3 && strcmp(argv[1], "--repeats") == 0) {
        *repeats = strtoul(argv[2], &end, 10);
    }
    return end != NULL && *end == '\0' && *repeats >= 1 && *repeats <= BENCH_REPEATS_MAX;
}

int bench_run(const char *name, const struct bench_case *cases, size_t case_count, int argc,
              char **argv)
{
    size_t repeats = 0;
    assert(case_count <= BENCH_CASES_MAX);
    if (!read_options(argc, argv, &repeats)) {
        fprintf(stderr, "usage: %s_bench [--repeats 1..%d]\n", name, BENCH_REPEATS_MAX);
        return 2;
    }
    for (size_t i = 0; i < case_count; i++) {
        (void)measure(&cases[i]);
    }
    for (size_t round = 0; round < repeats; round++) {
        for (size_t i = 0; i < case_count; i++) {
            const size_t turn = (round + i) % case_count;
            cost[turn][round] = measure(&cases[turn]);
        }
    }
    for (size_t i = 0; i < case_count; i++) {
        print_case(name, &cases[i], cost[i], repeats);
        if (cases[i].baseline != NULL) {
            print_ratio(name, &cases[i], cost[i], cost[baseline_of(cases, i)], repeats);
        }
    }
    return 0;
}
