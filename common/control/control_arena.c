/* control_arena.c - see control_arena.h */
#include "common/control/control_arena.h"

#include <stdlib.h>

/* Stands before each piece; as large as the strictest alignment, so that pieces are aligned. */
union piece_header {
    size_t bytes;
    max_align_t align;
};

#define UNIT sizeof(union piece_header)

struct control_arena {
    union piece_header *block;
    size_t unit_count;
    size_t units_used;
};

struct control_arena *control_arena_create(size_t bytes)
{
    struct control_arena *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->unit_count = bytes / UNIT;
    a->block = calloc(a->unit_count, UNIT);
    if (a->block == NULL) {
        free(a);
        return NULL;
    }
    return a;
}

void control_arena_destroy(struct control_arena *a)
{
    if (a != NULL) {
        free(a->block);
        free(a);
    }
}

void control_arena_reset(struct control_arena *a)
{
    a->units_used = 0;
}

void *control_arena_take(struct control_arena *a, size_t bytes)
{
    const size_t units_left = a->unit_count - a->units_used;
    if (units_left == 0 || bytes > (units_left - 1) * UNIT) {
        return NULL;
    }
    union piece_header *header = &a->block[a->units_used];
    header->bytes = bytes;
    a->units_used += 1 + (bytes + UNIT - 1) / UNIT;
    return header + 1;
}

size_t control_arena_piece_bytes(const struct control_arena *a, const void *piece)
{
    const uintptr_t first = (uintptr_t)(a->block + 1);
    const uintptr_t end = (uintptr_t)(a->block + a->units_used);
    const uintptr_t address = (uintptr_t)piece;
    if (address < first || address > end) {
        return 0;
    }
    const union piece_header *header = piece;
    return header[-1].bytes;
}
