/*
 * sim_relay.h - the relay of a simulated cluster: a real forwarder, its addresses, one transceiver
 *
 * Takes:   datagrams of clients, and the transceiver's.
 * Gives:   what leaves on the other side.
 */
#ifndef EARSHOT_SIM_RELAY_H
#define EARSHOT_SIM_RELAY_H

#include "common/routing/key_ring.h"
#include "services/relay/core/forwarder.h"

#define SIM_RELAY_CLUSTER_ID 1

struct sim_relay {
    struct forwarder_config config;
    const struct key_ring *ring; /* borrowed */
    struct random_source random;
    struct forwarder *forwarder;
};

void sim_relay_init(struct sim_relay *r, const struct key_ring *ring, struct random_source random);
void sim_relay_deinit(struct sim_relay *r);

/* It dies and comes back with nothing in memory, not even an announcement. */
void sim_relay_restart(struct sim_relay *r);

/* The transceiver makes itself known. */
void sim_relay_announce(struct sim_relay *r, uint32_t instance_id, uint64_t now_us);

/* What goes to the transceiver for a client's datagram, behind a shim; its length, 0: nothing. */
size_t sim_relay_from_client(struct sim_relay *r, const struct net_addr *from,
                             struct bytes_view datagram, uint8_t *out, uint64_t now_us);
struct verdict sim_relay_from_transceiver(struct sim_relay *r, struct bytes_view packet,
                                          uint64_t now_us);

#endif
