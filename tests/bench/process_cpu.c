/* process_cpu.c - see process_cpu.h */
#include "tests/bench/process_cpu.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

/* The first number is what the scheduler has given to the thread, exact to the nanosecond. */
static uint64_t thread_ns(pid_t pid, const char *thread)
{
    char path[64];
    uint64_t ns = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", (int)pid, thread);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        ns = fscanf(file, "%" SCNu64, &ns) == 1 ? ns : 0;
        (void)fclose(file);
    }
    return ns;
}

uint64_t process_cpu_ns(pid_t pid)
{
    char path[32];
    uint64_t sum = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    for (const struct dirent *entry = NULL;
         threads != NULL && (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] != '.') {
            sum += thread_ns(pid, entry->d_name);
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
    return sum;
}
