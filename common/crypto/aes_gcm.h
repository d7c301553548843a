/*
 * aes_gcm.h - AES-GCM with a 12-byte nonce and a 16-byte tag (NIST SP 800-38D), keyed once
 *
 * Takes:   a key of 16 or 32 bytes; a nonce that is never used twice with one key.
 * Owns:    the key schedule; wiped at destroy. One thread at a time.
 * Bounds:  AES_GCM_TEXT_MAX bytes of text and of additional data; above: an error of the caller.
 * Fails:   create returns NULL without memory; open returns false when anything was altered.
 */
#ifndef EARSHOT_AES_GCM_H
#define EARSHOT_AES_GCM_H

#include "common/base/bytes.h"

#define AES_GCM_NONCE_BYTES 12
#define AES_GCM_TAG_BYTES   16
#define AES_GCM_TEXT_MAX    ((size_t)1 << 30)

enum aes_gcm_key_bytes { AES_GCM_KEY_128 = 16, AES_GCM_KEY_256 = 32 };

struct aes_gcm;

struct aes_gcm *aes_gcm_create(const uint8_t *key, enum aes_gcm_key_bytes key_bytes);
void aes_gcm_destroy(struct aes_gcm *gcm);

/* Writes text.len bytes of cipher text and then the tag. out may begin where text does. */
void aes_gcm_seal(struct aes_gcm *gcm, const uint8_t nonce[AES_GCM_NONCE_BYTES],
                  struct bytes_view additional, struct bytes_view text, uint8_t *out);
/* sealed: cipher text and tag; writes sealed.len - AES_GCM_TAG_BYTES bytes. On false they are
 * zeros. out may begin where sealed does. */
MUST_USE bool aes_gcm_open(struct aes_gcm *gcm, const uint8_t nonce[AES_GCM_NONCE_BYTES],
                           struct bytes_view additional, struct bytes_view sealed, uint8_t *out);

#endif
