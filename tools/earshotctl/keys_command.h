/*
 * keys_command.h - earshotctl keys ...: key rings in directories
 *
 * A ring is common/routing/key_ring.h's. No command prints a secret.
 */
#ifndef EARSHOT_KEYS_COMMAND_H
#define EARSHOT_KEYS_COMMAND_H

#include "tools/earshotctl/command.h"

/* [--if-missing] [--api-keys FILE] DIR...: a ring in each, then the file. Stops at the first that
 * fails. */
enum command_exit keys_command_init(struct command_arguments arguments);

/* DIR: one line a key. */
enum command_exit keys_command_list(struct command_arguments arguments);

#endif
