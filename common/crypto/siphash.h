/*
 * siphash.h - SipHash-2-4 with a 64-bit result, keyed once
 *
 * Gives:   the number of the SipHash paper, whose bytes are little-endian there; write it in
 *          network order if it travels.
 * Owns:    a keyed context; wiped at destroy. One thread at a time.
 * Fails:   create returns NULL without memory; hashing cannot fail.
 * Not here: hashing of table keys, which is inlined where the table is.
 */
#ifndef EARSHOT_SIPHASH_H
#define EARSHOT_SIPHASH_H

#include "common/base/bytes.h"

#define SIPHASH_KEY_BYTES 16

struct siphash_key;

struct siphash_key *siphash_key_create(const uint8_t key[SIPHASH_KEY_BYTES]);
void siphash_key_destroy(struct siphash_key *key);

uint64_t siphash(struct siphash_key *key, struct bytes_view message);

#endif
