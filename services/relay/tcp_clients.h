/*
 * tcp_clients.h - the connections of clients whose network blocks UDP, and what passes through them
 *
 * Takes:   connections; events of its epoll, whose number below TCP_ROSTER_CAP_MAX is a place here
 *          and above it a listening socket; datagrams for clients.
 * Gives:   each frame of a client as a datagram to the shard that the forwarder's verdict names.
 * Owns:    its sockets, memory for all its places, made at open; pages of the output queues are
 *          given back with the connection. Forwarder, sender, cache and counters are the caller's.
 * Rules:   the first frame must be forwarded, at once or when the flow cache knew its client, else
 *          the connection ends with no byte. A client address has one connection; the newest that
 *          is forwarded from replaces the one before. What a transceiver sends confirms it.
 *          Nothing is sent to who is not connected. Who sends frames too fast is not read from
 *          until the next sweep: nothing of it is lost, and TCP slows it down.
 * Fails:   without descriptors nobody is let in until the next sweep.
 * Threads: one.
 */
#ifndef EARSHOT_TCP_CLIENTS_H
#define EARSHOT_TCP_CLIENTS_H

#include "common/udp/udp_sender.h"
#include "services/relay/core/tcp_connection.h"
#include "services/relay/core/tcp_roster.h"
#include "services/relay/relay_config.h"
#include "services/relay/tcp_uplink.h"
#include "services/relay/worker_cache.h"

/* One writer: the TCP thread. */
struct tcp_counters {
    metric_value connections[TCP_PLACE_STATE_COUNT]; /* now */
    metric_value opened;                             /* since start, and those that never began */
    metric_value ended[TCP_END_COUNT];
    metric_value paused;              /* times that a client was not read from for a while */
    metric_value without_descriptors; /* times that nobody could be let in */
};

struct tcp_client; /* one connection and its socket */

struct tcp_clients {
    struct forwarder *forwarder;
    struct tcp_uplink uplink;
    struct worker_cache *cache;
    struct relay_counters *counters;
    struct tcp_counters *tcp_counters;
    int epoll_fd;
    int listen_fd[FORWARDER_LISTEN_MAX];
    size_t listen_count;
    bool is_accepting;
    struct tcp_roster *roster;
    size_t cap;
    struct tcp_client *client; /* by place */
    uint8_t *rings;            /* TCP_OUTPUT_BYTES for each place */
};

/* What the clients of one TCP thread have in common. */
struct tcp_clients_config {
    const struct relay_tcp_config *tcp;
    struct forwarder *forwarder;
    struct udp_sender *sender; /* to transceivers */
    struct worker_cache *cache;
    struct relay_counters *counters;
    struct tcp_counters *tcp_counters;
    int epoll_fd;
};

/* Listens. False and a fault; close it also then. */
MUST_USE bool tcp_clients_open(struct tcp_clients *c, const struct tcp_clients_config *config,
                               struct random_source random, struct fault *fault);
void tcp_clients_close(struct tcp_clients *c);

/* An event of the epoll with this number, below TCP_ROSTER_CAP_MAX + listen_count. What clients
 * sent goes to transceivers at the next flush, or earlier. */
void tcp_clients_serve(struct tcp_clients *c, uint32_t number, uint64_t now_us);
/* A verdict TO_CLIENT; false when that one is not connected. Counted when it is written, or not. */
MUST_USE bool tcp_clients_send(struct tcp_clients *c, const struct verdict *v, uint64_t now_us);
/* Frames that were held while the flow cache was asked: now they pass, or end their connection. */
void tcp_clients_take_held(struct tcp_clients *c, const struct held_batch *held, uint64_t now_us);
void tcp_clients_flush(struct tcp_clients *c);
/* Ends what is overdue, reads on where it was paused. Four times a second is often enough. */
void tcp_clients_sweep(struct tcp_clients *c, uint64_t now_us);

#endif
