/* sim_journal.c - see sim_journal.h */
#include "tests/support/sim_journal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_CAP 200

struct sim_journal {
    bool is_loud;
    bool has_fault;
    uint64_t start_us;
    uint64_t count;
    char line[SIM_JOURNAL_LINES][LINE_CAP];
    char fault[LINE_CAP];
};

struct sim_journal *sim_journal_create(bool is_loud, uint64_t start_us)
{
    struct sim_journal *j = calloc(1, sizeof(*j));
    assert(j != NULL);
    j->is_loud = is_loud;
    j->start_us = start_us;
    return j;
}

void sim_journal_destroy(struct sim_journal *j)
{
    free(j);
}

__attribute__((format(printf, 4, 0))) static void write_line(const struct sim_journal *j, char *out,
                                                             uint64_t now_us, const char *format,
                                                             va_list arguments)
{
    const int len =
        snprintf(out, LINE_CAP, "%10.3f ms  ", (double)(int64_t)(now_us - j->start_us) / 1000);
    (void)vsnprintf(out + len, (size_t)(LINE_CAP - len), format, arguments);
}

void sim_journal_note(struct sim_journal *j, uint64_t now_us, const char *format, ...)
{
    va_list arguments;
    if (j == NULL) {
        return;
    }
    char *line = j->line[j->count++ % SIM_JOURNAL_LINES];
    va_start(arguments, format);
    write_line(j, line, now_us, format, arguments);
    va_end(arguments);
    if (j->is_loud) {
        (void)printf("%s\n", line);
    }
}

void sim_journal_fault(struct sim_journal *j, uint64_t now_us, const char *format, ...)
{
    va_list arguments;
    const struct sim_journal nobody = {0};
    char line[LINE_CAP];
    va_start(arguments, format);
    write_line(j == NULL ? &nobody : j, line, now_us, format, arguments);
    va_end(arguments);
    if (j == NULL) {
        (void)printf("%s\n", line);
        abort();
    }
    sim_journal_note(j, now_us, "BROKEN: %s", line);
    if (!j->has_fault) {
        j->has_fault = true;
        (void)snprintf(j->fault, sizeof(j->fault), "%s", line);
    }
}

const char *sim_journal_first_fault(const struct sim_journal *j)
{
    return j->has_fault ? j->fault : NULL;
}

void sim_journal_print(const struct sim_journal *j)
{
    const uint64_t first = j->count > SIM_JOURNAL_LINES ? j->count - SIM_JOURNAL_LINES : 0;
    for (uint64_t i = first; i < j->count; i++) {
        (void)printf("    %s\n", j->line[i % SIM_JOURNAL_LINES]);
    }
}
