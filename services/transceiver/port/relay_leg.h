/*
 * relay_leg.h - the shim on and off: what a shard and its relays say to each other
 *
 * Takes:   a datagram of a relay; a datagram of a session from the outbox.
 * Gives:   whose it is and where it came from; the same with its shim in the headroom.
 * Safety:  the shim is only a hint about where to look and whom to answer: the session still
 *          authenticates every datagram.
 * Not here: two layers (Global Relay), sockets (udp_port.h).
 */
#ifndef EARSHOT_RELAY_LEG_H
#define EARSHOT_RELAY_LEG_H

#include "common/routing/relay_shim.h"
#include "common/udp/udp_receiver.h"
#include "common/udp/udp_sender.h"
#include "services/transceiver/core/outbox.h"

/* Of a client; a relay sends no longer one. */
#define RELAY_LEG_DATAGRAM_BYTES_MAX 1500

enum relay_leg_result {
    RELAY_LEG_OK,
    RELAY_LEG_SHORT,
    RELAY_LEG_VERSION, /* magic, version or flags: also a datagram that no relay wrapped */
    RELAY_LEG_UNKNOWN_KEY,
    RELAY_LEG_TAG,
    RELAY_LEG_TOO_LONG,
    RELAY_LEG_INSTANCE, /* meant for another transceiver, or for one that is gone */
    RELAY_LEG_RESULT_COUNT
};

/* "unknown_key": the label of the counter. */
const char *relay_leg_result_name(enum relay_leg_result result);

struct relay_leg_uplink {
    uint32_t session_id;
    struct net_path path;
    struct bytes_span datagram; /* the client's, inside the received one; no room behind it */
};

enum relay_leg_result relay_leg_unwrap(struct key_ring *ring, uint32_t instance_id,
                                       const struct udp_arrival *received,
                                       struct relay_leg_uplink *out);

/* Writes the shim before datagram->data. The result borrows the datagram and the room behind it. */
struct udp_packet relay_leg_wrap(struct key_ring *ring, uint32_t instance_id,
                                 const struct outbox_datagram *datagram);

#endif
