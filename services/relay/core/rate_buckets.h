/*
 * rate_buckets.h - how often each of very many may do something
 *
 * A token bucket for each who asks: a block of addresses, a session. There is no table of them all,
 * which a spoofer could fill: who asks is hashed under a secret seed onto one of RATE_BUCKETS in
 * each of two rows, takes a token in both and is refused only if neither had one. So who shares a
 * bucket with one that spends it is not kept out: both buckets would have to be shared. Who shares
 * one may take up to twice the rate. Nothing is full, nothing is evicted.
 * Owns:    a time for each bucket, made at create: when it will be full again.
 * Units:   nanoseconds inside, so that a rate need not divide a million.
 */
#ifndef EARSHOT_RATE_BUCKETS_H
#define EARSHOT_RATE_BUCKETS_H

#include "common/base/net_addr.h"
#include "services/relay/core/flow_hash.h"

#define RATE_BUCKETS_ROWS      2
#define RATE_BUCKETS           16384 /* of a row */
#define RATE_BUCKETS_RATE_MAX  1000000
#define RATE_BUCKETS_BURST_MAX 1000000

/* One bucket: what no two share. */
struct rate_bucket {
    uint64_t token_ns; /* the time in which one token comes back */
    uint64_t burst_ns; /* the time in which all of them do */
    uint64_t full_ns;  /* when they will all be there */
};

/* rate_per_s in 1..RATE_BUCKETS_RATE_MAX, burst in 1..RATE_BUCKETS_BURST_MAX. */
void rate_bucket_init(struct rate_bucket *b, uint32_t rate_per_s, uint32_t burst);
/* Takes one token; false when there is none now. */
MUST_USE bool rate_bucket_take(struct rate_bucket *b, uint64_t now_us);

struct rate_buckets;

/* Bounds as of one bucket. NULL without memory. */
struct rate_buckets *rate_buckets_create(uint32_t rate_per_s, uint32_t burst,
                                         struct flow_hash_seed seed);
void rate_buckets_destroy(struct rate_buckets *b);

/* Takes one token of the one who asks; false when there is none now. */
bool rate_buckets_take(struct rate_buckets *b, struct bytes_view who, uint64_t now_us);
/* There is none now. */
bool rate_buckets_is_spent(const struct rate_buckets *b, struct bytes_view who, uint64_t now_us);

/* Whom an address stands for: its IPv4 /24 or its IPv6 /56. A spoofer sends from everywhere, a
 * carrier's NAT from one block. Borrowed from the address. */
struct bytes_view rate_buckets_block_of(const struct net_addr *address);

#endif
