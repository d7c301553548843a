/*
 * tcp_ingress.h - the thread for clients whose network blocks UDP (ICE over TCP, RFC 6544)
 *
 * One more worker, with a forwarder of its own: TCP connections on one side, on the other the
 * internal port FORWARDER_TCP_PORT above the first, so that the answers of transceivers come here,
 * also after a restart.
 * Takes:   frames of clients, datagrams of transceivers, messages in its inbox.
 * Gives:   datagrams and frames; counters, which anyone may read at any time.
 * Restart: connections end with the process. A downlink teaches the new one a client that is not
 *          connected yet; so a client that comes back from the same port may begin with media.
 * Threads: open, start, stop and close belong to main.
 */
#ifndef EARSHOT_TCP_INGRESS_H
#define EARSHOT_TCP_INGRESS_H

#include "services/relay/tcp_clients.h"
#include "services/relay/worker_inbox.h"

struct tcp_ingress;

struct tcp_ingress_config {
    const struct relay_config *relay; /* with one address of tcp.listen at least */
    struct flow_cache *cache;         /* NULL = none; must outlive it */
    metric_value *beat;
};

/* The port of the flow cache's that this thread has, behind those of the workers. */
#define TCP_INGRESS_CACHE_PORT RELAY_WORKERS_MAX

/* Listens. Takes the ring, also when it fails. NULL and a fault. */
struct tcp_ingress *tcp_ingress_open(const struct tcp_ingress_config *config, struct key_ring *ring,
                                     struct fault *fault);
MUST_USE bool tcp_ingress_start(struct tcp_ingress *t, struct fault *fault);
/* Ends the thread, if there is one; takes up to half a second. */
void tcp_ingress_stop(struct tcp_ingress *t);
void tcp_ingress_close(struct tcp_ingress *t);

/* Borrowed; any thread may post. */
const struct worker_inbox *tcp_ingress_inbox(const struct tcp_ingress *t);
/* Borrowed; any thread may read. */
const struct relay_counters *tcp_ingress_counters(const struct tcp_ingress *t);
const struct tcp_counters *tcp_ingress_tcp_counters(const struct tcp_ingress *t);
/* How many may connect at the same time. */
size_t tcp_ingress_places(const struct tcp_ingress *t);

#endif
