/*
 * key_ring.h - the media keys of a directory, by key id (docs/wire-formats.md, section 1)
 *
 * Takes:   a directory of NN.key (32 bytes as 64 hex digits, NN = 00..63) and a file `active`
 *          with the two digits of the id that signs.
 * Gives:   for each id the ciphers and MACs that HKDF derives from its secret (section 1).
 *          Secrets are wiped at once, derived keys at destroy.
 * Owns:    keyed contexts, which one thread at a time may use: each thread makes its own ring with
 *          key_ring_copy.
 * Fails:   a load that fails leaves an old ring untouched; the fault names the file. A key file
 *          that others may read or write is refused (the group may: Kubernetes shows 0440). Of the
 *          directory only NN.key and `active` are looked at.
 * Not here: watching the directory (the service re-loads on SIGHUP and when it changes).
 */
#ifndef EARSHOT_KEY_RING_H
#define EARSHOT_KEY_RING_H

#include "common/base/status.h"

#define KEY_RING_IDS          64
#define KEY_RING_SECRET_BYTES 32

struct aes_block;
struct aes_gcm;
struct siphash_key;
struct key_ring;

/* Loads every key of the directory. NULL and a fault when it is missing, empty, or wrong. */
struct key_ring *key_ring_load(const char *directory, struct fault *fault);
/* One key, made active: for tests and golden vectors. NULL without memory, as the next. */
struct key_ring *key_ring_from_secret(uint8_t key_id, const uint8_t secret[KEY_RING_SECRET_BYTES]);
/* An independent ring with the same keys, for another thread. */
struct key_ring *key_ring_copy(const struct key_ring *ring);
void key_ring_destroy(struct key_ring *ring);

bool key_ring_has(const struct key_ring *ring, uint8_t key_id);
uint8_t key_ring_active_id(const struct key_ring *ring);

/* Borrowed until the ring is destroyed; NULL for an id the ring does not have. The media ring
 * serves the first two, signaling's ring the others. */
struct aes_block *key_ring_token_cipher(struct key_ring *ring, uint8_t key_id);
struct siphash_key *key_ring_shim_mac(struct key_ring *ring, uint8_t key_id);
struct aes_block *key_ring_call_id_cipher(struct key_ring *ring, uint8_t key_id);
struct aes_gcm *key_ring_client_secret_cipher(struct key_ring *ring, uint8_t key_id);

/* Makes the directory (mode 0700) with one random key 00.key and `active`; false and a fault if it
 * already holds a ring. What `earshotctl keys init` calls. */
MUST_USE bool key_ring_init_directory(const char *directory, struct fault *fault);

#endif
