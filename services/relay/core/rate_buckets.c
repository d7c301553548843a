/* rate_buckets.c - a token bucket kept as one time: when it will be full again */
#include "services/relay/core/rate_buckets.h"

#include "common/base/time_us.h"

#include <assert.h>
#include <stdlib.h>

#define IPV4_BLOCK_BYTES 15 /* ::ffff:a.b.c, that is /24 */
#define IPV6_BLOCK_BYTES 7  /* /56 */

#define NS_PER_US 1000
#define NS_PER_S  (NS_PER_US * US_PER_S)

struct rate_buckets {
    struct flow_hash_seed seed;
    struct rate_bucket pace; /* its times; full_ns is not used */
    uint64_t full_ns[RATE_BUCKETS_ROWS][RATE_BUCKETS];
};

void rate_bucket_init(struct rate_bucket *b, uint32_t rate_per_s, uint32_t burst)
{
    assert(rate_per_s >= 1 && rate_per_s <= RATE_BUCKETS_RATE_MAX);
    assert(burst >= 1 && burst <= RATE_BUCKETS_BURST_MAX);
    const uint64_t token_ns = NS_PER_S / rate_per_s;
    *b = (struct rate_bucket){.token_ns = token_ns, .burst_ns = token_ns * burst};
}

/* When it is full again after one more token, or 0: there is none now. */
static uint64_t full_after(const struct rate_bucket *pace, uint64_t full_ns, uint64_t now_us)
{
    const uint64_t now_ns = now_us * NS_PER_US;
    const uint64_t next_ns = time_later(full_ns, now_ns) + pace->token_ns;
    return next_ns - now_ns > pace->burst_ns ? 0 : next_ns;
}

static bool take(const struct rate_bucket *pace, uint64_t *full_ns, uint64_t now_us)
{
    const uint64_t next_ns = full_after(pace, *full_ns, now_us);
    *full_ns = next_ns != 0 ? next_ns : *full_ns;
    return next_ns != 0;
}

bool rate_bucket_take(struct rate_bucket *b, uint64_t now_us)
{
    return take(b, &b->full_ns, now_us);
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

/* The place in each row. */
static size_t bucket_of(uint64_t hash, size_t row)
{
    return (hash >> 32 * row) % RATE_BUCKETS;
}

bool rate_buckets_take(struct rate_buckets *b, struct bytes_view who, uint64_t now_us)
{
    const uint64_t hash = flow_hash(&b->seed, who.data, who.len);
    bool is_taken = false;
    for (size_t row = 0; row < RATE_BUCKETS_ROWS; row++) {
        is_taken = take(&b->pace, &b->full_ns[row][bucket_of(hash, row)], now_us) || is_taken;
    }
    return is_taken;
}

bool rate_buckets_is_spent(const struct rate_buckets *b, struct bytes_view who, uint64_t now_us)
{
    const uint64_t hash = flow_hash(&b->seed, who.data, who.len);
    for (size_t row = 0; row < RATE_BUCKETS_ROWS; row++) {
        if (full_after(&b->pace, b->full_ns[row][bucket_of(hash, row)], now_us) != 0) {
            return false;
        }
    }
    return true;
}

struct bytes_view rate_buckets_block_of(const struct net_addr *address)
{
    const size_t len = net_addr_is_ipv4(address) ? IPV4_BLOCK_BYTES : IPV6_BLOCK_BYTES;
    return bytes_view_of(address->ip, len);
}
