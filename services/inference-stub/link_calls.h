/*
 * link_calls.h - the sessions of one connection: by handle, and whose turn it is to write
 *
 * Owns:    LINK_CALLS_MAX sessions.
 * Full:    add says NULL.
 */
#ifndef EARSHOT_LINK_CALLS_H
#define EARSHOT_LINK_CALLS_H

#include "services/inference-stub/stub_session.h"

#include <sys/queue.h>

#define LINK_CALLS_MAX     4096
#define LINK_CALLS_BUCKETS 1024

struct call {
    struct stub_session *session;
    uint32_t handle;
    uint32_t sequence_in; /* of the next frame, either way */
    uint32_t sequence_out;
    LIST_ENTRY(call) bucket; /* from here on link_calls.c's own */
    TAILQ_ENTRY(call) waiting[FRAME_CLASSES];
    bool is_waiting[FRAME_CLASSES];
};

LIST_HEAD(call_list, call);
TAILQ_HEAD(call_queue, call);

struct link_calls {
    size_t count;
    struct call_list bucket[LINK_CALLS_BUCKETS];
    struct call_queue waiting[FRAME_CLASSES];
};

void link_calls_init(struct link_calls *c);
void link_calls_clear(struct link_calls *c);

struct call *link_calls_find(struct link_calls *c, uint32_t handle);
/* A new session; the handle is not in use. NULL when full, or without memory. */
struct call *link_calls_add(struct link_calls *c, const struct stub_behaviour *behaviour,
                            uint32_t handle, uint64_t now_us);
/* SESSION_RESUME: a call that is kept goes on under this handle; one that is not is made, and will
 * say so. NULL as for add. */
struct call *link_calls_resume(struct link_calls *c, const struct stub_behaviour *behaviour,
                               const struct backend_frame *frame, uint64_t now_us);
/* Those that can go on elsewhere are put on the shelf; no call is left. */
void link_calls_shelve(struct link_calls *c, struct session_shelf *shelf, uint64_t now_us);
void link_calls_remove(struct link_calls *c, struct call *call);

/* It may have something to write: it gets its turn in every class. */
void link_calls_let_wait(struct link_calls *c, struct call *call);
/* The next frame of the highest class that has one, in turn over the sessions, and whose it is. The
 * payload is borrowed until the session is called again. NULL when nobody has anything. */
struct call *link_calls_take(struct link_calls *c, struct backend_frame *out);

void link_calls_tick(struct link_calls *c, uint64_t now_us);

#endif
