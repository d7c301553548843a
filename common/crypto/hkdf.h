/*
 * hkdf.h - keys from a secret: HKDF with SHA-256 (RFC 5869), extract and expand in one
 *
 * Units:   at most HKDF_OUT_BYTES_MAX bytes out (255 hashes, RFC 5869 s.2.3).
 * Fails:   cannot; more than the maximum is an error of the caller.
 */
#ifndef EARSHOT_HKDF_H
#define EARSHOT_HKDF_H

#include "common/base/bytes.h"

#define HKDF_OUT_BYTES_MAX (255 * 32)

/* An empty salt means 32 zero bytes, as the RFC says. */
void hkdf_sha256(struct bytes_view secret, struct bytes_view salt, struct bytes_view info,
                 uint8_t *out, size_t out_len);

#endif
