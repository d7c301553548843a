/*
 * hmac_sha1.h - HMAC-SHA1 (RFC 2104) with the key's two pads hashed beforehand
 *
 * The key is a plain value: the SHA-1 states after the inner and the outer pad. A message of 100
 * bytes then costs three rounds of SHA-1 and no heap.
 * Owns:    nothing; wipe a key that is no longer used.
 */
#ifndef EARSHOT_HMAC_SHA1_H
#define EARSHOT_HMAC_SHA1_H

#include "common/base/bytes.h"

#define HMAC_SHA1_BYTES       20
#define HMAC_SHA1_STATE_WORDS 5

struct hmac_sha1_key {
    uint32_t inner[HMAC_SHA1_STATE_WORDS];
    uint32_t outer[HMAC_SHA1_STATE_WORDS];
};

/* A secret of any length. */
void hmac_sha1_key_init(struct hmac_sha1_key *key, struct bytes_view secret);
void hmac_sha1_key_wipe(struct hmac_sha1_key *key);

/* The parts, one after the other, are one message. */
void hmac_sha1(const struct hmac_sha1_key *key, const struct bytes_view *parts, size_t part_count,
               uint8_t out[HMAC_SHA1_BYTES]);

#endif
