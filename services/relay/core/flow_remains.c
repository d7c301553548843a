/* flow_remains.c - copied out in the order of the lines, sorted by counting the milliseconds */
#include "services/relay/core/flow_remains.h"

#include <stdlib.h>

/* A flow that is not over was refreshed in one of these. */
#define AGES ((size_t)(FLOW_CONFIRMED_LIFE_US / US_PER_MS))

static_assert(FLOW_CONFIRMED_LIFE_US >= FLOW_HALF_OPEN_LIFE_US, "the longest life of a flow");

struct flow_remains {
    size_t socket_count;
    uint64_t now_us;
    size_t count;
    size_t cap;
    struct flow *flow;    /* zeros of a large calloc cost nothing until they are used */
    uint32_t *sorted;     /* indices of flow, the oldest first */
    uint32_t after[AGES]; /* in sorted: where the flows of this age go next */
};

struct flow_remains *flow_remains_create(size_t flow_cap, size_t socket_count, uint64_t now_us)
{
    struct flow_remains *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->socket_count = socket_count;
    r->now_us = now_us;
    r->cap = flow_table_bytes(flow_cap) / sizeof(struct flow);
    r->flow = calloc(r->cap, sizeof(*r->flow));
    r->sorted = calloc(r->cap, sizeof(*r->sorted));
    if (r->flow == NULL || r->sorted == NULL) {
        flow_remains_destroy(r);
        return NULL;
    }
    return r;
}

void flow_remains_destroy(struct flow_remains *r)
{
    if (r == NULL) {
        return;
    }
    free(r->flow);
    free(r->sorted);
    free(r);
}

/* Only what this code can have written, and still means something now. */
static bool is_sound(const struct flow *flow, size_t socket_count, uint64_t now_us)
{
    return (flow->state == FLOW_HALF_OPEN || flow->state == FLOW_CONFIRMED) &&
           flow->client.port != 0 && flow->client.zero == 0 &&
           (flow->socket < socket_count || flow->socket == FLOW_SOCKET_UNKNOWN) &&
           flow->refreshed_us <= now_us && flow->owner_sent_us <= now_us &&
           !flow_is_over(flow, now_us);
}

void flow_remains_collect(struct flow_remains *r, struct bytes_span lines)
{
    struct flow *line = (struct flow *)(void *)lines.data;
    const size_t line_count = lines.len / sizeof(*line);
    for (size_t i = 0; i < line_count; i++) {
        if (line[i].state == FLOW_FREE) {
            continue;
        }
        if (is_sound(&line[i], r->socket_count, r->now_us)) {
            assert(r->count < r->cap);
            r->flow[r->count++] = line[i];
        }
        line[i].state = FLOW_FREE;
    }
}

static size_t age_of(const struct flow *flow, uint64_t now_us)
{
    return (size_t)(time_since(flow->refreshed_us, now_us) / US_PER_MS);
}

void flow_remains_sort(struct flow_remains *r)
{
    memset(r->after, 0, sizeof(r->after));
    for (size_t i = 0; i < r->count; i++) {
        r->after[age_of(&r->flow[i], r->now_us)]++;
    }
    uint32_t older = 0;
    for (size_t age = AGES; age-- > 0;) {
        const uint32_t of_age = r->after[age];
        r->after[age] = older;
        older += of_age;
    }
    for (size_t i = 0; i < r->count; i++) {
        r->sorted[r->after[age_of(&r->flow[i], r->now_us)]++] = (uint32_t)i;
    }
}

size_t flow_remains_count(const struct flow_remains *r)
{
    return r->count;
}

struct flow *flow_remains_at(struct flow_remains *r, size_t i)
{
    assert(i < r->count);
    return &r->flow[r->sorted[i]];
}
