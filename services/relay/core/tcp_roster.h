/*
 * tcp_roster.h - who is connected: a bounded number of places, found by the client's address
 *
 * A connection is proven once its first frame was forwarded. Until then it is anybody's, as cheap
 * to lose as it was to open.
 * Takes:   addresses, as connections come and go; the roster knows no sockets.
 * Gives:   places, numbered 0..cap-1, for the caller's own table.
 * Owns:    memory for cap places, made at create.
 * Bounds:  cap places, address_max of one address (an IPv6 client has a whole /64 to call from).
 *          When all are taken the oldest unproven connection should go: the caller is told which.
 */
#ifndef EARSHOT_TCP_ROSTER_H
#define EARSHOT_TCP_ROSTER_H

#include "common/base/net_addr.h"
#include "services/relay/core/flow_hash.h"

#define TCP_ROSTER_CAP_MAX 65536
#define TCP_ROSTER_NONE    UINT32_MAX /* no place */

struct tcp_roster;

/* cap in 1..TCP_ROSTER_CAP_MAX, address_max at least 1. NULL without memory. */
struct tcp_roster *tcp_roster_create(size_t cap, size_t address_max, struct flow_hash_seed seed);
void tcp_roster_destroy(struct tcp_roster *r);

/* Whether the client's address has fewer connections than it may have. */
bool tcp_roster_has_share(const struct tcp_roster *r, const struct net_addr *client);
/* A place for a connection that is not proven yet; TCP_ROSTER_NONE when all are taken. */
uint32_t tcp_roster_enter(struct tcp_roster *r, const struct net_addr *client);
/* TCP_ROSTER_NONE when all connections are proven. */
uint32_t tcp_roster_oldest_unproven(const struct tcp_roster *r);
/* No other proven connection may have the client's address and port (asserted). */
void tcp_roster_prove(struct tcp_roster *r, uint32_t place);
/* The proven connection of this address and port, or TCP_ROSTER_NONE. */
uint32_t tcp_roster_find(const struct tcp_roster *r, const struct net_addr *client);
/* The newest of its unproven ones, or TCP_ROSTER_NONE. */
uint32_t tcp_roster_find_unproven(const struct tcp_roster *r, const struct net_addr *client);
void tcp_roster_leave(struct tcp_roster *r, uint32_t place);

size_t tcp_roster_proven_count(const struct tcp_roster *r);
size_t tcp_roster_unproven_count(const struct tcp_roster *r);

#endif
