/*
 * dtls_fingerprint.h - whether a peer's certificate is the one that its SDP named (RFC 8122)
 *
 * Takes:   certificates with a P-256, P-384 or RSA key of 2048 to 4096 bits, at most
 *          DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX long.
 * Safety:  compared in constant time. Nothing else in a certificate is looked at.
 */
#ifndef EARSHOT_DTLS_FINGERPRINT_H
#define EARSHOT_DTLS_FINGERPRINT_H

#include "common/base/bytes.h"

#define DTLS_FINGERPRINTS_MAX                  4
#define DTLS_FINGERPRINT_CERTIFICATE_BYTES_MAX 4096

enum dtls_hash { DTLS_HASH_SHA256, DTLS_HASH_SHA384, DTLS_HASH_SHA512 };

struct dtls_fingerprint {
    enum dtls_hash hash;
    uint8_t digest[64]; /* 32, 48 or 64 bytes, by hash */
};

enum dtls_fingerprint_result {
    DTLS_FINGERPRINT_MATCHES,
    DTLS_FINGERPRINT_DIFFERS,
    DTLS_FINGERPRINT_UNSUITABLE /* absent, too long, or with another key */
};

struct x509_st;
/* Matches when any of the expected ones does. certificate may be NULL. */
enum dtls_fingerprint_result dtls_fingerprint_check(struct x509_st *certificate,
                                                    const struct dtls_fingerprint *expected,
                                                    size_t expected_count);

#endif
