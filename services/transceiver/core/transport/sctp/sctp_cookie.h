/*
 * sctp_cookie.h - what an INIT ACK hands out instead of keeping it (RFC 9260 s.5.1.3)
 *
 * Takes:   both ends' INIT.
 * Gives:   sealed bytes that only this association can open, and only SCTP_COOKIE_LIFE_US long.
 * Owns:    a key made at init; wipe it.
 */
#ifndef EARSHOT_SCTP_COOKIE_H
#define EARSHOT_SCTP_COOKIE_H

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "common/crypto/hmac_sha1.h"
#include "services/transceiver/core/transport/sctp/sctp_init.h"

/* RFC 9260 s.16: Valid.Cookie.Life, 60 seconds. */
#define SCTP_COOKIE_LIFE_US (60 * US_PER_S)

#define SCTP_COOKIE_BYTES (8 + 2 * 17 + HMAC_SHA1_BYTES)

struct sctp_cookie_key {
    struct hmac_sha1_key mac;
};

struct sctp_cookie {
    struct sctp_init ours;
    struct sctp_init theirs;
    uint64_t sealed_us;
};

enum sctp_cookie_result { SCTP_COOKIE_OK, SCTP_COOKIE_FORGED, SCTP_COOKIE_STALE };

void sctp_cookie_init(struct sctp_cookie_key *key, struct random_source random);
void sctp_cookie_wipe(struct sctp_cookie_key *key);

void sctp_cookie_seal(const struct sctp_cookie_key *key, const struct sctp_cookie *cookie,
                      uint8_t out[SCTP_COOKIE_BYTES]);
/* *out is set unless FORGED. */
enum sctp_cookie_result sctp_cookie_open(const struct sctp_cookie_key *key, struct bytes_view bytes,
                                         struct sctp_cookie *out, uint64_t now_us);

#endif
