/*
 * api_keys_command.h - earshotctl api-keys ...: the file of API keys, by tenant
 *
 * The file is services/signaling's (docs/operations.md#api-keys): it holds hashes, and a key is
 * printed once, when it is made.
 */
#ifndef EARSHOT_API_KEYS_COMMAND_H
#define EARSHOT_API_KEYS_COMMAND_H

#include "tools/earshotctl/command.h"

/* FILE TENANT: a new key of the tenant; made with the file, if there is none. */
enum command_exit api_keys_command_add(struct command_arguments arguments);

/* The file without a key, and its directory; one that is there already is fine. */
MUST_USE bool api_keys_command_make_file(const char *path, struct fault *fault);

#endif
