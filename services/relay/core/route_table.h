/*
 * route_table.h - where the transceivers are: instance id -> media address
 *
 * The only source of addresses that a relay sends client datagrams to.
 * Takes:   announcements, and who sent a valid downlink.
 * Gives:   the address of an instance's shard.
 * Owns:    a fixed table; no heap after create.
 * Bounds:  ROUTES_MAX instances; beyond them a new one is refused, never an old one forgotten.
 * Time:    an announced route lives ROUTE_LIFE_US after the last announcement or downlink, long
 *          enough for calls to outlive a control plane that is away. A route that only a downlink
 *          told of is provisional: PROVISIONAL_LIFE_US, or until the announcement.
 * Threads: each worker owns one; main owns one, to judge announcements and to count.
 */
#ifndef EARSHOT_ROUTE_TABLE_H
#define EARSHOT_ROUTE_TABLE_H

#include "common/base/net_addr.h"
#include "common/base/time_us.h"

#define ROUTES_MAX                4096
#define ROUTE_LIFE_US             (60 * US_PER_S)
#define ROUTE_PROVISIONAL_LIFE_US (5 * US_PER_S)
#define ROUTE_SHARDS_MAX          64
#define ROUTE_NETWORKS_MAX        16

/* Where transceivers may be: an allow-list for announcements and for senders of downlinks. */
struct route_networks {
    struct net_block block[ROUTE_NETWORKS_MAX];
    size_t count;
};

struct route_announcement {
    uint32_t instance_id;
    uint16_t cluster_id;
    uint16_t shard_count;          /* 0 counts as 1 */
    struct net_addr media_address; /* of shard 0; shard s is at port + s */
    uint64_t start_time_unix_us;   /* of the process */
    uint64_t sequence;             /* of the announcement */
};

enum route_result {
    ROUTE_NEW,           /* a new instance, or the first word of a provisional one */
    ROUTE_KEPT,          /* known; its life starts again */
    ROUTE_MOVED,         /* known at another address, but this process is the older: it wins */
    ROUTE_CONFLICT,      /* known, from an older process or the same one elsewhere: ignored */
    ROUTE_STALE,         /* sequence not newer: ignored */
    ROUTE_OTHER_CLUSTER, /* not our cluster id: ignored */
    ROUTE_FORBIDDEN,     /* address outside transceiver_networks, or no address: ignored */
    ROUTE_FULL,          /* no room for another instance */
    ROUTE_RESULT_COUNT
};

/* "new", "conflict": the words of metrics and logs. */
const char *route_result_name(enum route_result result);
/* The table took it: a copy of the table must hear of it too. */
static inline bool route_result_is_taken(enum route_result result)
{
    return result <= ROUTE_MOVED;
}

/* Announced routes for the next process, in memory that outlives this one. */
#define ROUTE_NOTES_LAYOUT 1

struct route_note {
    struct net_addr media_address;
    uint32_t instance_id;
    uint32_t is_there; /* written last: a process may be killed at any instruction */
};

struct route_notes {
    uint64_t noted_us;
    struct route_note note[ROUTES_MAX];
};

struct route_table;

/* NULL without memory. */
struct route_table *route_table_create(uint16_t cluster_id, const struct route_networks *networks);
void route_table_destroy(struct route_table *t);

enum route_result route_table_announce(struct route_table *t, const struct route_announcement *a,
                                       uint64_t now_us);
/* A valid downlink of this instance came from a shard whose base address is this: gives an unknown
 * instance a provisional route, and a known one a new life. */
void route_table_heard(struct route_table *t, uint32_t instance_id,
                       const struct net_addr *media_address, uint64_t now_us);
/* The address of the instance's shard; false for an unknown instance or a shard it has not. */
MUST_USE bool route_table_find(const struct route_table *t, uint32_t instance_id, uint32_t shard,
                               struct net_addr *out, uint64_t now_us);
/* Is the address inside transceiver_networks? */
bool route_table_admits(const struct route_table *t, const struct net_addr *address);

/* Forgets routes whose life is over. */
void route_table_tick(struct route_table *t, uint64_t now_us);
/* The same for one of them, and tells whose it was; false when there is none (any more). */
MUST_USE bool route_table_take_lost(struct route_table *t, uint32_t *out_instance_id,
                                    uint64_t now_us);
size_t route_table_count(const struct route_table *t);

void route_table_note(const struct route_table *t, struct route_notes *out, uint64_t now_us);
/* Hears of each noted route: it is provisional, until it is announced. Nothing if the notes are
 * older than a route may be. */
void route_table_recall(struct route_table *t, const struct route_notes *notes, uint64_t now_us);

#endif
