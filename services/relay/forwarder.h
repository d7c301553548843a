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
#include "services/relay/flow_table.h"
#include "services/relay/route_table.h"

#define FORWARDER_LISTEN_MAX         16
#define FORWARDER_DATAGRAM_BYTES_MIN 12
#define FORWARDER_DATAGRAM_BYTES_MAX 1500
#define FORWARDER_INTERNAL_PORTS     16 /* a fixed range, shared out among the workers */

/* While its owner sent something this recently, no other session gets a flow. */
#define FORWARDER_OWNER_KEEPS_US (3 * US_PER_S)

enum forward_reason {
    /* From a client, forwarded. */
    FORWARD_UP_TOKEN,         /* a request, by its token */
    FORWARD_UP_TOKEN_NO_ROOM, /* the same, but there was no room to keep a flow */
    FORWARD_UP_FLOW,          /* anything else, by its flow */
    /* From a client, dropped. */
    FORWARD_UP_LENGTH,         /* outside 12..1,500 bytes */
    FORWARD_UP_KIND,           /* first byte is not that of STUN, DTLS or RTP (RFC 7983) */
    FORWARD_UP_STUN,           /* STUN that is not well-formed */
    FORWARD_UP_USERNAME,       /* request without a USERNAME of the form token:name */
    FORWARD_UP_TOKEN_FORM,     /* not 23 ice-chars */
    FORWARD_UP_TOKEN_KEY,      /* sealed with a key we do not have */
    FORWARD_UP_TOKEN_FORGED,   /* the check bits are not zero */
    FORWARD_UP_TOKEN_CLUSTER,  /* another cluster's */
    FORWARD_UP_TOKEN_INSTANCE, /* no transceiver of that instance id is known */
    FORWARD_UP_SOURCE_RATE,    /* its block of addresses opens flows too fast */
    FORWARD_UP_NO_FLOW,        /* not a request, and no flow */
    FORWARD_UP_UNPROVEN_RATE,  /* not a request, too many for a half-open flow */
    FORWARD_UP_FLOW_INSTANCE,  /* the flow's transceiver is not known any more */
    FORWARD_UP_UNSENT,         /* the socket refused it (counted by the worker) */
    /* From a transceiver, forwarded or taken. */
    FORWARD_DOWN_SHIM,         /* to the client that the shim names */
    FORWARD_DOWN_ANNOUNCEMENT, /* a flow was announced: nothing to send */
    /* From a transceiver, dropped. */
    FORWARD_DOWN_SOURCE,    /* sender outside transceiver_networks */
    FORWARD_DOWN_SHORT,     /* shorter than it says */
    FORWARD_DOWN_VERSION,   /* no shim, or of another version */
    FORWARD_DOWN_KEY,       /* signed with a key we do not have */
    FORWARD_DOWN_TAG,       /* the tag is wrong */
    FORWARD_DOWN_FLAGS,     /* not a downlink to a UDP client */
    FORWARD_DOWN_LENGTH,    /* inner datagram empty or above 1,500 bytes */
    FORWARD_DOWN_FORBIDDEN, /* client address that a relay must not send to */
    FORWARD_DOWN_NO_SOCKET, /* no public socket of that address family */
    FORWARD_DOWN_UNSENT,    /* the socket refused it (counted by the worker) */
    FORWARD_REASON_COUNT
};

/* "token", "no_flow": the word in metrics. */
const char *forward_reason_name(enum forward_reason reason);
bool forward_reason_is_down(enum forward_reason reason);
bool forward_reason_is_drop(enum forward_reason reason);

enum forward_action { FORWARD_DROP, FORWARD_TO_TRANSCEIVER, FORWARD_TO_CLIENT, FORWARD_NOTHING };

struct verdict {
    enum forward_reason reason;
    enum forward_action action;
    struct net_addr destination; /* the shard, or the client */
    struct flow_owner owner;
    struct bytes_view datagram; /* the client's or for the client, borrowed from the input */
    uint8_t socket;             /* TO_CLIENT: the public socket it leaves from */
    bool is_news;               /* a downlink told of a flow that was not there */
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
    struct route_networks transceiver_networks;
    struct net_addr listen[FORWARDER_LISTEN_MAX]; /* public sockets in the worker's order */
    size_t listen_count;
    struct net_addr internal; /* the first of FORWARDER_INTERNAL_PORTS */
};

struct forwarder;

/* Takes the ring, also when it fails. NULL without memory. `random` seeds the tables' hashes. */
struct forwarder *forwarder_create(const struct forwarder_config *config, struct key_ring *ring,
                                   struct random_source random);
void forwarder_destroy(struct forwarder *f);

/* For each client of a batch, before the first of its datagrams: the look-ups of the batch then
 * wait for memory together and not one after the other. Changes nothing. */
void forwarder_prefetch(const struct forwarder *f, const struct net_addr *client);
/* socket: the index in config.listen that the datagram came in on. */
struct verdict forwarder_from_client(struct forwarder *f, struct bytes_view datagram,
                                     const struct net_addr *from, uint8_t socket, uint64_t now_us);
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
/* Takes the ring and destroys the old one. */
void forwarder_set_ring(struct forwarder *f, struct key_ring *ring);

void forwarder_tick(struct forwarder *f, uint64_t now_us);
/* For counters and tests; borrowed. */
const struct flow_table *forwarder_flows(const struct forwarder *f);
const struct route_table *forwarder_routes(const struct forwarder *f);

#endif
