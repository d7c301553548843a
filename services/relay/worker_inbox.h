/*
 * worker_inbox.h - what main and other workers tell a worker
 *
 * A pipe is the queue: the kernel keeps it bounded, wakes the reader, and writes a message
 * whole or not at all.
 * Takes:   messages, from any thread; an INBOX_RING moves its ring when post says true.
 * Fails:   post returns false when the pipe is full: announcements are repeated each 500 ms, a
 *          lesson costs its client only the wait for a request, and a ring is main's to report.
 * Bounds:  INBOX_MESSAGES are asked of the kernel.
 */
#ifndef EARSHOT_WORKER_INBOX_H
#define EARSHOT_WORKER_INBOX_H

#include "common/base/status.h"
#include "services/relay/core/forwarder.h"

#include <limits.h>

#define INBOX_MESSAGES 4096

enum inbox_kind {
    INBOX_ANNOUNCEMENT,
    INBOX_LESSON,
    INBOX_RING,
    INBOX_STOP /* only wakes the worker */
};

struct inbox_message {
    enum inbox_kind kind;
    union {
        struct route_announcement announcement;
        struct forwarder_lesson lesson;
        struct key_ring *ring;
    } body;
};

static_assert(sizeof(struct inbox_message) <= PIPE_BUF, "the kernel writes it whole");

struct worker_inbox {
    int read_fd; /* to wait for */
    int write_fd;
};

MUST_USE bool worker_inbox_open(struct worker_inbox *inbox, struct fault *fault);
/* Destroys rings that nobody took. Fine on one whose open failed. */
void worker_inbox_close(struct worker_inbox *inbox);

/* Never blocks. */
MUST_USE bool worker_inbox_post(const struct worker_inbox *inbox,
                                const struct inbox_message *message);
/* The oldest; false when none waits. Only the owner calls it. */
MUST_USE bool worker_inbox_take(const struct worker_inbox *inbox, struct inbox_message *out);
/* Hands what waits to the worker's forwarder. Only the owner calls it. */
void worker_inbox_read(const struct worker_inbox *inbox, struct forwarder *forwarder,
                       uint64_t now_us);

#endif
