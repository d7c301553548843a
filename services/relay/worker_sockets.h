/*
 * worker_sockets.h - a worker's sockets: kept or opened, in order; and waiting for them
 *
 * Public ones first, in the order of the configuration, then the internal ones: of the
 * FORWARDER_INTERNAL_PORTS every N-th, N being the number of workers.
 * Waiting: poll, not epoll: a socket that is in an epoll wakes it for each datagram that was sent,
 *          which costs a relay 6 % of its time (docs/performance.md).
 * Owns:    the sockets, until close.
 * Fails:   a fault that names the address.
 */
#ifndef EARSHOT_WORKER_SOCKETS_H
#define EARSHOT_WORKER_SOCKETS_H

#include "services/relay/relay_counters.h"
#include "services/relay/relay_keep.h"

#include <poll.h>

#define WORKER_SOCKETS_MAX (FORWARDER_LISTEN_MAX + FORWARDER_INTERNAL_PORTS)
#define WORKER_WATCHED_MAX (WORKER_SOCKETS_MAX + 4)

struct worker_socket {
    int fd;
    enum relay_direction direction; /* of what is received here */
    uint8_t public_index;           /* of a public one: its place in the configuration */
    uint32_t dropped_seen; /* by the kernel; a kept socket tells once more what it told before */
};

struct worker_sockets {
    struct worker_socket socket[WORKER_SOCKETS_MAX];
    size_t count;
    size_t public_count;
    struct pollfd watched[WORKER_WATCHED_MAX]; /* by number; a socket's is its index */
    bool has_no_trains;
    unsigned gather_us;
    bool is_busy_polling;
};

/* Binds worker `index` of `worker_count`. Close it also when it fails. */
MUST_USE bool worker_sockets_open(struct worker_sockets *s, struct relay_keep *keep, unsigned index,
                                  unsigned worker_count, struct fault *fault);
void worker_sockets_close(struct worker_sockets *s);

/* One more descriptor to wait for, which stays the caller's; -1 is passed over. number:
 * WORKER_SOCKETS_MAX or above, below WORKER_WATCHED_MAX. */
void worker_sockets_watch(struct worker_sockets *s, int fd, unsigned number);
/* Until something can be read, at most timeout_ms, or as the configuration says: not at all, or a
 * little longer when it had to sleep. */
void worker_sockets_wait(struct worker_sockets *s, int timeout_ms);
/* After a wait. */
static inline bool worker_sockets_is_ready(const struct worker_sockets *s, unsigned number)
{
    return s->watched[number].revents != 0;
}

/* The one that uplinks leave from, so that their answers come back to this worker. */
static inline const struct worker_socket *
worker_sockets_first_internal(const struct worker_sockets *s)
{
    return &s->socket[s->public_count];
}

#endif
