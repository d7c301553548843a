/*
 * samples.h - what was measured, and its percentiles
 *
 * Bounds:  SAMPLES_MAX; beyond it samples are left out.
 */
#ifndef EARSHOT_BENCH_SAMPLES_H
#define EARSHOT_BENCH_SAMPLES_H

#include <stddef.h>

#define SAMPLES_MAX 100000

struct samples {
    size_t count;
    double us[SAMPLES_MAX];
};

void samples_add(struct samples *s, double us);
/* Sorts. 0 without samples. */
double samples_percentile_ms(struct samples *s, unsigned percent);

void samples_sort(double *value, size_t count);
/* Sorts. 0 without values. */
double samples_percentile(double *value, size_t count, unsigned percent);

#endif
