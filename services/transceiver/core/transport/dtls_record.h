/*
 * dtls_record.h - the records of a DTLS datagram, as far as they can be read without keys
 *
 * Source:  RFC 6347 s.4.1.
 */
#ifndef EARSHOT_DTLS_RECORD_H
#define EARSHOT_DTLS_RECORD_H

#include "common/base/bytes.h"

#define DTLS_RECORD_HEADER_BYTES 13

/* RFC 5246 s.6.2.1 */
enum dtls_content_type {
    DTLS_CONTENT_CHANGE_CIPHER_SPEC = 20,
    DTLS_CONTENT_ALERT = 21,
    DTLS_CONTENT_HANDSHAKE = 22,
    DTLS_CONTENT_APPLICATION_DATA = 23
};

struct dtls_record {
    uint8_t content_type;
    uint16_t version;
    uint16_t epoch;
    uint64_t sequence_number;   /* 48 bits */
    struct bytes_view fragment; /* encrypted, unless the epoch is 0 */
    struct bytes_view whole;    /* with its header */
};

/* The next record of the datagram that `r` reads, borrowed from it. False at its end and where a
 * length does not fit: what is left then is not a record. */
bool dtls_record_read(struct byte_reader *r, struct dtls_record *out);

#endif
