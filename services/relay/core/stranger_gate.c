/* stranger_gate.c - see stranger_gate.h */
#include "services/relay/core/stranger_gate.h"

#include <stdlib.h>

struct stranger_gate {
    struct rate_bucket checks;
    struct rate_bucket reserve;
    struct rate_buckets *refusals; /* of a block */
    struct rate_buckets *flows;    /* of a block */
    struct rate_buckets *requests; /* to a session */
};

struct stranger_gate *stranger_gate_create(uint32_t flows_per_s, uint32_t flows_burst,
                                           struct flow_hash_seed seed)
{
    struct stranger_gate *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        return NULL;
    }
    rate_bucket_init(&g->checks, STRANGER_CHECKS_PER_S, STRANGER_CHECKS_BURST);
    rate_bucket_init(&g->reserve, STRANGER_CHECKS_PER_S, STRANGER_CHECKS_BURST);
    g->refusals = rate_buckets_create(STRANGER_REFUSALS_PER_S, STRANGER_REFUSALS_BURST, seed);
    g->flows = rate_buckets_create(flows_per_s, flows_burst, seed);
    g->requests = rate_buckets_create(STRANGER_REQUESTS_PER_S, STRANGER_REQUESTS_BURST, seed);
    if (g->refusals == NULL || g->flows == NULL || g->requests == NULL) {
        stranger_gate_destroy(g);
        return NULL;
    }
    return g;
}

void stranger_gate_destroy(struct stranger_gate *g)
{
    if (g == NULL) {
        return;
    }
    rate_buckets_destroy(g->refusals);
    rate_buckets_destroy(g->flows);
    rate_buckets_destroy(g->requests);
    free(g);
}

bool stranger_gate_opens_token(struct stranger_gate *g, const struct net_addr *from,
                               uint64_t now_us)
{
    if (rate_bucket_take(&g->checks, now_us)) {
        return true;
    }
    return !rate_buckets_is_spent(g->refusals, rate_buckets_block_of(from), now_us) &&
           rate_bucket_take(&g->reserve, now_us);
}

void stranger_gate_note_refusal(struct stranger_gate *g, const struct net_addr *from,
                                uint64_t now_us)
{
    (void)rate_buckets_take(g->refusals, rate_buckets_block_of(from), now_us);
}

bool stranger_gate_passes_request(struct stranger_gate *g, struct flow_owner owner, uint64_t now_us)
{
    return rate_buckets_take(g->requests, bytes_view_of((const uint8_t *)&owner, sizeof(owner)),
                             now_us);
}

bool stranger_gate_opens_flow(struct stranger_gate *g, const struct net_addr *from, uint64_t now_us)
{
    return rate_buckets_take(g->flows, rate_buckets_block_of(from), now_us);
}
