/* dtls_identity_test.c - one key pair with its fingerprint, and settings that offer nothing else */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_identity.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

static struct dtls_identity *fixture;

static int open_fixture(void **state)
{
    (void)state;
    struct fault fault = {0};
    fixture = dtls_identity_create(&fault);
    return fixture != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    dtls_identity_destroy(fixture);
    return 0;
}

static X509 *certificate_of(const struct dtls_identity *identity)
{
    X509 *certificate = SSL_CTX_get0_certificate(dtls_identity_context(identity));
    assert_non_null(certificate);
    return certificate;
}

static void the_fingerprint_is_sha_256_over_the_certificate(void **state)
{
    (void)state;
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned digest_bytes = 0;
    assert_int_equal(X509_digest(certificate_of(fixture), EVP_sha256(), digest, &digest_bytes), 1);
    assert_int_equal(digest_bytes, DTLS_IDENTITY_FINGERPRINT_BYTES);
    assert_memory_equal(dtls_identity_fingerprint(fixture), digest, digest_bytes);
}

static void the_certificate_is_signed_by_its_own_p256_key_and_valid_now(void **state)
{
    (void)state;
    X509 *certificate = certificate_of(fixture);
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    char group[32] = "";
    assert_int_equal(EVP_PKEY_get_group_name(key, group, sizeof(group), NULL), 1);
    assert_string_equal(group, "prime256v1");
    assert_int_equal(X509_verify(certificate, key), 1);
    assert_int_equal(X509_check_private_key(
                         certificate, SSL_CTX_get0_privatekey(dtls_identity_context(fixture))),
                     1);
    assert_int_equal(X509_cmp_current_time(X509_get0_notBefore(certificate)), -1);
    assert_int_equal(X509_cmp_current_time(X509_get0_notAfter(certificate)), 1);
}

static void two_identities_share_neither_fingerprint_nor_serial_number(void **state)
{
    (void)state;
    struct dtls_identity *second = dtls_identity_create(NULL);
    assert_non_null(second);
    assert_memory_not_equal(dtls_identity_fingerprint(fixture), dtls_identity_fingerprint(second),
                            DTLS_IDENTITY_FINGERPRINT_BYTES);
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(certificate_of(fixture)),
                                          X509_get0_serialNumber(certificate_of(second))),
                         0);
    dtls_identity_destroy(second);
}

static void two_ciphers_are_offered_with_the_peer_of_an_ec_key_first(void **state)
{
    (void)state;
    static const char *const expected[] = {"ECDHE-ECDSA-AES128-GCM-SHA256",
                                           "ECDHE-RSA-AES128-GCM-SHA256"};
    SSL *ssl = SSL_new(dtls_identity_context(fixture));
    STACK_OF(SSL_CIPHER) *ciphers = SSL_get1_supported_ciphers(ssl);
    assert_int_equal(sk_SSL_CIPHER_num(ciphers), COUNT_OF(expected));
    for (int i = 0; i < (int)COUNT_OF(expected); i++) {
        assert_string_equal(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i)), expected[i]);
    }
    sk_SSL_CIPHER_free(ciphers);
    SSL_free(ssl);
}

static void srtp_is_offered_with_gcm_before_sha1_80(void **state)
{
    (void)state;
    static const unsigned long expected[] = {SRTP_AEAD_AES_128_GCM, SRTP_AES128_CM_SHA1_80};
    SSL *ssl = SSL_new(dtls_identity_context(fixture));
    STACK_OF(SRTP_PROTECTION_PROFILE) *profiles = SSL_get_srtp_profiles(ssl);
    assert_int_equal(sk_SRTP_PROTECTION_PROFILE_num(profiles), COUNT_OF(expected));
    for (int i = 0; i < (int)COUNT_OF(expected); i++) {
        assert_int_equal(sk_SRTP_PROTECTION_PROFILE_value(profiles, i)->id, expected[i]);
    }
    SSL_free(ssl);
}

static void every_session_demands_a_certificate_and_dtls_1_2_without_shortcuts(void **state)
{
    (void)state;
    static const uint64_t options = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                    SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE;
    SSL_CTX *context = dtls_identity_context(fixture);
    assert_int_equal(SSL_CTX_get_min_proto_version(context), DTLS1_2_VERSION);
    assert_int_equal(SSL_CTX_get_verify_mode(context),
                     SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    assert_int_equal(SSL_CTX_get_options(context) & options, options);
    assert_int_equal(SSL_CTX_get_session_cache_mode(context), SSL_SESS_CACHE_OFF);
    assert_int_equal(SSL_CTX_get_security_level(context), 2);
}

static void a_context_that_was_kept_outlives_the_identity(void **state)
{
    (void)state;
    struct dtls_identity *identity = dtls_identity_create(NULL);
    assert_non_null(identity);
    SSL_CTX *context = dtls_identity_context(identity);
    assert_int_equal(SSL_CTX_up_ref(context), 1);
    dtls_identity_destroy(identity);
    SSL *ssl = SSL_new(context);
    assert_non_null(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
}

static void destroying_nothing_is_fine(void **state)
{
    (void)state;
    dtls_identity_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fingerprint_is_sha_256_over_the_certificate),
        cmocka_unit_test(the_certificate_is_signed_by_its_own_p256_key_and_valid_now),
        cmocka_unit_test(two_identities_share_neither_fingerprint_nor_serial_number),
        cmocka_unit_test(two_ciphers_are_offered_with_the_peer_of_an_ec_key_first),
        cmocka_unit_test(srtp_is_offered_with_gcm_before_sha1_80),
        cmocka_unit_test(every_session_demands_a_certificate_and_dtls_1_2_without_shortcuts),
        cmocka_unit_test(a_context_that_was_kept_outlives_the_identity),
        cmocka_unit_test(destroying_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
