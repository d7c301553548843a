/* siphash.c - see siphash.h */
#include "common/crypto/siphash.h"

#include "common/crypto/evp_methods.h"

#include <openssl/core_names.h>
#include <stdlib.h>

#define TAG_BYTES 8

struct siphash_key {
    EVP_MAC_CTX *context;
};

struct siphash_key *siphash_key_create(const uint8_t key[SIPHASH_KEY_BYTES])
{
    struct siphash_key *created = calloc(1, sizeof(*created));
    if (created == NULL) {
        return NULL;
    }
    size_t tag_bytes = TAG_BYTES; /* OpenSSL's default is 16, another function */
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &tag_bytes),
        OSSL_PARAM_construct_end(),
    };
    created->context = EVP_MAC_CTX_new(evp_methods()->siphash);
    if (created->context == NULL ||
        EVP_MAC_init(created->context, key, SIPHASH_KEY_BYTES, params) != 1) {
        siphash_key_destroy(created);
        return NULL;
    }
    return created;
}

void siphash_key_destroy(struct siphash_key *key)
{
    if (key == NULL) {
        return;
    }
    if (key->context != NULL) {
        /* Freeing does not clear the context; keying it with zeros does. */
        static const uint8_t zeros[SIPHASH_KEY_BYTES];
        (void)EVP_MAC_init(key->context, zeros, sizeof(zeros), NULL);
    }
    EVP_MAC_CTX_free(key->context);
    free(key);
}

uint64_t siphash(struct siphash_key *key, struct bytes_view message)
{
    uint8_t tag[TAG_BYTES];
    size_t tag_len = 0;
    const bool worked = EVP_MAC_init(key->context, NULL, 0, NULL) == 1 &&
                        EVP_MAC_update(key->context, message.data, message.len) == 1 &&
                        EVP_MAC_final(key->context, tag, &tag_len, sizeof(tag)) == 1;
    evp_require(worked && tag_len == sizeof(tag), "SipHash");
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(tag, sizeof(tag)));
    return byte_reader_u64_le(&r);
}
