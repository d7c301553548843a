/*
 * relay_worker.h - a thread that forwards: its sockets, its forwarder, its counters
 *
 * Workers share nothing. Each has one public socket for each listen address (SO_REUSEPORT: the
 * kernel keeps a client on one worker) and of the internal ports every N-th, N being the number of
 * workers: an uplink leaves from the first of them, so its answers come back to this worker. The
 * ports are fixed by configuration, so that a transceiver finds a relay that was restarted, also
 * with another number of workers.
 * Takes:   datagrams from clients and transceivers; messages in its inbox.
 * Gives:   datagrams; counters, which anyone may read at any time.
 * Threads: open, start, stop and close belong to main; sockets are bound in the order of open, so
 *          that after a restart the kernel gives a client to the same worker.
 * Not here: sockets (worker_sockets.h), the two directions (worker_uplink.h, worker_downlink.h).
 */
#ifndef EARSHOT_RELAY_WORKER_H
#define EARSHOT_RELAY_WORKER_H

#include "services/relay/flow_cache/flow_cache.h"
#include "services/relay/relay_counters.h"
#include "services/relay/relay_keep.h"
#include "services/relay/relay_socket.h"
#include "services/relay/worker_inbox.h"

struct relay_worker;

struct relay_worker_config {
    const struct relay_config *relay; /* must outlive the worker */
    struct relay_keep *keep;          /* likewise */
    unsigned index;
    unsigned worker_count;
    int cpu; /* to be pinned to; -1 = none */
    metric_value *beat;
    struct flow_cache *cache; /* NULL = none; must outlive the worker */
};

/* Binds the sockets, or takes up what was kept. Takes the ring, also when it fails. NULL and a
 * fault. */
struct relay_worker *relay_worker_open(const struct relay_worker_config *config,
                                       struct key_ring *ring, struct fault *fault);
/* peers: all workers, this one among them; they must outlive the thread. */
MUST_USE bool relay_worker_start(struct relay_worker *w, struct relay_worker *const *peers,
                                 size_t peer_count, struct fault *fault);
/* Ends the thread, if there is one, after the turn that it is in. */
void relay_worker_stop(struct relay_worker *w);
void relay_worker_close(struct relay_worker *w);

/* Borrowed; any thread may post. */
const struct worker_inbox *relay_worker_inbox(const struct relay_worker *w);
/* Borrowed; any thread may read. */
const struct relay_counters *relay_worker_counters(const struct relay_worker *w);
/* Of its way to the transceivers. Borrowed; any thread may read. */
const struct udp_sender_counters *relay_worker_trains(const struct relay_worker *w);
/* A public socket's, for the log. */
struct relay_socket_buffers relay_worker_buffers(const struct relay_worker *w);

#endif
