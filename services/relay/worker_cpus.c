/* worker_cpus.c - see worker_cpus.h */
#include "services/relay/worker_cpus.h"

#include <sched.h>
#include <stdio.h>

#define CPU_MAX_PATH "/sys/fs/cgroup/cpu.max"

bool worker_cpus_is_fractional_quota(const char *cpu_max)
{
    unsigned long quota_us = 0;
    unsigned long period_us = 0;
    return sscanf(cpu_max, "%lu %lu", &quota_us, &period_us) == 2 && period_us != 0 &&
           quota_us % period_us != 0;
}

static bool has_fractional_quota(void)
{
    char text[64] = "";
    FILE *file = fopen(CPU_MAX_PATH, "re");
    if (file == NULL) {
        return false;
    }
    const bool is_read = fgets(text, sizeof(text), file) != NULL;
    (void)fclose(file);
    return is_read && worker_cpus_is_fractional_quota(text);
}

struct worker_cpus worker_cpus_read(void)
{
    struct worker_cpus cpus = {.has_fractional_quota = has_fractional_quota()};
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
        for (int i = 0; i < CPU_SETSIZE && cpus.count < WORKER_CPUS_MAX; i++) {
            if (CPU_ISSET((size_t)i, &mask)) {
                cpus.cpu[cpus.count++] = i;
            }
        }
    }
    if (cpus.count == 0) { /* more CPUs than the mask has room for */
        cpus.count = 1;
        cpus.has_fractional_quota = true;
    }
    return cpus;
}

int worker_cpus_choose(const struct worker_cpus *cpus, unsigned worker, unsigned worker_count)
{
    if (cpus->has_fractional_quota || worker_count > cpus->count) {
        return -1;
    }
    return cpus->cpu[worker];
}
