/*
 * control_arena.h - memory for one decoded message, with an end
 *
 * protobuf-c allocates for every field of a stranger's message, and keeps the fields that it does
 * not know: 1 MiB of them took 28 MiB. Here all of a message comes out of one block.
 * Gives:   aligned pieces, not zeroed, valid until the next reset.
 * Owns:    one block of `bytes`, allocated once; pieces are not freed one by one.
 * Fails:   take returns NULL when the block is used up.
 */
#ifndef EARSHOT_CONTROL_ARENA_H
#define EARSHOT_CONTROL_ARENA_H

#include "common/base/bytes.h"

struct control_arena;

/* NULL when there is no memory. */
struct control_arena *control_arena_create(size_t bytes);
void control_arena_destroy(struct control_arena *a);

void control_arena_reset(struct control_arena *a);
void *control_arena_take(struct control_arena *a, size_t bytes);
/* The size a piece was taken with; 0 for a pointer that is no piece of this arena. */
size_t control_arena_piece_bytes(const struct control_arena *a, const void *piece);

#endif
