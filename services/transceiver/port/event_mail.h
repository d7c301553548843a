/*
 * event_mail.h - what a shard wants published: messages on their way to the control thread
 *
 * A shard never waits for a network that it does not own: it drops its messages here, and the
 * control thread, which owns the PUB sockets, takes them.
 * Takes:   whole messages, written in place: reserve, commit; then one knock for all of them.
 * Gives:   them in order, in place: peek, drop.
 * Owns:    a ring of memory and a descriptor, both made at create.
 * Full:    reserve gives NULL: what the message was about is then lost, and counted by the caller.
 * Threads: the shard puts, the control thread takes; create and destroy while only one runs.
 */
#ifndef EARSHOT_EVENT_MAIL_H
#define EARSHOT_EVENT_MAIL_H

#include "common/base/bytes.h"

#define EVENT_MAIL_BYTES (4u << 20)

enum event_mail_kind {
    EVENT_MAIL_SIDEBAND, /* for who listens to a call */
    EVENT_MAIL_SESSION   /* for every signaling */
};

struct event_mail;

/* bytes: a power of two. NULL without memory or descriptors. */
struct event_mail *event_mail_create(size_t bytes);
void event_mail_destroy(struct event_mail *m);

/* The shard. Room for cap bytes, or NULL. */
uint8_t *event_mail_reserve(struct event_mail *m, size_t cap);
void event_mail_commit(struct event_mail *m, enum event_mail_kind kind, size_t len);
/* Wakes the control thread, if anything was committed since the last time. */
void event_mail_knock(struct event_mail *m);

/* The control thread: poll the descriptor, hear, then peek and drop. */
int event_mail_fd(const struct event_mail *m);
void event_mail_hear(struct event_mail *m);
/* Borrowed until drop; false when nothing waits. */
MUST_USE bool event_mail_peek(const struct event_mail *m, enum event_mail_kind *kind,
                              struct bytes_view *out);
void event_mail_drop(struct event_mail *m);

#endif
