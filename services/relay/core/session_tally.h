/*
 * session_tally.h - how many half-open flows, or connections, each session has
 *
 * One leaked token must not fill the flow table, nor one call the places of TCP clients: a session
 * is allowed SESSION_TALLY_MAX and no more. The count is exact.
 * Takes:   owners, as what they have comes and goes.
 * Owns:    a fixed table made at create: as many sessions as there may be of what is counted.
 * Fails:   add refuses the session that has its share; the table itself can not be full as long
 *          as the caller keeps to cap in all (asserted).
 */
#ifndef EARSHOT_SESSION_TALLY_H
#define EARSHOT_SESSION_TALLY_H

#include "services/relay/core/flow_hash.h"

#define SESSION_TALLY_MAX 32

struct flow_owner {
    uint32_t instance_id;
    uint32_t session_id;
};

static inline bool flow_owner_equal(struct flow_owner a, struct flow_owner b)
{
    return a.instance_id == b.instance_id && a.session_id == b.session_id;
}

struct session_tally;

/* NULL without memory. */
struct session_tally *session_tally_create(size_t cap, struct flow_hash_seed seed);
void session_tally_destroy(struct session_tally *t);

/* One more of this owner's; false (and no change) when it has SESSION_TALLY_MAX already. */
MUST_USE bool session_tally_add(struct session_tally *t, struct flow_owner owner);
/* One less; it must have been added. */
void session_tally_remove(struct session_tally *t, struct flow_owner owner);
unsigned session_tally_count(const struct session_tally *t, struct flow_owner owner);

#endif
