/* hmac_sha1.c - see hmac_sha1.h */
#include "common/crypto/hmac_sha1.h"

/* EVP takes 260-310 ns and several allocations to restart a keyed HMAC of 100 bytes, SHA-1 itself
 * 160 ns and none. OpenSSL 3 keeps these functions for code that asks for its 1.1.1 interface. */
#define OPENSSL_API_COMPAT 10101
#include <openssl/crypto.h>
#include <openssl/sha.h>

static void keep_state(uint32_t state[HMAC_SHA1_STATE_WORDS], const SHA_CTX *sha)
{
    state[0] = sha->h0;
    state[1] = sha->h1;
    state[2] = sha->h2;
    state[3] = sha->h3;
    state[4] = sha->h4;
}

/* A hash that has taken exactly one block, the pad. */
static void restore_state(SHA_CTX *sha, const uint32_t state[HMAC_SHA1_STATE_WORDS])
{
    *sha = (SHA_CTX){
        .h0 = state[0],
        .h1 = state[1],
        .h2 = state[2],
        .h3 = state[3],
        .h4 = state[4],
        .Nl = SHA_CBLOCK * 8,
    };
}

static void hash_pad(uint32_t state[HMAC_SHA1_STATE_WORDS], const uint8_t secret[SHA_CBLOCK],
                     uint8_t pad_byte)
{
    uint8_t pad[SHA_CBLOCK];
    SHA_CTX sha;
    for (size_t i = 0; i < sizeof(pad); i++) {
        pad[i] = secret[i] ^ pad_byte;
    }
    (void)SHA1_Init(&sha);
    (void)SHA1_Update(&sha, pad, sizeof(pad));
    keep_state(state, &sha);
    OPENSSL_cleanse(pad, sizeof(pad));
    OPENSSL_cleanse(&sha, sizeof(sha));
}

void hmac_sha1_key_init(struct hmac_sha1_key *key, struct bytes_view secret)
{
    uint8_t block[SHA_CBLOCK] = {0};
    if (secret.len > sizeof(block)) {
        (void)SHA1(secret.data, secret.len, block); /* RFC 2104 s.2: longer keys are hashed */
    } else if (secret.len > 0) {
        memcpy(block, secret.data, secret.len);
    }
    hash_pad(key->inner, block, 0x36);
    hash_pad(key->outer, block, 0x5c);
    OPENSSL_cleanse(block, sizeof(block));
}

void hmac_sha1_key_wipe(struct hmac_sha1_key *key)
{
    OPENSSL_cleanse(key, sizeof(*key));
}

void hmac_sha1(const struct hmac_sha1_key *key, const struct bytes_view *parts, size_t part_count,
               uint8_t out[HMAC_SHA1_BYTES])
{
    SHA_CTX sha;
    restore_state(&sha, key->inner);
    for (size_t i = 0; i < part_count; i++) {
        (void)SHA1_Update(&sha, parts[i].data, parts[i].len);
    }
    (void)SHA1_Final(out, &sha);
    restore_state(&sha, key->outer);
    (void)SHA1_Update(&sha, out, HMAC_SHA1_BYTES);
    (void)SHA1_Final(out, &sha);
}
