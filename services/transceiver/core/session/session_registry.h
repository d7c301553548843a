/*
 * session_registry.h - the sessions of one shard: by id, and by who is due next
 *
 * A session id is [shard 6 | slot 18 | generation 8]: the slot is an array index, so finding the
 * session of a datagram needs no hash. The generation grows each time a slot is used again and is
 * never 0, so an id is never 0 and a late datagram of an old call finds nobody. Free slots are used
 * again in the order in which they became free.
 * Owns:    the table and a heap of deadlines, made at create; the sessions belong to the caller.
 * Fails:   reserve gives 0 when every slot is taken.
 */
#ifndef EARSHOT_SESSION_REGISTRY_H
#define EARSHOT_SESSION_REGISTRY_H

#include "common/base/bytes.h"

#define SESSION_REGISTRY_CAPACITY_MAX (1u << 18)
#define SESSION_REGISTRY_SHARDS_MAX   64

struct session;
struct session_registry;

struct session_registry *session_registry_create(unsigned shard, size_t capacity);
void session_registry_destroy(struct session_registry *r);

/* A new id whose slot is taken until session_registry_remove; 0 when full. */
uint32_t session_registry_reserve(struct session_registry *r);
void session_registry_put(struct session_registry *r, uint32_t session_id, struct session *session);
/* NULL for an id of another shard, an unused slot, or an old generation. */
struct session *session_registry_find(const struct session_registry *r, uint32_t session_id);
void session_registry_remove(struct session_registry *r, uint32_t session_id);
size_t session_registry_count(const struct session_registry *r);

/* TIME_NEVER takes the session off the heap. */
void session_registry_set_deadline(struct session_registry *r, uint32_t session_id,
                                   uint64_t deadline_us);
uint64_t session_registry_next_deadline(const struct session_registry *r);
/* The id of a session that is due at now_us, 0 if none; its deadline becomes TIME_NEVER. */
uint32_t session_registry_take_due(struct session_registry *r, uint64_t now_us);

/* Every session, in slot order; NULL after the last. `cursor` starts at 0. The session just given
 * may be removed. */
struct session *session_registry_next(const struct session_registry *r, size_t *cursor);

#endif
