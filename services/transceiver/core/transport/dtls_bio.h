/*
 * dtls_bio.h - where OpenSSL reads and writes datagrams: one in, a few out, each kept whole
 *
 * OpenSSL's memory BIO joins datagrams that were written one after the other; DTLS needs their
 * ends. This one hands out exactly the datagram it was given, and lines up what is written.
 * Owns:    fixed memory, inside the struct of the caller.
 * Fails:   no room for an outgoing datagram: it is dropped and counted, and OpenSSL is told that it
 *          was sent, because DTLS retransmits anyway.
 */
#ifndef EARSHOT_DTLS_BIO_H
#define EARSHOT_DTLS_BIO_H

#include "common/base/bytes.h"

#define DTLS_BIO_OUTGOING_BYTES_MAX 4096

struct dtls_bio {
    uint16_t mtu_bytes;
    struct bytes_view incoming;                    /* borrowed; empty when OpenSSL has read it */
    uint8_t outgoing[DTLS_BIO_OUTGOING_BYTES_MAX]; /* per datagram: length (2 bytes), bytes */
    size_t outgoing_len;
    size_t outgoing_taken; /* bytes that poll has passed */
    uint64_t dropped;
    bool has_sent;
    uint16_t sent_epoch; /* of the last record that OpenSSL wrote */
    uint64_t sent_sequence_number;
};

/* Once, before the first attach and before other threads start. */
MUST_USE bool dtls_bio_prepare(void);

struct bio_st;
/* A BIO over b, for the caller to give to an SSL, which frees it. NULL: out of memory. */
struct bio_st *dtls_bio_create(struct dtls_bio *b);

/* A datagram from elsewhere than OpenSSL. */
void dtls_bio_send(struct dtls_bio *b, struct bytes_view datagram);
/* Room for one more datagram of that length. */
bool dtls_bio_has_room(const struct dtls_bio *b, size_t len);
/* The oldest datagram that waits, borrowed until the next send. */
bool dtls_bio_poll(struct dtls_bio *b, struct bytes_view *out);
void dtls_bio_clear(struct dtls_bio *b);

#endif
