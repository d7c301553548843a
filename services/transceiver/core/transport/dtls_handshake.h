/*
 * dtls_handshake.h - the unfinished part of a DTLS session: OpenSSL behind the filter
 *
 * Takes:   records from a path that ICE authenticated; see dtls_transport.h.
 * Gives:   flights through the caller's BIO, then a finished SSL whose peer is still to be checked,
 *          or the reason why there is none.
 * Safety:  a state that a forged record killed is made anew, DTLS_REMAKES_MAX times. A plaintext
 *          alert counts only when nothing better comes for 3 s. A HelloVerifyRequest is used only
 *          when our hello would have to be sent again: a genuine ServerHello comes sooner.
 * Bounds:  DTLS_HANDSHAKE_BYTES_MAX, DTLS_HANDSHAKE_TIMEOUT_US.
 * Time:    OpenSSL reads the system's clock for its retransmission timer.
 */
#ifndef EARSHOT_DTLS_HANDSHAKE_H
#define EARSHOT_DTLS_HANDSHAKE_H

#include "services/transceiver/core/transport/dtls_bio.h"
#include "services/transceiver/core/transport/dtls_filter.h"
#include "services/transceiver/core/transport/dtls_transport.h"

#include <openssl/ssl.h>

enum dtls_handshake_status {
    DTLS_HANDSHAKE_RUNS,
    DTLS_HANDSHAKE_DONE,  /* take the SSL */
    DTLS_HANDSHAKE_FAILED /* failure, and the alert if that was it */
};

enum dtls_handshake_timer {
    DTLS_HANDSHAKE_TIMER_END,        /* DTLS_HANDSHAKE_TIMEOUT_US */
    DTLS_HANDSHAKE_TIMER_RETRANSMIT, /* OpenSSL's */
    DTLS_HANDSHAKE_TIMER_ALERT,      /* no progress since a plaintext alert */
    DTLS_HANDSHAKE_TIMER_COUNT
};

struct dtls_handshake {
    SSL_CTX *context;
    SSL *ssl;
    struct dtls_bio *bio;
    enum dtls_role role;
    struct dtls_filter filter;
    uint64_t deadline_us[DTLS_HANDSHAKE_TIMER_COUNT];
    uint64_t first_timeout_us; /* of a flight */
    OSSL_HANDSHAKE_STATE progress;
    unsigned remakes;
    size_t accepted_bytes; /* of plaintext handshake records */
    uint8_t hello_verify[DTLS_FILTER_HELLO_VERIFY_BYTES];
    size_t hello_verify_len;
    enum dtls_failure failure;
    uint8_t alert; /* the description of the one held back */
};

/* bio must stay where it is. A reference to the context is kept until clear. */
void dtls_handshake_init(struct dtls_handshake *h, SSL_CTX *context, struct dtls_bio *bio,
                         enum dtls_role role);
/* Frees what is there; a second clear is fine. Must be called when it failed, too. */
void dtls_handshake_clear(struct dtls_handshake *h);

enum dtls_handshake_status dtls_handshake_start(struct dtls_handshake *h, uint64_t round_trip_us,
                                                uint64_t now_us);
/* One record at a time, since each may change what is awaited. was_passed: TLS has seen it. */
enum dtls_handshake_status dtls_handshake_input(struct dtls_handshake *h,
                                                const struct dtls_record *record, bool *was_passed,
                                                uint64_t now_us);
enum dtls_handshake_status dtls_handshake_tick(struct dtls_handshake *h, uint64_t now_us);
uint64_t dtls_handshake_next_timeout(const struct dtls_handshake *h);

/* The finished SSL moves to the caller, with the BIO in it. */
SSL *dtls_handshake_take(struct dtls_handshake *h);

#endif
