/*
 * shard_uplink.h - datagrams of relays on their way to the sessions of a shard
 *
 * Takes:   what the shard's socket received, and what came to the sockets of other shards.
 * Gives:   each datagram with its session, in the order they came; one that names another shard
 *          goes to that one's inbox; the others are dropped and counted.
 * Bounds:  a batch of udp_port.h at a time, and as many from the inbox.
 * Owns:    nothing: everything is borrowed from the shard.
 * Not here: what a session does with it (session.h), the shim (relay_leg.h).
 */
#ifndef EARSHOT_SHARD_UPLINK_H
#define EARSHOT_SHARD_UPLINK_H

#include "services/transceiver/core/session/session_registry.h"
#include "services/transceiver/port/relay_leg.h"
#include "services/transceiver/port/shard_inbox.h"
#include "services/transceiver/port/udp_port.h"

struct shard_uplink_counters {
    metric_value relay_leg[RELAY_LEG_RESULT_COUNT];
    metric_value no_session;          /* a datagram of a call that is over */
    metric_value misdirected;         /* came here, and named another shard */
    metric_value misdirected_dropped; /* of those: that one's inbox was full */
};

struct shard_uplink {
    struct udp_port *udp;
    struct session_registry *registry;
    uint32_t instance_id;
    const struct shard_inbox *inboxes; /* of all shards */
    unsigned shard;
    unsigned shard_count;
    struct shard_uplink_counters counters;
    const struct udp_arrival *received;
    size_t left;       /* of those */
    size_t inbox_left; /* so many may be taken from the inbox */
    struct shard_inbox_datagram handed_over;
};

/* The next batch. has_inbox: something waits in the inbox. */
void shard_uplink_receive(struct shard_uplink *u, bool has_inbox);
/* Whose the next datagram of the batch is; NULL after the last. *out borrows it until the next. */
struct session *shard_uplink_next(struct shard_uplink *u, struct key_ring *ring,
                                  struct relay_leg_uplink *out);

#endif
