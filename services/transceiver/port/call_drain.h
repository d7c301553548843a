/*
 * call_drain.h - a shard that takes no new calls, and those that still run in it
 *
 * Who ends them at the deadline is the owner of the process; SESSION_EXPIRING_US before it their
 * clients hear of it.
 */
#ifndef EARSHOT_CALL_DRAIN_H
#define EARSHOT_CALL_DRAIN_H

#include "services/transceiver/port/shard_calls.h"

void call_drain_begin(struct shard_calls *calls, uint64_t deadline_us);
/* At least each second. */
void call_drain_tick(struct shard_calls *calls, uint64_t now_us);

#endif
