/* flow_rivals.c - see flow_rivals.h */
#include "services/relay/core/flow_rivals.h"

#include <stdlib.h>

struct claim {
    struct net_addr client;
    struct flow_owner rival;
    uint64_t sent_us;
};

struct flow_rivals {
    unsigned next; /* where to look first for a free place */
    struct claim claim[FLOW_RIVALS_MAX];
};

struct flow_rivals *flow_rivals_create(void)
{
    return calloc(1, sizeof(struct flow_rivals));
}

void flow_rivals_destroy(struct flow_rivals *r)
{
    free(r);
}

static bool is_over(const struct claim *c, uint64_t now_us)
{
    return c->sent_us == 0 || time_since(c->sent_us, now_us) >= FLOW_RIVAL_LIFE_US;
}

/* The claim that lasts on this flow, or NULL. */
static const struct claim *find(const struct flow_rivals *r, const struct flow *flow,
                                uint64_t now_us)
{
    if (flow->rival == FLOW_RIVAL_NONE) {
        return NULL;
    }
    const struct claim *c = &r->claim[flow->rival - 1];
    return net_addr_equal(&c->client, &flow->client) && !is_over(c, now_us) ? c : NULL;
}

/* A place to write to, or FLOW_RIVAL_NONE. */
static uint8_t find_room(struct flow_rivals *r, uint64_t now_us)
{
    for (unsigned tried = 0; tried < FLOW_RIVALS_MAX; tried++) {
        const unsigned at = r->next;
        r->next = (at + 1) % FLOW_RIVALS_MAX;
        if (is_over(&r->claim[at], now_us)) {
            return (uint8_t)(at + 1);
        }
    }
    return FLOW_RIVAL_NONE;
}

bool flow_rivals_claim(struct flow_rivals *r, struct flow *flow, struct flow_owner rival,
                       uint64_t now_us)
{
    assert(flow->state == FLOW_CONFIRMED && !flow_owner_equal(flow->owner, rival));
    const struct claim *known = find(r, flow, now_us);
    if (known != NULL) {
        if (flow_owner_equal(known->rival, rival)) {
            r->claim[flow->rival - 1].sent_us = now_us;
        }
        return false;
    }
    flow->rival = find_room(r, now_us);
    if (flow->rival == FLOW_RIVAL_NONE) {
        return false;
    }
    r->claim[flow->rival - 1] =
        (struct claim){.client = flow->client, .rival = rival, .sent_us = now_us};
    return true;
}

bool flow_rivals_find(const struct flow_rivals *r, struct flow *flow, struct flow_owner *out,
                      uint64_t now_us)
{
    const struct claim *claim = find(r, flow, now_us);
    if (claim == NULL) {
        flow->rival = FLOW_RIVAL_NONE;
        return false;
    }
    *out = claim->rival;
    return true;
}
