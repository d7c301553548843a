/* dtls_fingerprint_test.c - only the certificate that the SDP named passes, and only a fit one */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_fingerprint.h"
#include "tests/dtls_peer.h"

#include <openssl/core_names.h>
#include <openssl/param_build.h>

#define PADDING_BYTES 3000 /* near enough to the limit that lengths keep their size */

static const struct {
    enum dtls_hash hash;
    size_t digest_bytes;
} hash_case[] = {{DTLS_HASH_SHA256, 32}, {DTLS_HASH_SHA384, 48}, {DTLS_HASH_SHA512, 64}};

static struct dtls_fingerprint fingerprint_of(const X509 *certificate, enum dtls_hash hash)
{
    struct dtls_fingerprint f = {.hash = hash};
    const EVP_MD *const method[] = {EVP_sha256(), EVP_sha384(), EVP_sha512()};
    assert_int_equal(X509_digest(certificate, method[hash], f.digest, NULL), 1);
    return f;
}

/* Checked against its own fingerprint, so that nothing but the certificate can be at fault. */
static enum dtls_fingerprint_result check_itself(X509 *certificate)
{
    const struct dtls_fingerprint own = fingerprint_of(certificate, DTLS_HASH_SHA256);
    return dtls_fingerprint_check(certificate, &own, 1);
}

/* Signed with Ed25519 whatever the key is: its signatures have one length. */
static X509 *certificate_of(EVP_PKEY *key, size_t padding, long valid_until_s)
{
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), valid_until_s);
    X509_set_pubkey(certificate, key);
    if (padding > 0) {
        dtls_peer_pad_certificate(certificate, padding);
    }
    assert_true(X509_sign(certificate, dtls_peer_key_of(DTLS_PEER_ED25519), NULL) > 0);
    return certificate;
}

/* A public RSA key of exactly so many bits; nobody has the private one. */
static EVP_PKEY *rsa_key_of(int bits)
{
    EVP_PKEY *key = NULL;
    BIGNUM *modulus = BN_new();
    BIGNUM *exponent = BN_new();
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    assert_true(BN_set_bit(modulus, bits - 1) == 1 && BN_set_bit(modulus, 0) == 1);
    assert_int_equal(BN_set_word(exponent, 65537), 1);
    assert_int_equal(OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus), 1);
    assert_int_equal(OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent), 1);
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    assert_int_equal(EVP_PKEY_fromdata_init(context), 1);
    assert_int_equal(EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters), 1);
    OSSL_PARAM_free(parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_BLD_free(builder);
    BN_free(exponent);
    BN_free(modulus);
    return key;
}

static void the_named_certificate_matches_at_any_place_of_the_list(void **state)
{
    (void)state;
    X509 *certificate = certificate_of(dtls_peer_key_of(DTLS_PEER_P256), 0, 3600);
    for (size_t h = 0; h < COUNT_OF(hash_case); h++) {
        for (size_t place = 0; place < DTLS_FINGERPRINTS_MAX; place++) {
            struct dtls_fingerprint expected[DTLS_FINGERPRINTS_MAX] = {0};
            expected[place] = fingerprint_of(certificate, hash_case[h].hash);
            assert_int_equal(dtls_fingerprint_check(certificate, expected, place + 1),
                             DTLS_FINGERPRINT_MATCHES);
            assert_int_equal(dtls_fingerprint_check(certificate, expected, place),
                             DTLS_FINGERPRINT_DIFFERS);
        }
    }
    X509_free(certificate);
}

static void every_byte_of_a_digest_counts_and_none_behind_it(void **state)
{
    (void)state;
    X509 *certificate = certificate_of(dtls_peer_key_of(DTLS_PEER_P256), 0, 3600);
    for (size_t h = 0; h < COUNT_OF(hash_case); h++) {
        for (size_t i = 0; i < sizeof(((struct dtls_fingerprint *)NULL)->digest); i++) {
            struct dtls_fingerprint f = fingerprint_of(certificate, hash_case[h].hash);
            f.digest[i] ^= 1;
            const enum dtls_fingerprint_result expected =
                i < hash_case[h].digest_bytes ? DTLS_FINGERPRINT_DIFFERS : DTLS_FINGERPRINT_MATCHES;
            if (dtls_fingerprint_check(certificate, &f, 1) != expected) {
                fail_msg("hash %zu, byte %zu", h, i);
            }
        }
    }
    X509_free(certificate);
}

