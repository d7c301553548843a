/*
 * source_budget.h - how fast one block of addresses may open flows
 *
 * A spoofer sends from everywhere, a carrier's NAT from one block: each IPv4 /24 and IPv6 /56 has
 * a token bucket for new half-open flows.
 * Owns:    SOURCE_BUDGET_BUCKETS buckets, made at create. Blocks are hashed under a secret seed;
 *          two blocks that fall on one bucket share it, so there is no full table and nothing to
 *          evict.
 */
#ifndef EARSHOT_SOURCE_BUDGET_H
#define EARSHOT_SOURCE_BUDGET_H

#include "common/base/net_addr.h"
#include "services/relay/flow_hash.h"

#define SOURCE_BUDGET_BUCKETS   16384
#define SOURCE_BUDGET_RATE_MAX  1000000
#define SOURCE_BUDGET_BURST_MAX 1000000

struct source_budget;

/* rate_per_s in 1..SOURCE_BUDGET_RATE_MAX, burst in 1..SOURCE_BUDGET_BURST_MAX. NULL without
 * memory. */
struct source_budget *source_budget_create(uint32_t rate_per_s, uint32_t burst,
                                           struct flow_hash_seed seed);
void source_budget_destroy(struct source_budget *b);

/* Takes one token of the address's block; false when it has none now. */
MUST_USE bool source_budget_take(struct source_budget *b, const struct net_addr *source,
                                 uint64_t now_us);

#endif
