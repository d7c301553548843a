/*
 * session_command.h - earshotctl session ...: calls of one transceiver, asked as an operator
 *
 * Takes:   the transceiver's control URL, tcp://address:port, and call ids as in Location headers.
 * Gives:   tables for a person, on stdout.
 * Bounds:  SESSION_COMMAND_PATIENCE_MS for each answer; then "unreachable".
 */
#ifndef EARSHOT_SESSION_COMMAND_H
#define EARSHOT_SESSION_COMMAND_H

#include "tools/earshotctl/command.h"

#define SESSION_COMMAND_PATIENCE_MS 3000

/* URL: one line a call. */
enum command_exit session_command_list(struct command_arguments arguments);
/* URL CALL_ID: its state, when it came to what, its counters. */
enum command_exit session_command_show(struct command_arguments arguments);

#endif