static void the_digest_of_one_hash_does_not_pass_for_another(void **state)
{
    (void)state;
    X509 *certificate = certificate_of(dtls_peer_key_of(DTLS_PEER_P256), 0, 3600);
    for (size_t h = 0; h < COUNT_OF(hash_case); h++) {
        struct dtls_fingerprint f = fingerprint_of(certificate, hash_case[h].hash);
        f.hash = hash_case[(h + 1) % COUNT_OF(hash_case)].hash;
        assert_int_equal(dtls_fingerprint_check(certificate, &f, 1), DTLS_FINGERPRINT_DIFFERS);
    }
    X509_free(certificate);
}

static void no_certificate_is_unsuitable(void **state)
{
    (void)state;
    const struct dtls_fingerprint f = {.hash = DTLS_HASH_SHA256};
    assert_int_equal(dtls_fingerprint_check(NULL, &f, 1), DTLS_FINGERPRINT_UNSUITABLE);
}

static void only_keys_on_p256_and_p384_are_suitable_curves(void **state)
{
    (void)state;
    static const struct {
        enum dtls_peer_key key;
        enum dtls_fingerprint_result result;
    } curve_case[] = {
        {DTLS_PEER_P256, DTLS_FINGERPRINT_MATCHES},
        {DTLS_PEER_P384, DTLS_FINGERPRINT_MATCHES},
        {DTLS_PEER_P521, DTLS_FINGERPRINT_UNSUITABLE},
        {DTLS_PEER_ED25519, DTLS_FINGERPRINT_UNSUITABLE},
    };
    for (size_t i = 0; i < COUNT_OF(curve_case); i++) {
        X509 *certificate = certificate_of(dtls_peer_key_of(curve_case[i].key), 0, 3600);
        assert_int_equal(check_itself(certificate), curve_case[i].result);
        X509_free(certificate);
    }
}

static void an_rsa_key_has_2048_to_4096_bits(void **state)
{
    (void)state;
    static const struct {
        int bits;
        enum dtls_fingerprint_result result;
    } bits_case[] = {
        {1024, DTLS_FINGERPRINT_UNSUITABLE}, {2047, DTLS_FINGERPRINT_UNSUITABLE},
        {2048, DTLS_FINGERPRINT_MATCHES},    {4096, DTLS_FINGERPRINT_MATCHES},
        {4097, DTLS_FINGERPRINT_UNSUITABLE},
    };
    for (size_t i = 0; i < COUNT_OF(bits_case); i++) {
        EVP_PKEY *key = rsa_key_of(bits_case[i].bits);
        X509 *certificate = certificate_of(key, 0, 3600);
        if (check_itself(certificate) != bits_case[i].result) {
            fail_msg("%d bits", bits_case[i].bits);
        }
        X509_free(certificate);
        EVP_PKEY_free(key);
    }
}

static void a_certificate_of_4096_bytes_is_taken_and_a_longer_one_is_not(void **state)
{
    (void)state;
    EVP_PKEY *key = dtls_peer_key_of(DTLS_PEER_P256);
    X509 *first = certificate_of(key, PADDING_BYTES, 3600);
    const int first_bytes = i2d_X509(first, NULL);
    const size_t filling =
        (size_t)(PADDING_BYTES + DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX - first_bytes);
    X509_free(first);
    for (size_t extra = 0; extra < 2; extra++) {
        X509 *certificate = certificate_of(key, filling + extra, 3600);
        assert_int_equal(i2d_X509(certificate, NULL),
                         DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX + extra);
        assert_int_equal(check_itself(certificate),
                         extra == 0 ? DTLS_FINGERPRINT_MATCHES : DTLS_FINGERPRINT_UNSUITABLE);
        X509_free(certificate);
    }
}

static void an_expired_certificate_matches_since_only_the_fingerprint_decides(void **state)
{
    (void)state;
    X509 *certificate = certificate_of(dtls_peer_key_of(DTLS_PEER_P256), 0, -3600);
    assert_int_equal(check_itself(certificate), DTLS_FINGERPRINT_MATCHES);
    X509_free(certificate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_certificate_matches_at_any_place_of_the_list),
        cmocka_unit_test(every_byte_of_a_digest_counts_and_none_behind_it),
        cmocka_unit_test(the_digest_of_one_hash_does_not_pass_for_another),
        cmocka_unit_test(no_certificate_is_unsuitable),
        cmocka_unit_test(only_keys_on_p256_and_p384_are_suitable_curves),
        cmocka_unit_test(an_rsa_key_has_2048_to_4096_bits),
        cmocka_unit_test(a_certificate_of_4096_bytes_is_taken_and_a_longer_one_is_not),
        cmocka_unit_test(an_expired_certificate_matches_since_only_the_fingerprint_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
