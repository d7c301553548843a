/* srtp_evp.c - see srtp_evp.h */
#include "services/transceiver/core/transport/srtp_evp.h"

#include "common/crypto/hmac_sha1.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <srtp2/auth.h>
#include <srtp2/cipher.h>
#include <stdlib.h>

#define AES_KEY_BYTES    16
#define ICM_SALT_BYTES   14
#define ICM_BLOCK_BYTES  16
#define GCM_SALT_BYTES   12
#define GCM_TAG_BYTES    16
#define GCM_TAG_SHORT    8 /* not negotiated, but among libsrtp's own known answers */
#define HMAC_KEY_MAX     64
#define HMAC_PARTS_MAX   4
#define KNOWN_TEXT_BYTES 60

static EVP_CIPHER *aes_ctr;
static EVP_CIPHER *aes_gcm;

static srtp_err_status_t status_of(bool worked, srtp_err_status_t otherwise)
{
    return worked ? srtp_err_status_ok : otherwise;
}

/* libsrtp keeps a cipher and its state apart; here they are one piece of memory. */
struct evp_cipher {
    srtp_cipher_t outer;
    EVP_CIPHER_CTX *context;
    uint8_t salt[ICM_BLOCK_BYTES]; /* ICM: padded with zeros. GCM: libsrtp mixes it in itself. */
    int tag_bytes;                 /* GCM */
};

static srtp_err_status_t cipher_alloc(srtp_cipher_pointer_t *out, const srtp_cipher_type_t *type,
                                      int key_bytes, int tag_bytes)
{
    struct evp_cipher *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return srtp_err_status_alloc_fail;
    }
    c->context = EVP_CIPHER_CTX_new();
    if (c->context == NULL) {
        free(c);
        return srtp_err_status_alloc_fail;
    }
    c->outer =
        (srtp_cipher_t){.type = type, .state = c, .key_len = key_bytes, .algorithm = (int)type->id};
    c->tag_bytes = tag_bytes;
    *out = &c->outer;
    return srtp_err_status_ok;
}

static srtp_err_status_t cipher_dealloc(srtp_cipher_pointer_t outer)
{
    struct evp_cipher *c = outer->state;
    EVP_CIPHER_CTX_free(c->context); /* wipes the key schedule */
    OPENSSL_cleanse(c, sizeof(*c));
    free(c);
    return srtp_err_status_ok;
}

/* AES counter mode (RFC 3711 s.4.1.1). Key and salt come as one. */

static const srtp_cipher_type_t icm_type;

static srtp_err_status_t icm_alloc(srtp_cipher_pointer_t *out, int key_bytes, int tag_bytes)
{
    if (key_bytes != AES_KEY_BYTES + ICM_SALT_BYTES) {
        return srtp_err_status_bad_param;
    }
    return cipher_alloc(out, &icm_type, key_bytes, tag_bytes);
}

static srtp_err_status_t icm_init(void *state, const uint8_t *key)
{
    struct evp_cipher *c = state;
    memcpy(c->salt, key + AES_KEY_BYTES, ICM_SALT_BYTES);
    return status_of(EVP_EncryptInit_ex2(c->context, aes_ctr, key, NULL, NULL) == 1,
                     srtp_err_status_init_fail);
}

static srtp_err_status_t icm_set_iv(void *state, uint8_t *iv, srtp_cipher_direction_t direction)
{
    struct evp_cipher *c = state;
    uint8_t counter[ICM_BLOCK_BYTES];
    (void)direction; /* the same key stream either way */
    for (size_t i = 0; i < sizeof(counter); i++) {
        counter[i] = iv[i] ^ c->salt[i];
    }
    return status_of(EVP_EncryptInit_ex2(c->context, NULL, NULL, counter, NULL) == 1,
                     srtp_err_status_init_fail);
}

static srtp_err_status_t icm_crypt(void *state, uint8_t *text, unsigned *text_bytes)
{
    struct evp_cipher *c = state;
    int len = 0;
    if (*text_bytes > INT_MAX) {
        return srtp_err_status_bad_param;
    }
    return status_of(EVP_EncryptUpdate(c->context, text, &len, text, (int)*text_bytes) == 1,
                     srtp_err_status_cipher_fail);
}

/* AES-GCM (RFC 7714). libsrtp hands over the finished 12-byte nonce. */

static const srtp_cipher_type_t gcm_type;

