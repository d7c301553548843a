/* siphash.c - see siphash.h */
#include "common/crypto/siphash.h"

#include <openssl/crypto.h>
#include <stdlib.h>

struct siphash_key *siphash_key_create(const uint8_t key[SIPHASH_KEY_BYTES])
{
    struct siphash_key *created = malloc(sizeof(*created));
    if (created != NULL) {
        *created = siphash_key_of(key);
    }
    return created;
}

void siphash_key_destroy(struct siphash_key *key)
{
    if (key != NULL) {
        OPENSSL_cleanse(key, sizeof(*key));
        free(key);
    }
}
