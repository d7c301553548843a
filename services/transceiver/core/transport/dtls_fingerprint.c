/* dtls_fingerprint.c - see dtls_fingerprint.h */
#include "services/transceiver/core/transport/dtls_fingerprint.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

#define RSA_BITS_MIN   2048
#define RSA_BITS_MAX   4096
#define GROUP_NAME_CAP 32

static bool has_suitable_key(const X509 *certificate)
{
    const EVP_PKEY *key = X509_get0_pubkey(certificate);
    char group[GROUP_NAME_CAP] = "";
    if (key == NULL) {
        return false;
    }
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_EC:
        return EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
               (strcmp(group, SN_X9_62_prime256v1) == 0 || strcmp(group, SN_secp384r1) == 0);
    case EVP_PKEY_RSA:
        return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN && EVP_PKEY_get_bits(key) <= RSA_BITS_MAX;
    default:
        return false;
    }
}

static const EVP_MD *digest_of(enum dtls_hash hash)
{
    switch (hash) {
    case DTLS_HASH_SHA256:
        return EVP_sha256();
    case DTLS_HASH_SHA384:
        return EVP_sha384();
    case DTLS_HASH_SHA512:
        return EVP_sha512();
    }
    return NULL;
}

static bool matches(const X509 *certificate, const struct dtls_fingerprint *expected)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned digest_bytes = 0;
    const EVP_MD *method = digest_of(expected->hash);
    if (method == NULL || X509_digest(certificate, method, digest, &digest_bytes) != 1) {
        return false;
    }
    return bytes_equal_constant_time(bytes_view_of(digest, digest_bytes),
                                     bytes_view_of(expected->digest, digest_bytes));
}

enum dtls_fingerprint_result dtls_fingerprint_check(X509 *certificate,
                                                    const struct dtls_fingerprint *expected,
                                                    size_t expected_count)
{
    if (certificate == NULL) {
        return DTLS_FINGERPRINT_UNSUITABLE;
    }
    const int der_bytes = i2d_X509(certificate, NULL);
    if (der_bytes <= 0 || der_bytes > DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX ||
        !has_suitable_key(certificate)) {
        return DTLS_FINGERPRINT_UNSUITABLE;
    }
    for (size_t i = 0; i < expected_count; i++) {
        if (matches(certificate, &expected[i])) {
            return DTLS_FINGERPRINT_MATCHES;
        }
    }
    return DTLS_FINGERPRINT_DIFFERS;
}
