/*
 * shard_uplink.h - datagrams of relays on their way to the sessions of a shard
 *
 * Takes:   what the shard's socket received.
 * Gives:   each datagram with its session, in the order they came; the others are dropped and
 *          counted.
 * Bounds:  a batch of udp_port.h at a time.
 * Owns:    nothing: everything is borrowed from the shard.
 * Not here: what a session does with it (session.h), the shim (relay_leg.h).
 */
#ifndef EARSHOT_SHARD_UPLINK_H
#define EARSHOT_SHARD_UPLINK_H

#include "services/transceiver/core/session/session_registry.h"
#include "services/transceiver/port/relay_leg.h"
#include "services/transceiver/port/udp_port.h"

struct shard_uplink_counters {
    metric_value relay_leg[RELAY_LEG_RESULT_COUNT];
    metric_value no_session; /* a datagram of a call that is over */
};

struct shard_uplink {
    struct udp_port *udp;
    struct session_registry *registry;
    uint32_t instance_id;
    struct shard_uplink_counters counters;
    const struct udp_arrival *received;
    size_t left; /* of those */
};

/* The next batch. */
void shard_uplink_receive(struct shard_uplink *u);
/* Whose the next datagram of the batch is; NULL after the last. */
struct session *shard_uplink_next(struct shard_uplink *u, struct key_ring *ring,
                                  struct relay_leg_uplink *out);

#endif
