/* pinned.h - the calling thread on one CPU, before everything else that runs there */
#ifndef EARSHOT_BENCH_PINNED_H
#define EARSHOT_BENCH_PINNED_H

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

/* What takes a CPU of real-time priority for longer, without once asking to sleep, has gone wrong,
 * and nobody could say so on that CPU any more: the kernel ends it. */
#define PINNED_FIFO_US_MAX 3000000

/* cpu -1: any. fifo_priority 0, or not allowed: the best of the ordinary priorities that is
 * allowed. Nothing but system calls: a child may call it. */
static inline void pinned_enter(int cpu, int fifo_priority)
{
    const struct sched_param fifo = {.sched_priority = fifo_priority};
    const struct sched_param none = {0};
    const struct rlimit patience = {PINNED_FIFO_US_MAX, PINNED_FIFO_US_MAX};
    if (cpu >= 0) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET((size_t)cpu, &cpus);
        (void)sched_setaffinity(0, sizeof(cpus), &cpus);
    }
    (void)setrlimit(RLIMIT_RTTIME, &patience);
    if (fifo_priority > 0 && sched_setscheduler(0, SCHED_FIFO, &fifo) == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); /* the count begins anew */
    } else {
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
        (void)setpriority(PRIO_PROCESS, 0, -20);
    }
}

#endif
