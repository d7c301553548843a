/*
 * relay_shim.h - the 40 bytes between relay and transceiver (docs/wire-formats.md, 3)
 *
 * Says where to look for the session and whom to answer. The tag covers the header, not the
 * datagram: every datagram is still authenticated by the transceiver.
 */
#ifndef EARSHOT_RELAY_SHIM_H
#define EARSHOT_RELAY_SHIM_H

#include "common/base/net_addr.h"
#include "common/routing/key_ring.h"

#define RELAY_SHIM_BYTES 40
#define RELAY_SHIM_MAGIC 0xe5

enum relay_shim_flag {
    RELAY_SHIM_DOWNLINK = 1,
    RELAY_SHIM_TCP = 2,
    RELAY_SHIM_ANNOUNCEMENT = 4, /* teaches a flow; no datagram follows */
    RELAY_SHIM_PROBE = 8         /* between relays; no datagram follows */
};

struct relay_shim {
    uint8_t flags;
    uint8_t key_id;
    uint16_t datagram_bytes; /* what follows the header and is real */
    uint32_t instance_id;
    uint32_t session_id;
    struct net_addr client;
};

enum relay_shim_result {
    RELAY_SHIM_OK,
    RELAY_SHIM_SHORT,   /* fewer than 40 bytes, or fewer than datagram_bytes after them */
    RELAY_SHIM_VERSION, /* magic, version, unknown flags, or the spare byte is not zero */
    RELAY_SHIM_UNKNOWN_KEY,
    RELAY_SHIM_TAG
};

/* Signs with the ring's active key; shim->key_id is ignored, and a scope of the client's address
 * does not travel. */
void relay_shim_write(struct key_ring *ring, const struct relay_shim *shim,
                      uint8_t out[RELAY_SHIM_BYTES]);
/* Whom the shim names, before anything was checked: to fetch what will be needed then. False when
 * the packet is too short for one. */
bool relay_shim_peek_client(struct bytes_view packet, struct net_addr *out);
/* packet: shim and datagram, perhaps with the padding of a train behind it. *out is set only on
 * RELAY_SHIM_OK. */
enum relay_shim_result relay_shim_read(struct key_ring *ring, struct bytes_view packet,
                                       struct relay_shim *out);

#endif
