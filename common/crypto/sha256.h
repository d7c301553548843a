/*
 * sha256.h - SHA-256 (FIPS 180-4) of one message
 *
 * Fails:   cannot.
 */
#ifndef EARSHOT_SHA256_H
#define EARSHOT_SHA256_H

#include "common/base/bytes.h"

#define SHA256_BYTES 32

void sha256(struct bytes_view message, uint8_t out[SHA256_BYTES]);

#endif
