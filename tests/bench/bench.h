/*
 * bench.h - what operations cost, measured against each other, as JSON lines
 *
 * Takes:   cases, each of which does its operation `count` times, and --repeats N.
 * Gives:   a line with median, least and most of each case, and one of its ratio to its baseline.
 * How:     CPU time of the process, so that a pause of the machine does not count. A round runs all
 *          cases, each round begins with another one, and the first round is not measured. A ratio
 *          is made of two times of one round: the machine's mood is in both.
 * Bounds:  BENCH_CASES_MAX, BENCH_REPEATS_MAX.
 * Fails:   a wrong option ends the program with 2; a case asserts what it relies on.
 */
#ifndef EARSHOT_BENCH_H
#define EARSHOT_BENCH_H

#include <stddef.h>

#define BENCH_CASES_MAX       32
#define BENCH_REPEATS_MAX     999
#define BENCH_REPEATS_DEFAULT 11

/* Of one operation, or how many of them in a second. */
enum bench_unit { BENCH_NS, BENCH_US, BENCH_MS, BENCH_PER_S };

struct bench_case {
    const char *figure;
    void (*run)(void *context, size_t count);
    void *context;
    size_t count; /* operations in a round: some milliseconds of them */
    enum bench_unit unit;
    double goal;          /* the most for a time, the least for a rate; 0: none */
    const char *baseline; /* figure of an earlier case; NULL: none */
    double ratio_goal;    /* the most; 0: none */
};

/* What main returns. */
int bench_run(const char *name, const struct bench_case *cases, size_t case_count, int argc,
              char **argv);

/* Around what a case does besides its operation. Two clock readings, some microseconds. */
void bench_pause(void);
void bench_resume(void);

#endif
