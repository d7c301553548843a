/*
 * dtls_filter.h - which plaintext records an unfinished handshake may see
 *
 * One forged record of epoch 0 can end an OpenSSL handshake for good: an alert, application data,
 * a HelloVerifyRequest, a message nobody expects here, or a sequence number far ahead, after which
 * the genuine records look like replays. A record that OpenSSL ignores still uses up its number,
 * and the genuine one of that number is lost. So only what the peer has to send now comes through.
 * Takes:   the records of one peer, until the handshake is finished; none after.
 * Holds:   nothing itself. Alerts and HelloVerifyRequests are told apart for the caller to hold
 *          back: they count only when nothing better comes.
 * Source:  RFC 6347, RFC 5246 s.7.4.
 */
#ifndef EARSHOT_DTLS_FILTER_H
#define EARSHOT_DTLS_FILTER_H

#include "services/transceiver/core/transport/dtls_record.h"

#define DTLS_FILTER_AHEAD_MAX     32
#define DTLS_FILTER_MESSAGE_BYTES 16384 /* the longest handshake message taken */
/* Record and message header, version, and a cookie of up to 255 with its length. */
#define DTLS_FILTER_HELLO_VERIFY_BYTES (DTLS_RECORD_HEADER_BYTES + 12 + 2 + 1 + 255)

enum dtls_filter_verdict {
    DTLS_FILTER_PASS,
    DTLS_FILTER_HOLD_ALERT,        /* a well-formed alert */
    DTLS_FILTER_HOLD_HELLO_VERIFY, /* a HelloVerifyRequest alone, to the active role */
    DTLS_FILTER_DROP_VERSION,
    DTLS_FILTER_DROP_EPOCH,    /* later than the epoch this handshake leads to */
    DTLS_FILTER_DROP_SEQUENCE, /* more than DTLS_FILTER_AHEAD_MAX above the highest */
    DTLS_FILTER_DROP_TYPE,     /* application data, or unknown */
    DTLS_FILTER_DROP_MESSAGE,  /* malformed, or not a message of the peer's role */
    DTLS_FILTER_DROP_EARLY     /* a ChangeCipherSpec that nobody waits for yet */
};

struct dtls_filter {
    bool peer_is_server;
    bool awaits_change_cipher_spec;   /* for the caller to set before each record */
    uint64_t highest_sequence_number; /* of the handshake records of epoch 0 that passed */
};

void dtls_filter_init(struct dtls_filter *f, bool peer_is_server);
enum dtls_filter_verdict dtls_filter_judge(struct dtls_filter *f, const struct dtls_record *record);

#endif
