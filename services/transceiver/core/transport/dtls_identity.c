/* dtls_identity.c - see dtls_identity.h */
#include "services/transceiver/core/transport/dtls_identity.h"

#include "services/transceiver/core/transport/dtls_bio.h"
#include "services/transceiver/core/transport/dtls_fingerprint.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>

/* Nobody checks the dates: the fingerprint decides. They only have to look sane. */
#define VALID_FROM_S  (-24L * 3600)
#define VALID_UNTIL_S (365L * 24 * 3600)

#define SECURITY_LEVEL      2 /* 112 bits: RSA 2048, no SHA-1 */
#define SEND_FRAGMENT_BYTES 1200

/* Twice what dtls_fingerprint takes, so that it is the one who refuses, and says why. */
#define CERTIFICATE_LIST_BYTES_MAX (2 * DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX)

/* RFC 8827 s.6.5 names the first; the second is for peers with an RSA certificate. AES first: as a
 * server Chromium would else choose ChaCha20. P-384 is there for certificates with such a key. */
static const char ciphers[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256";
static const char groups[] = "X25519:P-256:P-384";
static const char srtp_profiles[] = "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80";

struct dtls_identity {
    SSL_CTX *context;
    uint8_t fingerprint[DTLS_IDENTITY_FINGERPRINT_BYTES];
};

static X509 *sign_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    if (certificate == NULL) {
        return NULL;
    }
    X509_NAME *name = X509_get_subject_name(certificate);
    ASN1_INTEGER *serial = X509_get_serialNumber(certificate);
    uint64_t serial_number = 0;
    const bool is_signed =
        X509_set_version(certificate, X509_VERSION_3) == 1 &&
        RAND_bytes((uint8_t *)&serial_number, sizeof(serial_number)) == 1 &&
        ASN1_INTEGER_set_uint64(serial, serial_number) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), VALID_FROM_S) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_UNTIL_S) != NULL &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"earshot", -1, -1,
                                   0) == 1 &&
        X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
        X509_sign(certificate, key, EVP_sha256()) > 0;
    if (!is_signed) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

/* Any chain will do: the fingerprint is compared when the handshake is finished. */
static int accept_any_chain(X509_STORE_CTX *store, void *argument)
{
    (void)store;
    (void)argument;
    return 1;
}

static bool configure(SSL_CTX *context)
{
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_NO_COMPRESSION | SSL_OP_NO_QUERY_MTU |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_security_level(context, SECURITY_LEVEL);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, accept_any_chain, NULL);
    SSL_CTX_set_max_cert_list(context, CERTIFICATE_LIST_BYTES_MAX);
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1 &&
           SSL_CTX_set_max_send_fragment(context, SEND_FRAGMENT_BYTES) == 1 &&
           SSL_CTX_set_cipher_list(context, ciphers) == 1 &&
           SSL_CTX_set1_groups_list(context, groups) == 1 &&
           SSL_CTX_set_tlsext_use_srtp(context, srtp_profiles) == 0; /* 0 is success here */
}

/* Fills the half-built identity; what was made so far is freed with it. */
static bool build(struct dtls_identity *identity)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key != NULL ? sign_certificate(key) : NULL;
    identity->context = SSL_CTX_new(DTLS_method());
    const bool is_built = certificate != NULL && identity->context != NULL &&
                          configure(identity->context) &&
                          SSL_CTX_use_certificate(identity->context, certificate) == 1 &&
                          SSL_CTX_use_PrivateKey(identity->context, key) == 1 &&
                          X509_digest(certificate, EVP_sha256(), identity->fingerprint, NULL) == 1;
    X509_free(certificate);
    EVP_PKEY_free(key);
    return is_built;
}

struct dtls_identity *dtls_identity_create(struct fault *fault)
{
    /* The openssl.cnf of a host must not change what we offer. */
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1 || !dtls_bio_prepare()) {
        (void)fault_set(fault, FAULT_LIBRARY, "libssl: start failed");
        return NULL;
    }
    struct dtls_identity *identity = calloc(1, sizeof(*identity));
    if (identity == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "DTLS certificate: out of memory");
        return NULL;
    }
    ERR_clear_error();
    if (!build(identity)) {
        const char *reason = ERR_reason_error_string(ERR_peek_error());
        (void)fault_set(fault, FAULT_LIBRARY, "DTLS certificate: %s",
                        reason != NULL ? reason : "libssl gave no reason");
        dtls_identity_destroy(identity);
        return NULL;
    }
    return identity;
}

void dtls_identity_destroy(struct dtls_identity *identity)
{
    if (identity == NULL) {
        return;
    }
    SSL_CTX_free(identity->context); /* when the last SSL of it is gone */
    free(identity);
}

const uint8_t *dtls_identity_fingerprint(const struct dtls_identity *identity)
{
    return identity->fingerprint;
}

SSL_CTX *dtls_identity_context(const struct dtls_identity *identity)
{
    return identity->context;
}
