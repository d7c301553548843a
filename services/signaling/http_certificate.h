/*
 * http_certificate.h - what http_tls shows its clients: a certificate, its key and our rules
 *
 * Fails:   a fault names the file and what to do: absent, not PEM, a key that others may read or
 *          that belongs to another certificate.
 * Private to http_tls.c: both see OpenSSL.
 */
#ifndef EARSHOT_HTTP_CERTIFICATE_H
#define EARSHOT_HTTP_CERTIFICATE_H

#include "common/base/status.h"

#include <openssl/types.h>

/* The caller frees it with SSL_CTX_free; NULL and a fault. *expiry_s: unix time of notAfter. */
SSL_CTX *http_certificate_load(const char *certificate, const char *key, uint64_t *expiry_s,
                               struct fault *fault);

#endif
