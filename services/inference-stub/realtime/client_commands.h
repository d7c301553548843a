/*
 * client_commands.h - the events that a client may send, one function each
 *
 * Takes:   one event as it came.
 * Gives:   its effect on the call and the events that tell of it, or one `error` that names the
 *          client's event_id. Nothing that a client sends ends a call.
 */
#ifndef EARSHOT_CLIENT_COMMANDS_H
#define EARSHOT_CLIENT_COMMANDS_H

#include "services/inference-stub/realtime/realtime_machine.h"

void client_commands_run(struct realtime *r, struct bytes_view text);

#endif
