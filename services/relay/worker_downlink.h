/*
 * worker_downlink.h - one batch of datagrams from transceivers, on their way to clients
 *
 * Takes:   what waits at an internal socket.
 * Gives:   each datagram, without its shim, to the client that the shim names, out of the public
 *          socket that the forwarder's verdict names; lessons for the other workers' inboxes;
 *          flows for the flow cache.
 * Owns:    one batch of memory; no heap after open. Sockets, forwarder and counters are the
 *          worker's.
 */
#ifndef EARSHOT_WORKER_DOWNLINK_H
#define EARSHOT_WORKER_DOWNLINK_H

#include "services/relay/worker_cache.h"
#include "services/relay/worker_inbox.h"
#include "services/relay/worker_sockets.h"

/* After a start, since a client's datagrams may reach another worker than the one that its
 * downlinks teach. */
#define RELAY_LESSON_TIME_US (5 * US_PER_S)

/* On their way out of one public socket. */
struct client_packets {
    struct udp_sender *sender;
    struct udp_packet packet[UDP_ARRIVALS_MAX];
    size_t count;
};

struct worker_downlink {
    struct forwarder *forwarder;
    struct relay_counters *counters;
    struct worker_cache *cache;
    struct udp_receiver *receiver;
    struct client_packets *out; /* by public socket */
    size_t public_count;
    unsigned batch_number;

    const struct worker_inbox *peer[RELAY_WORKERS_MAX]; /* the other workers' */
    size_t peer_count;
    uint64_t teaches_until_us;
};

/* False without memory. Fine to close then. */
MUST_USE bool worker_downlink_open(struct worker_downlink *d, const struct worker_sockets *sockets,
                                   struct forwarder *forwarder, struct worker_cache *cache,
                                   struct relay_counters *counters);
void worker_downlink_close(struct worker_downlink *d);

/* What is learned in the next RELAY_LESSON_TIME_US is told to the others, which must outlive it.
 * Before the first serve. */
void worker_downlink_teach(struct worker_downlink *d, const struct worker_inbox *peer,
                           uint64_t now_us);

/* True when more may wait. */
bool worker_downlink_serve(struct worker_downlink *d, struct worker_socket *s);

#endif
