/* process_cpu.h - the CPU time of a process, all its threads, in nanoseconds; 0 when it is gone */
#ifndef EARSHOT_BENCH_PROCESS_CPU_H
#define EARSHOT_BENCH_PROCESS_CPU_H

#include <stdint.h>
#include <sys/types.h>

uint64_t process_cpu_ns(pid_t pid);

#endif
