/* dtls_alert.c - see dtls_alert.h */
#include "services/transceiver/core/transport/dtls_alert.h"

#include "common/crypto/aes_gcm.h"
#include "services/transceiver/core/transport/dtls_record.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#define VERSION_DTLS_1_2      0xfefd
#define LEVEL_FATAL           2
#define DESCRIPTION_INTERNAL  80
#define ALERT_BYTES           2
#define EXPLICIT_NONCE_BYTES  8
#define ADDITIONAL_DATA_BYTES 13
/* More than a datagram can hold. */
#define RECORD_TEXT_MAX 1500

/* RFC 5246 s.6.3, for a cipher without MAC keys. */
struct key_block {
    uint8_t client_key[DTLS_ALERT_KEY_BYTES];
    uint8_t server_key[DTLS_ALERT_KEY_BYTES];
    uint8_t client_salt[DTLS_ALERT_SALT_BYTES];
    uint8_t server_salt[DTLS_ALERT_SALT_BYTES];
};
static_assert(sizeof(struct key_block) == 40, "a key block is filled as 40 bytes");

static bool derive_key_block(const struct dtls_alert_secrets *secrets, struct key_block *out)
{
    static const char label[] = "key expansion";
    struct byte_writer seed;
    uint8_t seed_bytes[sizeof(label) - 1 + 2 * DTLS_ALERT_RANDOM_BYTES];
    byte_writer_init(&seed, seed_bytes, sizeof(seed_bytes));
    byte_writer_bytes(&seed, bytes_view_of_text(label));
    byte_writer_bytes(&seed, bytes_view_of(secrets->server_random, DTLS_ALERT_RANDOM_BYTES));
    byte_writer_bytes(&seed, bytes_view_of(secrets->client_random, DTLS_ALERT_RANDOM_BYTES));

    /* OpenSSL's parameters are not const, but it only reads these. */
    struct dtls_alert_secrets secret = *secrets;
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret.master,
                                          sizeof(secret.master)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed_bytes, seed.len),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *prf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_TLS1_PRF, NULL);
    EVP_KDF_CTX *context = prf != NULL ? EVP_KDF_CTX_new(prf) : NULL;
    const bool is_derived =
        context != NULL && EVP_KDF_derive(context, (uint8_t *)out, sizeof(*out), parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(prf);
    OPENSSL_cleanse(&secret, sizeof(secret));
    return is_derived;
}

bool dtls_alert_derive(const struct dtls_alert_secrets *secrets, bool writer_is_server,
                       struct dtls_alert_key *out)
{
    struct key_block block = {0};
    const bool is_derived = derive_key_block(secrets, &block);
    memcpy(out->key, writer_is_server ? block.server_key : block.client_key, sizeof(out->key));
    memcpy(out->salt, writer_is_server ? block.server_salt : block.client_salt, sizeof(out->salt));
    OPENSSL_cleanse(&block, sizeof(block));
    return is_derived;
}

/* RFC 5246 s.6.2.3.3, with the epoch in the sequence number (RFC 6347 s.4.1.2.1). */
static void write_additional_data(uint8_t out[ADDITIONAL_DATA_BYTES], uint64_t epoch_and_sequence,
                                  uint8_t content_type, uint16_t text_bytes)
{
    struct byte_writer w;
    byte_writer_init(&w, out, ADDITIONAL_DATA_BYTES);
    byte_writer_u64(&w, epoch_and_sequence);
    byte_writer_u8(&w, content_type);
    byte_writer_u16(&w, VERSION_DTLS_1_2);
    byte_writer_u16(&w, text_bytes);
}

bool dtls_alert_seal(const struct dtls_alert_key *key, uint16_t epoch, uint64_t sequence_number,
                     uint8_t out[DTLS_ALERT_RECORD_BYTES])
{
    static const uint8_t alert[ALERT_BYTES] = {LEVEL_FATAL, DESCRIPTION_INTERNAL};
    const uint64_t epoch_and_sequence = (uint64_t)epoch << 48 | sequence_number;
    uint8_t nonce[AES_GCM_NONCE_BYTES];
    uint8_t additional[ADDITIONAL_DATA_BYTES];
    struct byte_writer w;

    /* RFC 5288 s.3: the explicit half must never repeat under one key, and the record's number
     * does not. OpenSSL counts from a random 64-bit start, which hits it as seldom as any value. */
    byte_writer_init(&w, nonce, sizeof(nonce));
    byte_writer_bytes(&w, bytes_view_of(key->salt, sizeof(key->salt)));
    byte_writer_u64(&w, epoch_and_sequence);

    write_additional_data(additional, epoch_and_sequence, DTLS_CONTENT_ALERT, ALERT_BYTES);
    byte_writer_init(&w, out, DTLS_ALERT_RECORD_BYTES);
    byte_writer_u8(&w, DTLS_CONTENT_ALERT);
    byte_writer_u16(&w, VERSION_DTLS_1_2);
    byte_writer_u64(&w, epoch_and_sequence);
    byte_writer_u16(&w, DTLS_ALERT_RECORD_BYTES - DTLS_RECORD_HEADER_BYTES);
    byte_writer_bytes(&w, bytes_view_of(nonce + sizeof(key->salt), EXPLICIT_NONCE_BYTES));

    struct aes_gcm *gcm = aes_gcm_create(key->key, AES_GCM_KEY_128);
    if (gcm == NULL) {
        return false;
    }
    aes_gcm_seal(gcm, nonce, bytes_view_of(additional, sizeof(additional)),
                 bytes_view_of(alert, sizeof(alert)), out + w.len);
    aes_gcm_destroy(gcm);
    return true;
}

bool dtls_alert_open(const struct dtls_alert_key *key, const struct dtls_record *record,
                     struct dtls_alert *out)
{
    const size_t overhead = EXPLICIT_NONCE_BYTES + AES_GCM_TAG_BYTES;
    uint8_t text[RECORD_TEXT_MAX];
    uint8_t nonce[AES_GCM_NONCE_BYTES];
    uint8_t additional[ADDITIONAL_DATA_BYTES];
    if (record->version != VERSION_DTLS_1_2 || record->fragment.len < overhead ||
        record->fragment.len - overhead > sizeof(text)) {
        return false;
    }
    const size_t text_bytes = record->fragment.len - overhead;
    memcpy(nonce, key->salt, sizeof(key->salt));
    memcpy(nonce + sizeof(key->salt), record->fragment.data, EXPLICIT_NONCE_BYTES);
    write_additional_data(additional, (uint64_t)record->epoch << 48 | record->sequence_number,
                          record->content_type, (uint16_t)text_bytes);
    struct aes_gcm *gcm = aes_gcm_create(key->key, AES_GCM_KEY_128);
    const bool is_authentic =
        gcm != NULL && aes_gcm_open(gcm, nonce, bytes_view_of(additional, sizeof(additional)),
                                    bytes_view_of(record->fragment.data + EXPLICIT_NONCE_BYTES,
                                                  text_bytes + AES_GCM_TAG_BYTES),
                                    text);
    aes_gcm_destroy(gcm);
    const bool is_alert =
        is_authentic && record->content_type == DTLS_CONTENT_ALERT && text_bytes == ALERT_BYTES;
    *out = (struct dtls_alert){.is_alert = is_alert,
                               .level = is_alert ? text[0] : 0,
                               .description = is_alert ? text[1] : 0};
    return is_authentic;
}
