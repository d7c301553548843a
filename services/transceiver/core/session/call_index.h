/*
 * call_index.h - the sessions of a shard by the call ids of their makers
 *
 * Takes:   a session id (session_registry.h) and its call id, which need not be the only one of
 *          its kind: two tenants may have made the same.
 * Gives:   the session ids that may be those of a call, a handful at most: who asks compares.
 * Rule:    call ids are made by signaling, which seals them: no stranger chooses a row. So the hash
 *          has no key.
 * Owns:    a table of the registry's capacity; no heap after create.
 */
#ifndef EARSHOT_CALL_INDEX_H
#define EARSHOT_CALL_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct call_index;

/* capacity: of the registry. NULL without memory. */
struct call_index *call_index_create(size_t capacity);
void call_index_destroy(struct call_index *x);

/* Once for each session. */
void call_index_put(struct call_index *x, const char *call_id, uint32_t session_id);
/* Both as they were put. */
void call_index_remove(struct call_index *x, const char *call_id, uint32_t session_id);

/* 0: none. The others follow, in the order of their age from the youngest on. */
uint32_t call_index_first(const struct call_index *x, const char *call_id);
/* session_id: the one before, which is still in. */
uint32_t call_index_next(const struct call_index *x, uint32_t session_id);

#endif
