/* aes_block.c - see aes_block.h */
#include "common/crypto/aes_block.h"

#include "common/crypto/evp_methods.h"

#include <stdlib.h>

struct aes_block {
    EVP_CIPHER_CTX *encryption;
    EVP_CIPHER_CTX *decryption;
};

static EVP_CIPHER_CTX *keyed(const uint8_t key[AES_BLOCK_KEY_BYTES], bool encrypts)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL) {
        return NULL;
    }
    if (EVP_CipherInit_ex2(context, evp_methods()->aes_128_ecb, key, NULL, encrypts ? 1 : 0,
                           NULL) != 1 ||
        EVP_CIPHER_CTX_set_padding(context, 0) != 1) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    return context;
}

struct aes_block *aes_block_create(const uint8_t key[AES_BLOCK_KEY_BYTES])
{
    struct aes_block *aes = calloc(1, sizeof(*aes));
    if (aes == NULL) {
        return NULL;
    }
    aes->encryption = keyed(key, true);
    aes->decryption = keyed(key, false);
    if (aes->encryption == NULL || aes->decryption == NULL) {
        aes_block_destroy(aes);
        return NULL;
    }
    return aes;
}

void aes_block_destroy(struct aes_block *aes)
{
    if (aes == NULL) {
        return;
    }
    EVP_CIPHER_CTX_free(aes->encryption); /* wipes the key schedule */
    EVP_CIPHER_CTX_free(aes->decryption);
    free(aes);
}

static void run(EVP_CIPHER_CTX *context, const uint8_t *in, uint8_t *out)
{
    int len = 0;
    const int done = EVP_CipherUpdate(context, out, &len, in, AES_BLOCK_BYTES);
    evp_require(done == 1 && len == AES_BLOCK_BYTES, "one block of AES-128");
}

void aes_block_encrypt(struct aes_block *aes, const uint8_t in[AES_BLOCK_BYTES],
                       uint8_t out[AES_BLOCK_BYTES])
{
    run(aes->encryption, in, out);
}

void aes_block_decrypt(struct aes_block *aes, const uint8_t in[AES_BLOCK_BYTES],
                       uint8_t out[AES_BLOCK_BYTES])
{
    run(aes->decryption, in, out);
}
