/*
 * flow_hash.h - SipHash-2-4 of a short key, inline
 *
 * Source ports are chosen by strangers, so every table that is indexed by something a stranger
 * sends hashes it under a seed drawn at process start. Inline, because a call into libcrypto costs
 * more than the hash (and is for tags: common/crypto/siphash.h).
 *
 * Source:  Aumasson, Bernstein: SipHash, a fast short-input PRF (2012).
 */
#ifndef EARSHOT_FLOW_HASH_H
#define EARSHOT_FLOW_HASH_H

#include "common/base/bytes.h"

#define FLOW_HASH_SEED_BYTES 16

struct flow_hash_seed {
    uint64_t k0;
    uint64_t k1;
};

static inline uint64_t flow_hash_load_le(const uint8_t *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static inline struct flow_hash_seed flow_hash_seed_of(const uint8_t bytes[FLOW_HASH_SEED_BYTES])
{
    return (struct flow_hash_seed){flow_hash_load_le(bytes, 8), flow_hash_load_le(bytes + 8, 8)};
}

static inline uint64_t flow_hash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void flow_hash_rounds(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = flow_hash_rotate(v[1], 13) ^ v[0];
        v[3] = flow_hash_rotate(v[3], 16) ^ v[2];
        v[0] = flow_hash_rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = flow_hash_rotate(v[1], 17) ^ v[2];
        v[3] = flow_hash_rotate(v[3], 21) ^ v[0];
        v[2] = flow_hash_rotate(v[2], 32);
    }
}

static inline uint64_t flow_hash(const struct flow_hash_seed *seed, const void *key, size_t len)
{
    const uint8_t *bytes = key;
    uint64_t v[4] = {
        seed->k0 ^ UINT64_C(0x736f6d6570736575), seed->k1 ^ UINT64_C(0x646f72616e646f6d),
        seed->k0 ^ UINT64_C(0x6c7967656e657261), seed->k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = len;
    for (; left >= 8; left -= 8, bytes += 8) {
        const uint64_t word = flow_hash_load_le(bytes, 8);
        v[3] ^= word;
        flow_hash_rounds(v, 2);
        v[0] ^= word;
    }
    const uint64_t last = flow_hash_load_le(bytes, left) | (uint64_t)len << 56;
    v[3] ^= last;
    flow_hash_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    flow_hash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
