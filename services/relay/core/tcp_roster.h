/*
 * tcp_roster.h - who is connected: a bounded number of places, found by the client's address
 *
 * A connection is half-open once a frame of its client's was forwarded, and confirmed once a
 * transceiver sent something toward its client. A valid token makes the first, only a client that
 * authenticated itself the second: what is not confirmed is as cheap to lose as it was to open.
 * Takes:   addresses, as connections come and go; the roster knows no sockets.
 * Gives:   places, numbered 0..cap-1, for the caller's own table.
 * Owns:    memory for cap places, made at create.
 * Bounds:  cap places, address_max of one address (an IPv6 client has a whole /64 to call from),
 *          SESSION_TALLY_MAX confirmed ones of one session. When all are taken the oldest one that
 *          is not confirmed should go: the caller is told which.
 */
#ifndef EARSHOT_TCP_ROSTER_H
#define EARSHOT_TCP_ROSTER_H

#include "common/base/net_addr.h"
#include "services/relay/core/session_tally.h"

#define TCP_ROSTER_CAP_MAX 65536
#define TCP_ROSTER_NONE    UINT32_MAX /* no place */

enum tcp_place_state {
    TCP_PLACE_FREE,
    TCP_PLACE_NEW, /* nothing of it was forwarded yet */
    TCP_PLACE_HALF_OPEN,
    TCP_PLACE_CONFIRMED,
    TCP_PLACE_STATE_COUNT
};

struct tcp_roster;

/* cap in 1..TCP_ROSTER_CAP_MAX, address_max at least 1. NULL without memory. */
struct tcp_roster *tcp_roster_create(size_t cap, size_t address_max, struct flow_hash_seed seed);
void tcp_roster_destroy(struct tcp_roster *r);

/* Whether the client's address has fewer connections than it may have. */
bool tcp_roster_has_share(const struct tcp_roster *r, const struct net_addr *client);
/* A place for a new connection; TCP_ROSTER_NONE when all are taken. */
uint32_t tcp_roster_enter(struct tcp_roster *r, const struct net_addr *client);
/* TCP_ROSTER_NONE when all connections are confirmed. */
uint32_t tcp_roster_oldest_unconfirmed(const struct tcp_roster *r);
/* Of a new one. No other than new ones may have the client's address and port (asserted). */
void tcp_roster_half_open(struct tcp_roster *r, uint32_t place);
/* Of a half-open one. False, and no change, when the session has its share. */
MUST_USE bool tcp_roster_confirm(struct tcp_roster *r, uint32_t place, struct flow_owner owner);
/* The half-open or confirmed connection of this address and port, or TCP_ROSTER_NONE. */
uint32_t tcp_roster_find(const struct tcp_roster *r, const struct net_addr *client);
/* The newest of its new ones, or TCP_ROSTER_NONE. */
uint32_t tcp_roster_find_new(const struct tcp_roster *r, const struct net_addr *client);
void tcp_roster_leave(struct tcp_roster *r, uint32_t place);

enum tcp_place_state tcp_roster_state(const struct tcp_roster *r, uint32_t place);
size_t tcp_roster_count(const struct tcp_roster *r, enum tcp_place_state state);

#endif
