/*
 * sim_journal.h - what happened in a simulation, and what should not have
 *
 * Keeps:  the last SIM_JOURNAL_LINES lines, and the first fault. Loud: each line is also printed as
 *         it comes.
 * NULL:   a journal that is not there takes notes and tells nobody, but a fault ends the process.
 */
#ifndef EARSHOT_SIM_JOURNAL_H
#define EARSHOT_SIM_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_JOURNAL_LINES 50

struct sim_journal;

struct sim_journal *sim_journal_create(bool is_loud, uint64_t start_us);
void sim_journal_destroy(struct sim_journal *j);

__attribute__((format(printf, 3, 4))) void sim_journal_note(struct sim_journal *j, uint64_t now_us,
                                                            const char *format, ...);
/* A rule was broken: its words first. */
__attribute__((format(printf, 3, 4))) void sim_journal_fault(struct sim_journal *j, uint64_t now_us,
                                                             const char *format, ...);
/* The first fault; NULL: none. */
const char *sim_journal_first_fault(const struct sim_journal *j);
/* To stdout: the lines that are kept. */
void sim_journal_print(const struct sim_journal *j);

#endif
