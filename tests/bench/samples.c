/* samples.c - see samples.h */
#include "tests/bench/samples.h"

#include <stdlib.h>

void samples_add(struct samples *s, double us)
{
    if (s->count < SAMPLES_MAX) {
        s->us[s->count++] = us;
    }
}

double samples_percentile_ms(struct samples *s, unsigned percent)
{
    return samples_percentile(s->us, s->count, percent) / 1000;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void samples_sort(double *value, size_t count)
{
    qsort(value, count, sizeof(*value), compare);
}

double samples_percentile(double *value, size_t count, unsigned percent)
{
    samples_sort(value, count);
    return count > 0 ? value[(count - 1) * percent / 100] : 0;
}
