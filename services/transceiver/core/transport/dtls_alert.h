/*
 * dtls_alert.h - the fatal alert that ends a call, as a hand-made record; and the peer's, opened
 *
 * OpenSSL has no call for an alert of our choice, and browsers treat close_notify and a fatal alert
 * differently. So the key that a side writes with is derived once more from the master secret
 * (RFC 5246 s.6.3), and one record is sealed, or opened, with it (RFC 5288).
 * Takes:   a session with AES-128-GCM, the only cipher that is negotiated, and SHA-256 as its PRF.
 * Rule:    no sequence number is used that OpenSSL has used or will use: after the first alert
 *          nothing is written on that SSL any more.
 * Secret:  the key; cleanse it after the last alert.
 */
#ifndef EARSHOT_DTLS_ALERT_H
#define EARSHOT_DTLS_ALERT_H

#include "common/base/bytes.h"

#define DTLS_ALERT_MASTER_BYTES 48
#define DTLS_ALERT_RANDOM_BYTES 32
#define DTLS_ALERT_KEY_BYTES    16
#define DTLS_ALERT_SALT_BYTES   4
/* Record header, explicit nonce, level and description, tag. */
#define DTLS_ALERT_RECORD_BYTES (13 + 8 + 2 + 16)

/* What the key block is derived from. */
struct dtls_alert_secrets {
    uint8_t master[DTLS_ALERT_MASTER_BYTES];
    uint8_t client_random[DTLS_ALERT_RANDOM_BYTES];
    uint8_t server_random[DTLS_ALERT_RANDOM_BYTES];
};

struct dtls_alert_key {
    uint8_t key[DTLS_ALERT_KEY_BYTES];
    uint8_t salt[DTLS_ALERT_SALT_BYTES];
};

/* The key that the server or the client writes with. False: OpenSSL refused. */
MUST_USE bool dtls_alert_derive(const struct dtls_alert_secrets *secrets, bool writer_is_server,
                                struct dtls_alert_key *out);

/* level 2 (fatal), description 80 (internal_error). */
MUST_USE bool dtls_alert_seal(const struct dtls_alert_key *key, uint16_t epoch,
                              uint64_t sequence_number, uint8_t out[DTLS_ALERT_RECORD_BYTES]);

/* What an authentic record says, as far as it is an alert. */
struct dtls_alert {
    bool is_alert;
    uint8_t level;
    uint8_t description;
};

struct dtls_record;
/* A record that the other side sealed with this key; false: it did not, or memory ran out. */
MUST_USE bool dtls_alert_open(const struct dtls_alert_key *key, const struct dtls_record *record,
                              struct dtls_alert *out);

#endif
