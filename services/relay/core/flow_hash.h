/*
 * flow_hash.h - where a key stands in a table
 *
 * Source ports are chosen by strangers, so every table that is indexed by something a stranger
 * sends hashes it under a seed drawn at process start. SipHash-1-3, half of SipHash-2-4: nobody
 * sees the hashes, so a stranger can only guess which keys fall together.
 */
#ifndef EARSHOT_FLOW_HASH_H
#define EARSHOT_FLOW_HASH_H

#include "common/crypto/siphash.h"

#define FLOW_HASH_SEED_BYTES SIPHASH_KEY_BYTES

struct flow_hash_seed {
    uint64_t k0;
    uint64_t k1;
};

static inline struct flow_hash_seed flow_hash_seed_of(const uint8_t bytes[FLOW_HASH_SEED_BYTES])
{
    const struct siphash_key key = siphash_key_of(bytes);
    return (struct flow_hash_seed){key.k0, key.k1};
}

static inline uint64_t flow_hash(const struct flow_hash_seed *seed, const void *key, size_t len)
{
    return siphash_of_rounds(&(struct siphash_key){seed->k0, seed->k1}, bytes_view_of(key, len), 1,
                             3);
}

#endif
