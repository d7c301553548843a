/*
 * dtls_keys.h - what a finished DTLS handshake is good for: SRTP keys, and the keys of alerts
 *
 * Rule:    only after the peer's certificate was found to be the right one.
 * Secret:  whoever takes a key cleanses it.
 * Source:  RFC 5764 s.4.2, RFC 5246 s.6.3.
 */
#ifndef EARSHOT_DTLS_KEYS_H
#define EARSHOT_DTLS_KEYS_H

#include "services/transceiver/core/transport/dtls_alert.h"
#include "services/transceiver/core/transport/srtp_keys.h"

#include <openssl/ssl.h>

/* profile is SRTP_PROFILE_NONE when the peer did not negotiate one. False: OpenSSL refused. */
MUST_USE bool dtls_keys_export_srtp(SSL *ssl, struct srtp_keys *out);
/* What we write with, and what the peer does. */
MUST_USE bool dtls_keys_derive_alert(SSL *ssl, struct dtls_alert_key *ours,
                                     struct dtls_alert_key *theirs);

#endif
