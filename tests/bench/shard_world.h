/*
 * shard_world.h - the calls of one shard at work, with the rest of the world off the bill
 *
 * Real sessions, registry, shim and backend stream; clients and voice agent of the simulation. The
 * world turns in slices of 20 ms: what clients and agent say in a slice is made while bench_pause
 * holds, then the shard runs through the slice, and its answers are handed out in the next pause.
 * Not here: sockets. What the shard sends is copied once, as into a socket.
 */
#ifndef EARSHOT_SHARD_WORLD_H
#define EARSHOT_SHARD_WORLD_H

#include "common/base/time_us.h"

#include <stdbool.h>
#include <stddef.h>

#define SHARD_WORLD_RATE_HZ   24000 /* between shard and agent, who says what it hears */
#define SHARD_WORLD_CALLS_MAX 64
#define SHARD_WORLD_CREDIT_US (10 * US_PER_S)

struct shard_world;

/* With all calls connected and audible both ways; has_data: mute, and with an event channel. */
struct shard_world *shard_world_create(size_t call_count, bool has_data);
void shard_world_destroy(struct shard_world *w);

/* A whole number of slices; the shard's work alone is measured. */
void shard_world_run(struct shard_world *w, uint64_t us);
/* All calls are destroyed where they are, and the world can only be destroyed: how much heap that
 * set free. */
size_t shard_world_free_calls(struct shard_world *w);
/* RTP packets that were decoded, and that were sent, since create. */
uint64_t shard_world_packets(const struct shard_world *w);

#endif