static srtp_err_status_t gcm_alloc(srtp_cipher_pointer_t *out, int key_bytes, int tag_bytes)
{
    if (key_bytes != AES_KEY_BYTES + GCM_SALT_BYTES ||
        (tag_bytes != GCM_TAG_BYTES && tag_bytes != GCM_TAG_SHORT)) {
        return srtp_err_status_bad_param;
    }
    return cipher_alloc(out, &gcm_type, key_bytes, tag_bytes);
}

static srtp_err_status_t gcm_init(void *state, const uint8_t *key)
{
    struct evp_cipher *c = state;
    return status_of(EVP_CipherInit_ex2(c->context, aes_gcm, key, NULL, 1, NULL) == 1,
                     srtp_err_status_init_fail);
}

static srtp_err_status_t gcm_set_iv(void *state, uint8_t *iv, srtp_cipher_direction_t direction)
{
    struct evp_cipher *c = state;
    const int encrypts = direction == srtp_direction_encrypt ? 1 : 0;
    return status_of(EVP_CipherInit_ex2(c->context, NULL, NULL, iv, encrypts, NULL) == 1,
                     srtp_err_status_init_fail);
}

/* SRTCP comes here twice: its header, then the index behind the packet. */
static srtp_err_status_t gcm_set_aad(void *state, const uint8_t *aad, uint32_t aad_bytes)
{
    struct evp_cipher *c = state;
    int len = 0;
    if (aad_bytes > INT_MAX) {
        return srtp_err_status_bad_param;
    }
    return status_of(EVP_CipherUpdate(c->context, NULL, &len, aad, (int)aad_bytes) == 1,
                     srtp_err_status_algo_fail);
}

/* Without text (SRTCP that is only authenticated) the text is NULL too. */
static srtp_err_status_t gcm_encrypt(void *state, uint8_t *text, unsigned *text_bytes)
{
    struct evp_cipher *c = state;
    int len = 0;
    if (*text_bytes > INT_MAX) {
        return srtp_err_status_bad_param;
    }
    if (*text_bytes == 0) {
        return srtp_err_status_ok;
    }
    return status_of(EVP_CipherUpdate(c->context, text, &len, text, (int)*text_bytes) == 1,
                     srtp_err_status_cipher_fail);
}

static srtp_err_status_t gcm_get_tag(void *state, uint8_t *tag, uint32_t *tag_bytes)
{
    struct evp_cipher *c = state;
    int len = 0;
    *tag_bytes = (uint32_t)c->tag_bytes;
    return status_of(
        EVP_CipherFinal_ex(c->context, tag, &len) == 1 &&
            EVP_CIPHER_CTX_ctrl(c->context, EVP_CTRL_AEAD_GET_TAG, c->tag_bytes, tag) == 1,
        srtp_err_status_algo_fail);
}

/* Cipher text with the tag behind it; the length shrinks to the text. */
static srtp_err_status_t gcm_decrypt(void *state, uint8_t *text, unsigned *text_bytes)
{
    struct evp_cipher *c = state;
    uint8_t nothing[EVP_MAX_BLOCK_LENGTH]; /* GCM has no last block to give */
    int len = 0;
    if (*text_bytes < (unsigned)c->tag_bytes) {
        return srtp_err_status_bad_param;
    }
    unsigned plain_bytes = *text_bytes - (unsigned)c->tag_bytes;
    if (EVP_CIPHER_CTX_ctrl(c->context, EVP_CTRL_AEAD_SET_TAG, c->tag_bytes, text + plain_bytes) !=
        1) {
        return srtp_err_status_auth_fail;
    }
    const srtp_err_status_t status = gcm_encrypt(state, text, &plain_bytes);
    if (status != srtp_err_status_ok) {
        return status;
    }
    *text_bytes = plain_bytes;
    return status_of(EVP_CipherFinal_ex(c->context, nothing, &len) == 1, srtp_err_status_auth_fail);
}

/* HMAC-SHA1 (RFC 3711 s.4.2.1). A message comes in parts that stay where they are until compute:
 * the packet, then the roll-over counter. So the parts are noted and hashed in one go. */

struct evp_auth {
    srtp_auth_t outer;
    struct hmac_sha1_key key;
    struct bytes_view part[HMAC_PARTS_MAX];
    size_t part_count;
};

static const srtp_auth_type_t hmac_type;

static srtp_err_status_t hmac_alloc(srtp_auth_pointer_t *out, int key_bytes, int tag_bytes)
{
    if (key_bytes < 0 || key_bytes > HMAC_KEY_MAX || tag_bytes < 0 || tag_bytes > HMAC_SHA1_BYTES) {
        return srtp_err_status_bad_param;
    }
    struct evp_auth *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return srtp_err_status_alloc_fail;
    }
    a->outer =
        (srtp_auth_t){.type = &hmac_type, .state = a, .out_len = tag_bytes, .key_len = key_bytes};
    *out = &a->outer;
    return srtp_err_status_ok;
}

