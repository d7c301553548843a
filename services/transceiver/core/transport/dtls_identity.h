/*
 * dtls_identity.h - who we are in DTLS: one key pair and self-signed certificate
 *
 * Gives:   the fingerprint for the answer's SDP, and to dtls_transport the TLS settings that every
 *          session shares: DTLS 1.2, ECDHE with AES-128-GCM, use_srtp.
 * Owns:    a P-256 key. Made at start and now and then: the key pair costs some 300 us, so it is
 *          never made for a session.
 * Threads: read only after create, so shards may share one.
 * Source:  RFC 8122, RFC 8827, RFC 5764.
 */
#ifndef EARSHOT_DTLS_IDENTITY_H
#define EARSHOT_DTLS_IDENTITY_H

#include "common/base/status.h"

#define DTLS_IDENTITY_FINGERPRINT_BYTES 32

struct dtls_identity;

/* NULL on failure, with the fault filled in. */
MUST_USE struct dtls_identity *dtls_identity_create(struct fault *fault);
/* Running transports keep what they need of it. */
void dtls_identity_destroy(struct dtls_identity *identity);

/* SHA-256 over the certificate: DTLS_IDENTITY_FINGERPRINT_BYTES, valid as long as the identity. */
const uint8_t *dtls_identity_fingerprint(const struct dtls_identity *identity);

/* For dtls_transport only. Borrowed: up_ref it to keep it. */
struct ssl_ctx_st;
struct ssl_ctx_st *dtls_identity_context(const struct dtls_identity *identity);

#endif
