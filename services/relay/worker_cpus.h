/*
 * worker_cpus.h - which CPUs the workers may use, and whether pinning helps
 *
 * The affinity mask counts, never the machine: a container sees its share. Under a CPU quota that
 * is no whole number a pinned thread would be stopped while another CPU of the mask is idle, so
 * nobody is pinned there.
 */
#ifndef EARSHOT_WORKER_CPUS_H
#define EARSHOT_WORKER_CPUS_H

#include "common/base/bytes.h"

#define WORKER_CPUS_MAX 64 /* more than workers are possible */

struct worker_cpus {
    int cpu[WORKER_CPUS_MAX];
    size_t count; /* at least 1 */
    bool has_fractional_quota;
};

struct worker_cpus worker_cpus_read(void);

/* The CPU of a worker, or -1: not to be pinned, since there are more workers than CPUs or a
 * fractional quota. */
int worker_cpus_choose(const struct worker_cpus *cpus, unsigned worker, unsigned worker_count);

/* The text of cgroup v2's cpu.max, "max 100000" or "150000 100000". */
bool worker_cpus_is_fractional_quota(const char *cpu_max);

#endif
