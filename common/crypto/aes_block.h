/*
 * aes_block.h - AES-128 on one block of 16 bytes (FIPS 197), keyed once
 *
 * For values that are one block long and unique, as routing tokens and call ids are. It is not a
 * mode: never use it on two blocks of one text.
 * Owns:    the key schedules of both directions; wiped at destroy. One thread at a time.
 * Fails:   create returns NULL without memory; the block operations cannot fail.
 */
#ifndef EARSHOT_AES_BLOCK_H
#define EARSHOT_AES_BLOCK_H

#include "common/base/bytes.h"

#define AES_BLOCK_BYTES     16
#define AES_BLOCK_KEY_BYTES 16

struct aes_block;

struct aes_block *aes_block_create(const uint8_t key[AES_BLOCK_KEY_BYTES]);
void aes_block_destroy(struct aes_block *aes);

/* in and out may be the same memory. */
void aes_block_encrypt(struct aes_block *aes, const uint8_t in[AES_BLOCK_BYTES],
                       uint8_t out[AES_BLOCK_BYTES]);
void aes_block_decrypt(struct aes_block *aes, const uint8_t in[AES_BLOCK_BYTES],
                       uint8_t out[AES_BLOCK_BYTES]);

#endif
