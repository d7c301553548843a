/* rate_buckets.c - a token bucket kept as one time: when it will be full again */
#include "services/relay/core/rate_buckets.h"

#include "common/base/time_us.h"

#include <assert.h>
#include <stdlib.h>

#define IPV4_BLOCK_BYTES 15 /* ::ffff:a.b.c, that is /24 */
#define IPV6_BLOCK_BYTES 7  /* /56 */

struct rate_buckets {
    struct flow_hash_seed seed;
    struct rate_bucket pace; /* its times; full_us is not used */
    uint64_t full_us[RATE_BUCKETS];
};

void rate_bucket_init(struct rate_bucket *b, uint32_t rate_per_s, uint32_t burst)
{
    assert(rate_per_s >= 1 && rate_per_s <= RATE_BUCKETS_RATE_MAX);
    assert(burst >= 1 && burst <= RATE_BUCKETS_BURST_MAX);
    const uint64_t token_us = US_PER_S / rate_per_s;
    *b = (struct rate_bucket){.token_us = token_us, .burst_us = token_us * burst};
}

/* When it is full again after one more token, or 0: there is none now. */
static uint64_t full_after(const struct rate_bucket *pace, uint64_t full_us, uint64_t now_us)
{
    const uint64_t next_us = time_later(full_us, now_us) + pace->token_us;
    return next_us - now_us > pace->burst_us ? 0 : next_us;
}

bool rate_bucket_take(struct rate_bucket *b, uint64_t now_us)
{
    const uint64_t next_us = full_after(b, b->full_us, now_us);
    b->full_us = next_us != 0 ? next_us : b->full_us;
    return next_us != 0;
}

struct rate_buckets *rate_buckets_create(uint32_t rate_per_s, uint32_t burst,
                                         struct flow_hash_seed seed)
{
    struct rate_buckets *b = calloc(1, sizeof(*b));
    if (b == NULL) {
        return NULL;
    }
    b->seed = seed;
    rate_bucket_init(&b->pace, rate_per_s, burst);
    return b;
}

void rate_buckets_destroy(struct rate_buckets *b)
{
    free(b);
}

static size_t bucket_of(const struct rate_buckets *b, struct bytes_view who)
{
    return flow_hash(&b->seed, who.data, who.len) % RATE_BUCKETS;
}

bool rate_buckets_take(struct rate_buckets *b, struct bytes_view who, uint64_t now_us)
{
    uint64_t *full_us = &b->full_us[bucket_of(b, who)];
    const uint64_t next_us = full_after(&b->pace, *full_us, now_us);
    *full_us = next_us != 0 ? next_us : *full_us;
    return next_us != 0;
}

bool rate_buckets_is_spent(const struct rate_buckets *b, struct bytes_view who, uint64_t now_us)
{
    return full_after(&b->pace, b->full_us[bucket_of(b, who)], now_us) == 0;
}

struct bytes_view rate_buckets_block_of(const struct net_addr *address)
{
    const size_t len = net_addr_is_ipv4(address) ? IPV4_BLOCK_BYTES : IPV6_BLOCK_BYTES;
    return bytes_view_of(address->ip, len);
}
