/*
 * command.h - what earshotctl can be told, as one table
 *
 * Takes:   the arguments behind the program's name: the words of a command, then its own.
 * Gives:   the exit status: 0 yes, 1 no, 2 unreachable, 64 wrong usage. Answers on stdout, faults
 *          as one line each on stderr.
 * Adding:  a command is one row of the table in command.c and one function.
 */
#ifndef EARSHOT_COMMAND_H
#define EARSHOT_COMMAND_H

#include "common/base/status.h"

enum command_exit {
    COMMAND_YES = 0,
    COMMAND_NO = 1,
    COMMAND_UNREACHABLE = 2,
    COMMAND_USAGE = 64 /* the dispatcher then prints how the command is written */
};

/* The arguments behind the command's words. */
struct command_arguments {
    size_t count;
    char **text;
};

/* What main does; returns an enum command_exit. */
int command_run(int argc, char **argv);

/* `earshotctl: text` on stderr; returns COMMAND_NO, for `return command_fail(...)`. */
enum command_exit command_fail(const struct fault *fault);

#endif
