/*
 * siphash.h - SipHash-2-4 with a 64-bit result, inline
 *
 * Written out rather than taken from OpenSSL: each packet of a relay needs two of them, and there
 * the calls around one cost four times the hash. Its time does not depend on the key.
 * Gives:   the number of the paper, whose bytes are little-endian there; write it in network order
 *          if it travels.
 * Owns:    siphash_key_create's memory, wiped at destroy. A key is never written: any thread may
 *          use it.
 * Fails:   create returns NULL without memory; hashing can not fail.
 * Source:  Aumasson, Bernstein: SipHash, a fast short-input PRF (2012).
 */
#ifndef EARSHOT_SIPHASH_H
#define EARSHOT_SIPHASH_H

#include "common/base/bytes.h"

#define SIPHASH_KEY_BYTES 16

struct siphash_key {
    uint64_t k0;
    uint64_t k1;
};

/* For a key that is a secret. */
struct siphash_key *siphash_key_create(const uint8_t key[SIPHASH_KEY_BYTES]);
void siphash_key_destroy(struct siphash_key *key);

static inline uint64_t siphash_load_le(const uint8_t *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static inline struct siphash_key siphash_key_of(const uint8_t bytes[SIPHASH_KEY_BYTES])
{
    return (struct siphash_key){siphash_load_le(bytes, 8), siphash_load_le(bytes + 8, 8)};
}

static inline uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void siphash_rounds(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = siphash_rotate(v[1], 13) ^ v[0];
        v[3] = siphash_rotate(v[3], 16) ^ v[2];
        v[0] = siphash_rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = siphash_rotate(v[1], 17) ^ v[2];
        v[3] = siphash_rotate(v[3], 21) ^ v[0];
        v[2] = siphash_rotate(v[2], 32);
    }
}

/* SipHash-c-d. */
static inline uint64_t siphash_of_rounds(const struct siphash_key *key, struct bytes_view message,
                                         unsigned c, unsigned d)
{
    const uint8_t *bytes = message.data;
    size_t left = message.len;
    uint64_t v[4] = {key->k0 ^ UINT64_C(0x736f6d6570736575), key->k1 ^ UINT64_C(0x646f72616e646f6d),
                     key->k0 ^ UINT64_C(0x6c7967656e657261),
                     key->k1 ^ UINT64_C(0x7465646279746573)};
    for (; left >= 8; left -= 8, bytes += 8) {
        const uint64_t word = siphash_load_le(bytes, 8);
        v[3] ^= word;
        siphash_rounds(v, c);
        v[0] ^= word;
    }
    const uint64_t last = siphash_load_le(bytes, left) | (uint64_t)message.len << 56;
    v[3] ^= last;
    siphash_rounds(v, c);
    v[0] ^= last;
    v[2] ^= 0xff;
    siphash_rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint64_t siphash(const struct siphash_key *key, struct bytes_view message)
{
    return siphash_of_rounds(key, message, 2, 4);
}

#endif
