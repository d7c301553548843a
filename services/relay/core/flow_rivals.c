/* flow_rivals.c - see flow_rivals.h */
#include "services/relay/core/flow_rivals.h"

#include "services/relay/core/rate_buckets.h"

#include <stdlib.h>

struct claim {
    struct flow_owner rival;
    uint64_t sent_us; /* 0: never */
};

struct place {
    struct net_addr client;
    struct rate_bucket copies;
    struct claim claim[FLOW_RIVALS_OF_CLIENT];
};

struct flow_rivals {
    unsigned next; /* where to look first for a free place */
    struct place place[FLOW_RIVALS_MAX];
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

static bool is_free(const struct place *p, uint64_t now_us)
{
    for (size_t i = 0; i < FLOW_RIVALS_OF_CLIENT; i++) {
        if (!is_over(&p->claim[i], now_us)) {
            return false;
        }
    }
    return true;
}

/* The place of this flow while a claim on it lasts, or NULL. */
static struct place *find(struct flow_rivals *r, const struct flow *flow, uint64_t now_us)
{
    if (flow->rival == FLOW_RIVAL_NONE) {
        return NULL;
    }
    struct place *p = &r->place[flow->rival - 1];
    return net_addr_equal(&p->client, &flow->client) && !is_free(p, now_us) ? p : NULL;
}

/* NULL: each is in use. */
static struct place *take_free(struct flow_rivals *r, struct flow *flow, uint64_t now_us)
{
    flow->rival = FLOW_RIVAL_NONE;
    for (unsigned tried = 0; tried < FLOW_RIVALS_MAX; tried++) {
        const unsigned at = r->next;
        r->next = (at + 1) % FLOW_RIVALS_MAX;
        if (is_free(&r->place[at], now_us)) {
            flow->rival = (uint8_t)(at + 1);
            r->place[at] = (struct place){.client = flow->client};
            rate_bucket_init(&r->place[at].copies, FLOW_RIVAL_COPIES_PER_S,
                             FLOW_RIVAL_COPIES_BURST);
            return &r->place[at];
        }
    }
    return NULL;
}

bool flow_rivals_claim(struct flow_rivals *r, struct flow *flow, struct flow_owner rival,
                       uint64_t now_us)
{
    assert(flow->state == FLOW_CONFIRMED && !flow_owner_equal(flow->owner, rival));
    struct place *p = find(r, flow, now_us);
    if (p == NULL && (p = take_free(r, flow, now_us)) == NULL) {
        return false;
    }
    struct claim *longest_silent = &p->claim[0];
    for (size_t i = 0; i < FLOW_RIVALS_OF_CLIENT; i++) {
        struct claim *c = &p->claim[i];
        if (!is_over(c, now_us) && flow_owner_equal(c->rival, rival)) {
            c->sent_us = now_us;
            return false;
        }
        longest_silent = c->sent_us < longest_silent->sent_us ? c : longest_silent;
    }
    *longest_silent = (struct claim){.rival = rival, .sent_us = now_us};
    return true;
}

size_t flow_rivals_find(struct flow_rivals *r, struct flow *flow,
                        struct flow_owner out[FLOW_RIVALS_OF_CLIENT], uint64_t now_us)
{
    const struct place *p = find(r, flow, now_us);
    if (p == NULL) {
        flow->rival = FLOW_RIVAL_NONE;
        return 0;
    }
    size_t count = 0;
    for (size_t i = 0; i < FLOW_RIVALS_OF_CLIENT; i++) {
        /* A claim may have become the owner's meanwhile. */
        if (!is_over(&p->claim[i], now_us) && !flow_owner_equal(p->claim[i].rival, flow->owner)) {
            out[count++] = p->claim[i].rival;
        }
    }
    return count;
}

bool flow_rivals_take_copy(struct flow_rivals *r, const struct flow *flow, uint64_t now_us)
{
    assert(flow->rival != FLOW_RIVAL_NONE);
    return rate_bucket_take(&r->place[flow->rival - 1].copies, now_us);
}
