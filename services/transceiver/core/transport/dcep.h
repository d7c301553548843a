/*
 * dcep.h - the Data Channel Establishment Protocol (RFC 8832), and what a payload protocol
 *          identifier says of a message (RFC 8831 s.8)
 *
 * Takes:   one message with the identifier DCEP_PPID, as it came from a stranger.
 * Gives:   the kind of it, and what an OPEN asks for; label and protocol are borrowed from it.
 * Bounds:  a label or protocol of at most DCEP_NAME_BYTES_MAX bytes, UTF-8 without a NUL.
 * Fails:   DCEP_BAD; what is behind the end of the protocol's name is a wrong length too.
 * Not here: streams and their state (data_channels.h).
 */
#ifndef EARSHOT_DCEP_H
#define EARSHOT_DCEP_H

#include "common/base/bytes.h"

#define DCEP_NAME_BYTES_MAX 127
#define DCEP_ACK_BYTES      1
#define DCEP_OPEN_BYTES_MAX (12 + 2 * DCEP_NAME_BYTES_MAX)

/* RFC 8831 s.8. 52 and 54 marked parts of messages in drafts; nobody has sent them for years. */
enum dcep_ppid {
    DCEP_PPID = 50,
    DCEP_PPID_TEXT = 51,
    DCEP_PPID_BINARY = 53,
    DCEP_PPID_TEXT_EMPTY = 56,
    DCEP_PPID_BINARY_EMPTY = 57
};

enum dcep_result { DCEP_OPEN, DCEP_ACK, DCEP_BAD };

/* What is lost may stay lost: after so many copies, or after so long. */
enum dcep_reliability { DCEP_RELIABLE, DCEP_RETRANSMITS, DCEP_LIFETIME };

struct dcep_open {
    bool is_unordered;
    enum dcep_reliability reliability;
    uint32_t reliability_parameter; /* a count, or milliseconds; 0 when reliable */
    uint16_t priority;
    struct bytes_view label;
    struct bytes_view protocol;
};

enum dcep_result dcep_parse(struct bytes_view message, struct dcep_open *out);
/* Length written, 0 when it does not fit cap. */
size_t dcep_write_open(const struct dcep_open *open, uint8_t *out, size_t cap);
size_t dcep_write_ack(uint8_t out[DCEP_ACK_BYTES]);

enum dcep_content {
    DCEP_CONTENT_CONTROL, /* of the channel itself */
    DCEP_CONTENT_TEXT,
    DCEP_CONTENT_BINARY,
    DCEP_CONTENT_UNKNOWN /* an identifier of another protocol, or of a draft */
};

/* *is_empty: the message is empty, whatever the one byte in it is (RFC 8831 s.6.6). */
enum dcep_content dcep_content_of(uint32_t ppid, bool *is_empty);
/* The identifier of a message of ours. An empty one is sent as a byte. */
uint32_t dcep_ppid_of(bool is_text, bool is_empty);

#endif
