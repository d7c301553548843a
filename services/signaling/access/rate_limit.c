/* rate_limit.c - see rate_limit.h */
#include "services/signaling/access/rate_limit.h"

#include "common/crypto/siphash.h"

#include <assert.h>
#include <stdlib.h>

#define WAYS     8
#define SETS     (RATE_LIMIT_BUCKETS / WAYS)
#define NAME_MAX (1 + RATE_LIMIT_KEY_BYTES)

/* Named by a keyed hash: two keys share a bucket by accident alone, once in 2^64. */
struct bucket {
    uint64_t name;
    bool is_used;
    uint64_t used_us;
    uint64_t full_us; /* when it will be, or was, full again */
};

struct rate_limit {
    struct siphash_key *hash;
    struct bucket bucket[SETS][WAYS];
};

struct rate_limit *rate_limit_create(struct random_source random)
{
    uint8_t seed[SIPHASH_KEY_BYTES];
    struct rate_limit *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    random_fill(random, seed, sizeof(seed));
    r->hash = siphash_key_create(seed);
    if (r->hash == NULL) {
        rate_limit_destroy(r);
        return NULL;
    }
    return r;
}

void rate_limit_destroy(struct rate_limit *r)
{
    if (r == NULL) {
        return;
    }
    siphash_key_destroy(r->hash);
    free(r);
}

static uint64_t name_of(struct rate_limit *r, uint8_t kind, struct bytes_view key)
{
    uint8_t name[NAME_MAX];
    assert(key.len <= RATE_LIMIT_KEY_BYTES);
    name[0] = kind;
    if (key.len > 0) {
        memcpy(name + 1, key.data, key.len);
    }
    return siphash(r->hash, bytes_view_of(name, 1 + key.len));
}

/* The bucket of this name; a new one is full. */
static struct bucket *find_bucket(struct rate_limit *r, uint64_t name, uint64_t now_us)
{
    struct bucket *set = r->bucket[name % SETS];
    struct bucket *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].is_used && set[i].name == name) {
            return &set[i];
        }
        if (!set[i].is_used || (oldest->is_used && set[i].used_us < oldest->used_us)) {
            oldest = &set[i];
        }
    }
    *oldest = (struct bucket){.name = name, .is_used = true, .full_us = now_us};
    return oldest;
}

bool rate_limit_take(struct rate_limit *r, uint8_t kind, struct bytes_view key, struct rate rate,
                     uint64_t *out_wait_us, uint64_t now_us)
{
    if (rate.count == 0) {
        return true;
    }
    struct bucket *b = find_bucket(r, name_of(r, kind, key), now_us);
    const uint64_t one_us = rate.period_us / rate.count;
    const uint64_t full_us = b->full_us > now_us ? b->full_us : now_us;
    const uint64_t missing_us = full_us + one_us - now_us;
    b->used_us = now_us;
    if (missing_us > rate.period_us) {
        *out_wait_us = missing_us - rate.period_us;
        return false;
    }
    b->full_us = full_us + one_us;
    return true;
}
