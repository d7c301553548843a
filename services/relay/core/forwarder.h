/*
 * forwarder.h - what happens to one datagram, decided without touching a socket
 *
 * Takes:   a datagram, who sent it, and the time; announcements; what other workers learned.
 * Gives:   a verdict: send what, where, out of which socket - or nothing. Every verdict has a
 *          reason, and the reason is the index of a counter: received = the sum over all reasons.
 * Owns:    the flow table, the route table, the key ring. No heap after create.
 * Rules:   nothing is ever answered; a client's datagram goes to an address of the route table or
 *          nowhere; a flow's owner keeps it while it sends (docs/wire-formats.md, section 4).
 *          A stranger's bytes keep nothing alive: a flow is refreshed by its owner's downlinks and
 *          by requests with its owner's token, never by other datagrams.
 * Not here: sockets, batches, threads (relay_worker.h).
 */
#ifndef EARSHOT_FORWARDER_H
#define EARSHOT_FORWARDER_H

#include "common/base/random.h"
#include "common/routing/key_ring.h"
#include "common/routing/relay_shim.h"
#include "services/relay/core/flow_cache_text.h"
#include "services/relay/core/flow_rivals.h"
#include "services/relay/core/flow_table.h"
#include "services/relay/core/forward_reason.h"
#include "services/relay/core/route_table.h"

#define FORWARDER_LISTEN_MAX         16
#define FORWARDER_DATAGRAM_BYTES_MIN 12
#define FORWARDER_DATAGRAM_BYTES_MAX 1500
#define FORWARDER_INTERNAL_PORTS     16 /* a fixed range, shared out among the workers */
#define FORWARDER_TCP_PORT           63 /* that of TCP clients, this far above the first */
#define FORWARDER_RIVALS_MAX         FLOW_RIVALS_OF_CLIENT

/* While its owner sent something this recently, no other session gets a flow. */
#define FORWARDER_OWNER_KEEPS_US (3 * US_PER_S)

/* Nor does another public socket take a confirmed flow over while its client was heard on its own
 * this recently: a check of the client can be recorded and sent again, to any address of ours. */
#define FORWARDER_SOCKET_KEEPS_US (3 * US_PER_S)

/* A flow that lives is written to the flow cache once in each such period. */
#define FORWARDER_CACHE_PERIOD_US (40 * US_PER_S)

enum forward_action {
    FORWARD_DROP,
    FORWARD_TO_TRANSCEIVER,
    FORWARD_TO_CLIENT,
    FORWARD_NOTHING,
    FORWARD_HOLD /* the flow cache may know its flow: not decided yet, not to be counted yet */
};

struct verdict {
    enum forward_reason reason;
    enum forward_action action;
    struct net_addr destination; /* the shard, or the client */
    struct flow_owner owner;
    struct bytes_view datagram; /* the client's or for the client, borrowed from the input */
    uint8_t socket;             /* TO_CLIENT: the public socket it leaves from */
    bool is_news;               /* a downlink told of a flow that was not there */
    bool is_disputed;           /* TO_TRANSCEIVER: other sessions claim the flow as well */
    bool is_cache_due;          /* a downlink of a flow that the flow cache should hear of */
};

/* A flow and a route that a downlink taught one worker, for the others. */
struct forwarder_lesson {
    struct net_addr client;
    struct net_addr media_address;
    struct flow_owner owner;
};

struct forwarder_config {
    uint16_t cluster_id;
    size_t flow_cap;
    uint32_t source_flows_per_s; /* new half-open flows of one block of addresses */
    uint32_t source_flows_burst;
    bool allow_private_clients;
    bool is_tcp;    /* its clients are those of TCP: shims say so both ways */
    bool has_cache; /* a flow cache may be asked: FORWARD_HOLD for what only lacks a flow */
    struct route_networks transceiver_networks;
    /* Where clients reach it: the public UDP sockets of a worker, or (is_tcp) the TCP listeners. A
     * client's socket is an index here. */
    struct net_addr listen[FORWARDER_LISTEN_MAX];
    size_t listen_count;
    struct net_addr internal; /* the first of FORWARDER_INTERNAL_PORTS */
};

struct forwarder;

/* Takes the ring, also when it fails. NULL without memory. `random` seeds the tables' hashes. */
struct forwarder *forwarder_create(const struct forwarder_config *config, struct key_ring *ring,
                                   struct random_source random);
void forwarder_destroy(struct forwarder *f);
/* Goes on where another process ended (flow_memory.h), before anything else: noted routes are as if
 * heard just now; and, as flow_table_settle, the flows lie in these lines from now on. */
void forwarder_recall(struct forwarder *f, const struct route_notes *notes, uint64_t now_us);
size_t forwarder_settle(struct forwarder *f, void *lines, struct flow_remains *remains);

/* For each client of a batch, before the first of its datagrams: the look-ups of the batch then
 * wait for memory together and not one after the other. Changes nothing. */
void forwarder_prefetch(const struct forwarder *f, const struct net_addr *client);
/* socket: the index in config.listen that the datagram came in on. */
struct verdict forwarder_from_client(struct forwarder *f, struct bytes_view datagram,
                                     const struct net_addr *from, uint8_t socket, uint64_t now_us);
/* A disputed verdict's others: the same datagram to each session that claims the client beside the
 * flow's owner. Each authenticates it, and the wrong ones drop it. FORWARD_DROP: the client had its
 * share of copies. Returns how many; none when the claims are over. */
size_t forwarder_to_rivals(struct forwarder *f, const struct verdict *v,
                           const struct net_addr *client, struct verdict out[FORWARDER_RIVALS_MAX],
                           uint64_t now_us);
/* packet: shim and datagram, perhaps padded. */
struct verdict forwarder_from_transceiver(struct forwarder *f, struct bytes_view packet,
                                          const struct net_addr *from, uint64_t now_us);

/* The shim of a verdict TO_TRANSCEIVER for the 40 bytes in front of its datagram. */
void forwarder_write_shim(struct forwarder *f, const struct verdict *v,
                          const struct net_addr *client, uint8_t out[RELAY_SHIM_BYTES]);

enum route_result forwarder_announce(struct forwarder *f, const struct route_announcement *a,
                                     uint64_t now_us);
/* What a verdict with is_news taught, and taking it in at another worker. */
struct forwarder_lesson forwarder_lesson_of(const struct verdict *v, const struct net_addr *from);
void forwarder_learn(struct forwarder *f, const struct forwarder_lesson *lesson, uint64_t now_us);
/* Would the cache's word for this client be followed? Then it has a half-open flow now, as if by a
 * token: a downlink has to confirm it, and any valid request re-points it. */
enum forward_cache_result forwarder_from_cache(struct forwarder *f, const struct net_addr *client,
                                               const struct cached_flow *flow, uint64_t now_us);
/* What the cache should know after a verdict with is_cache_due; false when there is nothing. */
MUST_USE bool forwarder_to_cache(const struct forwarder *f, const struct verdict *v,
                                 struct cached_flow *out, uint64_t now_us);
/* Takes the ring and destroys the old one. */
void forwarder_set_ring(struct forwarder *f, struct key_ring *ring);

void forwarder_tick(struct forwarder *f, uint64_t now_us);
/* For counters and tests; borrowed. */
const struct flow_table *forwarder_flows(const struct forwarder *f);
const struct route_table *forwarder_routes(const struct forwarder *f);

#endif
