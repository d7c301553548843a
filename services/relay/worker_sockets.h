/*
 * worker_sockets.h - a worker's sockets: kept or opened, in order, watched by one epoll
 *
 * Public ones first, in the order of the configuration, then the internal ones: of the
 * FORWARDER_INTERNAL_PORTS every N-th, N being the number of workers.
 * Owns:    the descriptors, until close.
 * Fails:   a fault that names the address.
 */
#ifndef EARSHOT_WORKER_SOCKETS_H
#define EARSHOT_WORKER_SOCKETS_H

#include "services/relay/relay_counters.h"
#include "services/relay/relay_keep.h"

#define WORKER_SOCKETS_MAX (FORWARDER_LISTEN_MAX + FORWARDER_INTERNAL_PORTS)

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
    int epoll_fd; /* its events carry the index of a socket, or what was handed to watch */
};

/* Binds worker `index` of `worker_count`. Close it also when it fails. */
MUST_USE bool worker_sockets_open(struct worker_sockets *s, struct relay_keep *keep, unsigned index,
                                  unsigned worker_count, struct fault *fault);
void worker_sockets_close(struct worker_sockets *s);

/* One more descriptor for the epoll, which stays the caller's. number: WORKER_SOCKETS_MAX or
 * above. */
MUST_USE bool worker_sockets_watch(struct worker_sockets *s, int fd, uint32_t number,
                                   struct fault *fault);

/* The one that uplinks leave from, so that their answers come back to this worker. */
static inline const struct worker_socket *
worker_sockets_first_internal(const struct worker_sockets *s)
{
    return &s->socket[s->public_count];
}

#endif
