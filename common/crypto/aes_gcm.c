/* aes_gcm.c - see aes_gcm.h */
#include "common/crypto/aes_gcm.h"

#include "common/crypto/evp_methods.h"

#include <assert.h>
#include <stdlib.h>

struct aes_gcm {
    EVP_CIPHER_CTX *context;
};

struct aes_gcm *aes_gcm_create(const uint8_t *key, enum aes_gcm_key_bytes key_bytes)
{
    struct aes_gcm *gcm = calloc(1, sizeof(*gcm));
    if (gcm == NULL) {
        return NULL;
    }
    const EVP_CIPHER *cipher =
        key_bytes == AES_GCM_KEY_256 ? evp_methods()->aes_256_gcm : evp_methods()->aes_128_gcm;
    gcm->context = EVP_CIPHER_CTX_new();
    if (gcm->context == NULL || EVP_EncryptInit_ex2(gcm->context, cipher, key, NULL, NULL) != 1) {
        aes_gcm_destroy(gcm);
        return NULL;
    }
    return gcm;
}

void aes_gcm_destroy(struct aes_gcm *gcm)
{
    if (gcm == NULL) {
        return;
    }
    EVP_CIPHER_CTX_free(gcm->context); /* wipes the key schedule */
    free(gcm);
}

/* A new message with the key that the context holds: nonce, additional data, text. */
static void run(EVP_CIPHER_CTX *context, bool encrypts, const uint8_t *nonce,
                struct bytes_view additional, struct bytes_view text, uint8_t *out)
{
    int len = 0;
    assert(additional.len <= AES_GCM_TEXT_MAX);
    assert(text.len <= AES_GCM_TEXT_MAX);
    evp_require(EVP_CipherInit_ex2(context, NULL, NULL, nonce, encrypts ? 1 : 0, NULL) == 1,
                "AES-GCM nonce");
    if (additional.len > 0) {
        evp_require(EVP_CipherUpdate(context, NULL, &len, additional.data, (int)additional.len) ==
                        1,
                    "AES-GCM additional data");
    }
    if (text.len > 0) {
        evp_require(EVP_CipherUpdate(context, out, &len, text.data, (int)text.len) == 1 &&
                        (size_t)len == text.len,
                    "AES-GCM text");
    }
}

void aes_gcm_seal(struct aes_gcm *gcm, const uint8_t nonce[AES_GCM_NONCE_BYTES],
                  struct bytes_view additional, struct bytes_view text, uint8_t *out)
{
    int len = 0;
    uint8_t *tag = out + text.len;
    run(gcm->context, true, nonce, additional, text, out);
    evp_require(
        EVP_CipherFinal_ex(gcm->context, tag, &len) == 1 &&
            EVP_CIPHER_CTX_ctrl(gcm->context, EVP_CTRL_AEAD_GET_TAG, AES_GCM_TAG_BYTES, tag) == 1,
        "AES-GCM tag");
}

bool aes_gcm_open(struct aes_gcm *gcm, const uint8_t nonce[AES_GCM_NONCE_BYTES],
                  struct bytes_view additional, struct bytes_view sealed, uint8_t *out)
{
    if (sealed.len < AES_GCM_TAG_BYTES) {
        return false;
    }
    const struct bytes_view text = {sealed.data, sealed.len - AES_GCM_TAG_BYTES};
    uint8_t tag[AES_GCM_TAG_BYTES];
    int len = 0;
    memcpy(tag, sealed.data + text.len, sizeof(tag));
    run(gcm->context, false, nonce, additional, text, out);
    evp_require(EVP_CIPHER_CTX_ctrl(gcm->context, EVP_CTRL_AEAD_SET_TAG, AES_GCM_TAG_BYTES, tag) ==
                    1,
                "AES-GCM tag");
    uint8_t nothing[AES_GCM_TAG_BYTES]; /* GCM has no last block, but final wants a place for it */
    if (EVP_CipherFinal_ex(gcm->context, nothing, &len) != 1) {
        memset(out, 0, text.len);
        return false;
    }
    return true;
}
