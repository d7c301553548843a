/*
 * flow_table.h - which session a client's address and port belong to (docs/wire-formats.md, 4)
 *
 * A half-open flow was made by a valid token: a claim, cheap to lose. A confirmed one was made or
 * confirmed by a downlink, which a transceiver sends only after MESSAGE-INTEGRITY.
 * Takes:   what the forwarder decides; the table knows no packets.
 * Gives:   borrowed flows, valid until the next call that is handed the table without const.
 * Owns:    one 64-byte line for each flow, at most half of the lines in use; no heap after create.
 * Bounds:  flow_cap flows, a quarter of them half-open, SESSION_TALLY_MAX half-open of one session.
 *          A new half-open flow takes the place of the oldest half-open one and never of a
 *          confirmed one; a new confirmed flow takes the place of the longest idle confirmed one.
 *          A full table gives up a flow rather than refuse a new caller: the next request or
 *          downlink rebuilds a lost flow, nothing rebuilds a refused one.
 * Restart: a table may be settled on memory that outlives the process. A process that is killed at
 *          any instruction leaves each flow whole, twice or not at all; the next one takes up what
 *          is sound.
 * Time:    a flow at the end of its life is not found any more, whether or not a tick came by.
 */
#ifndef EARSHOT_FLOW_TABLE_H
#define EARSHOT_FLOW_TABLE_H

#include "common/base/net_addr.h"
#include "common/base/time_us.h"
#include "services/relay/core/session_tally.h"

#define FLOW_HALF_OPEN_LIFE_US (5 * US_PER_S)
#define FLOW_CONFIRMED_LIFE_US (60 * US_PER_S)
#define FLOW_HALF_OPEN_SHARE   4 /* one in four */
#define FLOW_CAP_MIN           16
#define FLOW_CAP_MAX           (16u << 20)
#define FLOW_TICK_MAX          256 /* flows freed by one tick */

/* What passes through a half-open flow without a token, enough for a fragmented ClientHello. */
#define FLOW_UNPROVEN_PER_S 16

/* Rather than write to its neighbours in the idle order with every packet, a confirmed flow is
 * moved when its place is this old: its 60 s are counted from a packet of the last second. */
#define FLOW_REFRESH_GRAIN_US US_PER_S

#define FLOW_SOCKET_UNKNOWN 255

#define FLOW_RIVAL_NONE 0

/* Of struct flow and its meaning: a restart with another number begins without flows. */
#define FLOW_LAYOUT 3

enum flow_state { FLOW_FREE, FLOW_HALF_OPEN, FLOW_CONFIRMED, FLOW_STATE_COUNT };

struct flow {
    struct net_addr client;
    struct flow_owner owner;
    uint64_t refreshed_us;
    uint64_t owner_sent_us; /* the owner's last downlink; counts in confirmed flows only */
    uint32_t hash;
    uint32_t older; /* slots of the neighbours in the idle order of this flow's state */
    uint32_t newer;
    uint8_t state;  /* enum flow_state */
    uint8_t socket; /* public socket the client uses, or FLOW_SOCKET_UNKNOWN */
    union {
        uint8_t
            unproven_second;  /* of a half-open flow: what unproven_count counts in, modulo 256 */
        uint8_t heard_second; /* of a confirmed one: its client last used `socket`, likewise */
    };
    union {
        uint8_t unproven_count; /* of a half-open flow */
        uint8_t rival;          /* of a confirmed one: its place in flow_rivals.h */
    };
};

static_assert(sizeof(struct flow) == 64, "one flow is one cache line");

static inline bool flow_is_over(const struct flow *flow, uint64_t now_us)
{
    const uint64_t life_us =
        flow->state == FLOW_HALF_OPEN ? FLOW_HALF_OPEN_LIFE_US : FLOW_CONFIRMED_LIFE_US;
    return time_since(flow->refreshed_us, now_us) >= life_us;
}

/* As a flow keeps it. */
static inline uint8_t flow_second(uint64_t now_us)
{
    return (uint8_t)(now_us / US_PER_S);
}

struct flow_table;
struct flow_remains;

/* flow_cap in FLOW_CAP_MIN..FLOW_CAP_MAX. NULL without memory. */
struct flow_table *flow_table_create(size_t flow_cap, struct flow_hash_seed seed);
void flow_table_destroy(struct flow_table *t);

/* Where its flows stand now, for who knows about pages. */
struct bytes_span flow_table_lines(const struct flow_table *t);

/* What flow_table_settle needs for as many flows. */
size_t flow_table_bytes(size_t flow_cap);
/* Moves an empty table to lines that the caller gives and keeps until after destroy: as many bytes,
 * aligned to a line, all of them free. Takes up what remains of another table, sorted, as far as
 * there is room: returns how many. remains: NULL = nothing. Once. */
size_t flow_table_settle(struct flow_table *t, void *lines, struct flow_remains *remains);

/* NULL when there is none, or its life is over. */
struct flow *flow_table_find(struct flow_table *t, const struct net_addr *client, uint64_t now_us);

/* Starts to load the client's line, so that a find of the same batch need not wait for memory. */
void flow_table_prefetch(const struct flow_table *t, const struct net_addr *client);

/* Makes the client's flow, new or not, a half-open one of this owner. NULL, and the table as it
 * was, when the owner has its share of half-open flows, or confirmed flows fill the table. */
struct flow *flow_table_open(struct flow_table *t, const struct net_addr *client,
                             struct flow_owner owner, uint64_t now_us);
/* Makes the client's flow, new or not, a confirmed one of this owner, who sent just now. */
struct flow *flow_table_confirm(struct flow_table *t, const struct net_addr *client,
                                struct flow_owner owner, uint64_t now_us);

/* Its life starts again. */
void flow_table_refresh(struct flow_table *t, struct flow *flow, uint64_t now_us);
/* The same, because its owner sent something toward the client. */
void flow_table_owner_sent(struct flow_table *t, struct flow *flow, uint64_t now_us);
/* One datagram without a token passes the half-open flow; false beyond FLOW_UNPROVEN_PER_S in one
 * second of the clock. */
MUST_USE bool flow_take_unproven(struct flow *flow, uint64_t now_us);

/* Frees flows whose life is over, at most FLOW_TICK_MAX. */
void flow_table_tick(struct flow_table *t, uint64_t now_us);

size_t flow_table_count(const struct flow_table *t, enum flow_state state);
/* Flows that gave their place to another, since create. */
uint64_t flow_table_evicted(const struct flow_table *t, enum flow_state state);

#endif