static srtp_err_status_t hmac_dealloc(srtp_auth_pointer_t outer)
{
    struct evp_auth *a = outer->state;
    OPENSSL_cleanse(a, sizeof(*a));
    free(a);
    return srtp_err_status_ok;
}

static srtp_err_status_t hmac_init(void *state, const uint8_t *key, int key_bytes)
{
    struct evp_auth *a = state;
    hmac_sha1_key_init(&a->key, bytes_view_of(key, (size_t)key_bytes));
    a->part_count = 0;
    return srtp_err_status_ok;
}

static srtp_err_status_t hmac_start(void *state)
{
    struct evp_auth *a = state;
    a->part_count = 0;
    return srtp_err_status_ok;
}

static srtp_err_status_t hmac_update(void *state, const uint8_t *part, int part_bytes)
{
    struct evp_auth *a = state;
    if (a->part_count == HMAC_PARTS_MAX || part_bytes < 0) {
        return srtp_err_status_bad_param;
    }
    a->part[a->part_count] = bytes_view_of(part, (size_t)part_bytes);
    a->part_count++;
    return srtp_err_status_ok;
}

static srtp_err_status_t hmac_compute(void *state, const uint8_t *part, int part_bytes,
                                      int tag_bytes, uint8_t *tag)
{
    struct evp_auth *a = state;
    uint8_t full[HMAC_SHA1_BYTES];
    if (tag_bytes < 0 || tag_bytes > HMAC_SHA1_BYTES) {
        return srtp_err_status_bad_param;
    }
    const srtp_err_status_t status = hmac_update(state, part, part_bytes);
    if (status != srtp_err_status_ok) {
        return status;
    }
    hmac_sha1(&a->key, a->part, a->part_count, full);
    a->part_count = 0;
    memcpy(tag, full, (size_t)tag_bytes);
    return srtp_err_status_ok;
}

/* Known answers. libsrtp's structs want some of them writable; nothing writes them. */

static const uint8_t icm_known_key[AES_KEY_BYTES + ICM_SALT_BYTES] = {
    0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f,
    0x3c, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd};
static uint8_t icm_known_iv[ICM_BLOCK_BYTES];
static const uint8_t icm_known_plain[2 * ICM_BLOCK_BYTES];
static const uint8_t icm_known_cipher[2 * ICM_BLOCK_BYTES] = {
    0xe0, 0x3e, 0xad, 0x09, 0x35, 0xc9, 0x5e, 0x80, 0xe1, 0x66, 0xb1, 0x6d, 0xd9, 0x2b, 0x4e, 0xb4,
    0xd2, 0x35, 0x13, 0x16, 0x2b, 0x02, 0xd0, 0xf7, 0x2a, 0x43, 0xa2, 0xfe, 0x4a, 0x5f, 0x97, 0xab};

static const srtp_cipher_test_case_t icm_known_answer = {
    .key_length_octets = sizeof(icm_known_key),
    .key = icm_known_key,
    .idx = icm_known_iv,
    .plaintext_length_octets = sizeof(icm_known_plain),
    .plaintext = icm_known_plain,
    .ciphertext_length_octets = sizeof(icm_known_cipher),
    .ciphertext = icm_known_cipher,
};

