/* source_budget.c - a token bucket kept as one time per block: when it will be full again */
#include "services/relay/source_budget.h"

#include "common/base/time_us.h"

#include <assert.h>
#include <stdlib.h>

#define IPV4_BLOCK_BYTES 15 /* ::ffff:a.b.c, that is /24 */
#define IPV6_BLOCK_BYTES 7  /* /56 */

struct source_budget {
    struct flow_hash_seed seed;
    uint64_t token_us; /* the time in which one token comes back */
    uint64_t burst_us; /* the time in which all of them do */
    uint64_t full_us[SOURCE_BUDGET_BUCKETS];
};

struct source_budget *source_budget_create(uint32_t rate_per_s, uint32_t burst,
                                           struct flow_hash_seed seed)
{
    assert(rate_per_s >= 1 && rate_per_s <= SOURCE_BUDGET_RATE_MAX);
    assert(burst >= 1 && burst <= SOURCE_BUDGET_BURST_MAX);
    struct source_budget *b = calloc(1, sizeof(*b));
    if (b == NULL) {
        return NULL;
    }
    b->seed = seed;
    b->token_us = US_PER_S / rate_per_s;
    b->burst_us = b->token_us * burst;
    return b;
}

void source_budget_destroy(struct source_budget *b)
{
    free(b);
}

bool source_budget_take(struct source_budget *b, const struct net_addr *source, uint64_t now_us)
{
    const size_t block_bytes = net_addr_is_ipv4(source) ? IPV4_BLOCK_BYTES : IPV6_BLOCK_BYTES;
    const uint64_t hash = flow_hash(&b->seed, source->ip, block_bytes);
    uint64_t *full_us = &b->full_us[hash % SOURCE_BUDGET_BUCKETS];
    const uint64_t next_us = time_later(*full_us, now_us) + b->token_us;
    if (next_us - now_us > b->burst_us) {
        return false;
    }
    *full_us = next_us;
    return true;
}
