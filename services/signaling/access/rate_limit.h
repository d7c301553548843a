/*
 * rate_limit.h - how often somebody may do something
 *
 * A token bucket for each key (a tenant, an address, a client secret): `count` at once, and as many
 * again in each period.
 * Owns:    RATE_LIMIT_BUCKETS buckets; no heap after create.
 * When full: places are chosen by a keyed hash, in sets; a set that is full forgets the bucket that
 *          was used longest ago, so a flood of keys costs strangers their memory, and never ours.
 */
#ifndef EARSHOT_RATE_LIMIT_H
#define EARSHOT_RATE_LIMIT_H

#include "common/base/random.h"
#include "common/base/time_us.h"

#define RATE_LIMIT_BUCKETS   8192
#define RATE_LIMIT_KEY_BYTES 32

struct rate_limit;

/* count 0: no limit. */
struct rate {
    uint32_t count;
    uint64_t period_us;
};

/* NULL without memory. */
struct rate_limit *rate_limit_create(struct random_source random);
void rate_limit_destroy(struct rate_limit *r);

/* Takes one for this key (at most RATE_LIMIT_KEY_BYTES; `kind` tells equal bytes of different
 * things apart). False: none is left, and *out_wait_us tells when the next one will be there. */
MUST_USE bool rate_limit_take(struct rate_limit *r, uint8_t kind, struct bytes_view key,
                              struct rate rate, uint64_t *out_wait_us, uint64_t now_us);

#endif
