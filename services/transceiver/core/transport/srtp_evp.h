/*
 * srtp_evp.h - OpenSSL's AES and our HMAC-SHA1 as the ciphers of libsrtp
 *
 * Debian's libsrtp computes through NSS, where a packet costs the more the more calls there are.
 * Gives:   AES-128 counter mode, AES-128-GCM and HMAC-SHA1 in libsrtp's place for them, its key
 *          derivation included. AES-192 and AES-256 stay NSS's and are not negotiated.
 * Threads: register before any context exists; contexts belong to one thread each.
 * Fails:   libsrtp tries each against known answers (RFC 3711 B.2, the GCM specification, RFC 2202)
 *          and against those of the cipher it replaces; a process where one fails must not start.
 */
#ifndef EARSHOT_SRTP_EVP_H
#define EARSHOT_SRTP_EVP_H

#include "common/base/status.h"

/* After libsrtp's own initialisation. False, with the fault filled in, when one was refused. */
MUST_USE bool srtp_evp_register(struct fault *fault);

#endif