static const uint8_t gcm_known_key[AES_KEY_BYTES + GCM_SALT_BYTES] = {
    0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
static uint8_t gcm_known_iv[] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce,
                                 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
static const uint8_t gcm_known_aad[] = {0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
                                        0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
static const uint8_t gcm_known_plain[KNOWN_TEXT_BYTES] = {
    0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5, 0xaf, 0xf5, 0x26,
    0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31,
    0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49,
    0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39};
static const uint8_t gcm_known_cipher[KNOWN_TEXT_BYTES + GCM_TAG_BYTES] = {
    0x42, 0x83, 0x1e, 0xc2, 0x21, 0x77, 0x74, 0x24, 0x4b, 0x72, 0x21, 0xb7, 0x84, 0xd0, 0xd4, 0x9c,
    0xe3, 0xaa, 0x21, 0x2f, 0x2c, 0x02, 0xa4, 0xe0, 0x35, 0xc1, 0x7e, 0x23, 0x29, 0xac, 0xa1, 0x2e,
    0x21, 0xd5, 0x14, 0xb2, 0x54, 0x66, 0x93, 0x1c, 0x7d, 0x8f, 0x6a, 0x5a, 0xac, 0x84, 0xaa, 0x05,
    0x1b, 0xa3, 0x0b, 0x39, 0x6a, 0x0a, 0xac, 0x97, 0x3d, 0x58, 0xe0, 0x91, 0x5b, 0xc9, 0x4f, 0xbc,
    0x32, 0x21, 0xa5, 0xdb, 0x94, 0xfa, 0xe9, 0x5a, 0xe7, 0x12, 0x1a, 0x47};

static const srtp_cipher_test_case_t gcm_known_answer = {
    .key_length_octets = sizeof(gcm_known_key),
    .key = gcm_known_key,
    .idx = gcm_known_iv,
    .plaintext_length_octets = sizeof(gcm_known_plain),
    .plaintext = gcm_known_plain,
    .ciphertext_length_octets = sizeof(gcm_known_cipher),
    .ciphertext = gcm_known_cipher,
    .aad_length_octets = sizeof(gcm_known_aad),
    .aad = gcm_known_aad,
    .tag_length_octets = GCM_TAG_BYTES,
};

static const uint8_t hmac_known_key[20] = {0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
                                           0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
                                           0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b};
static const uint8_t hmac_known_text[8] = {'H', 'i', ' ', 'T', 'h', 'e', 'r', 'e'};
static const uint8_t hmac_known_tag[20] = {0xb6, 0x17, 0x31, 0x86, 0x55, 0x05, 0x72,
                                           0x64, 0xe2, 0x8b, 0xc0, 0xb6, 0xfb, 0x37,
                                           0x8c, 0x8e, 0xf1, 0x46, 0xbe, 0x00};

static const srtp_auth_test_case_t hmac_known_answer = {
    .key_length_octets = sizeof(hmac_known_key),
    .key = hmac_known_key,
    .data_length_octets = sizeof(hmac_known_text),
    .data = hmac_known_text,
    .tag_length_octets = sizeof(hmac_known_tag),
    .tag = hmac_known_tag,
};

static const srtp_cipher_type_t icm_type = {
    .alloc = icm_alloc,
    .dealloc = cipher_dealloc,
    .init = icm_init,
    .encrypt = icm_crypt,
    .decrypt = icm_crypt,
    .set_iv = icm_set_iv,
    .description = "AES-128 counter mode of OpenSSL",
    .test_data = &icm_known_answer,
    .id = SRTP_AES_ICM_128,
};

static const srtp_cipher_type_t gcm_type = {
    .alloc = gcm_alloc,
    .dealloc = cipher_dealloc,
    .init = gcm_init,
    .set_aad = gcm_set_aad,
    .encrypt = gcm_encrypt,
    .decrypt = gcm_decrypt,
    .set_iv = gcm_set_iv,
    .get_tag = gcm_get_tag,
    .description = "AES-128-GCM of OpenSSL",
    .test_data = &gcm_known_answer,
    .id = SRTP_AES_GCM_128,
};

static const srtp_auth_type_t hmac_type = {
    .alloc = hmac_alloc,
    .dealloc = hmac_dealloc,
    .init = hmac_init,
    .compute = hmac_compute,
    .update = hmac_update,
    .start = hmac_start,
    .description = "HMAC-SHA1",
    .test_data = &hmac_known_answer,
    .id = SRTP_HMAC_SHA1,
};

/* A fetch costs as much as a hundred packets, so it is done here, once. */
static bool fetch_ciphers(void)
{
    if (aes_ctr == NULL) {
        aes_ctr = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
    }
    if (aes_gcm == NULL) {
        aes_gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    }
    return aes_ctr != NULL && aes_gcm != NULL;
}

static bool refused(struct fault *fault, const char *description, srtp_err_status_t status)
{
    return fault_set(fault, FAULT_LIBRARY, "libsrtp: register %s: status %d", description,
                     (int)status);
}

bool srtp_evp_register(struct fault *fault)
{
    if (!fetch_ciphers()) {
        return fault_set(fault, FAULT_LIBRARY, "libcrypto: AES-128-CTR or AES-128-GCM is missing");
    }
    srtp_err_status_t status = srtp_replace_cipher_type(&icm_type, icm_type.id);
    if (status != srtp_err_status_ok) {
        return refused(fault, icm_type.description, status);
    }
    status = srtp_replace_cipher_type(&gcm_type, gcm_type.id);
    if (status != srtp_err_status_ok) {
        return refused(fault, gcm_type.description, status);
    }
    status = srtp_replace_auth_type(&hmac_type, hmac_type.id);
    if (status != srtp_err_status_ok) {
        return refused(fault, hmac_type.description, status);
    }
    return true;
}
