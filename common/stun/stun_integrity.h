/*
 * stun_integrity.h - MESSAGE-INTEGRITY (HMAC-SHA1, RFC 8489 s.14.5) and FINGERPRINT (s.14.7)
 *
 * Short-term credentials only: the key is the password itself. `struct hmac_sha1_key` holds the
 * precomputed pads (common/crypto/hmac_sha1.h); make one per password, not one per message.
 */
#ifndef EARSHOT_STUN_INTEGRITY_H
#define EARSHOT_STUN_INTEGRITY_H

#include "common/stun/stun_message.h"

struct hmac_sha1_key;

/* True only when the attribute is present and right; constant time. */
MUST_USE bool stun_integrity_verify(const struct stun_message *message,
                                    const struct hmac_sha1_key *password);
/* True when the attribute is absent, or present and right. */
MUST_USE bool stun_fingerprint_verify(const struct stun_message *message);

void stun_integrity_append(struct byte_writer *w, const struct hmac_sha1_key *password);
void stun_fingerprint_append(struct byte_writer *w);

#endif
