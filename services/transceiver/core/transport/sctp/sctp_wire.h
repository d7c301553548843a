/*
 * sctp_wire.h - packets, chunks and parameters as bytes (RFC 9260 s.3)
 *
 * Takes:   packets of any content. Readers fail at the first byte that is not as it must be.
 * Gives:   views into the packet; writers append to a packet that is begun with the header.
 * Not here: INIT and what stands in it (sctp_init.h), RE-CONFIG (sctp_reset.h).
 */
#ifndef EARSHOT_SCTP_WIRE_H
#define EARSHOT_SCTP_WIRE_H

#include "common/base/bytes.h"

#define SCTP_HEADER_BYTES       12
#define SCTP_CHUNK_HEADER_BYTES 4  /* type, flags, length: of a parameter too */
#define SCTP_DATA_HEADER_BYTES  16 /* with the chunk's header */
#define SCTP_SACK_BYTES         16 /* without gaps and duplicates, with the chunk's header */

/* A peer may report more; the rest counts as not reported. */
#define SCTP_GAPS_MAX 64

enum sctp_chunk_type {
    SCTP_CHUNK_DATA = 0,
    SCTP_CHUNK_INIT = 1,
    SCTP_CHUNK_INIT_ACK = 2,
    SCTP_CHUNK_SACK = 3,
    SCTP_CHUNK_HEARTBEAT = 4,
    SCTP_CHUNK_HEARTBEAT_ACK = 5,
    SCTP_CHUNK_ABORT = 6,
    SCTP_CHUNK_SHUTDOWN = 7,
    SCTP_CHUNK_SHUTDOWN_ACK = 8,
    SCTP_CHUNK_ERROR = 9,
    SCTP_CHUNK_COOKIE_ECHO = 10,
    SCTP_CHUNK_COOKIE_ACK = 11,
    SCTP_CHUNK_SHUTDOWN_COMPLETE = 14,
    SCTP_CHUNK_RE_CONFIG = 130,   /* RFC 6525 */
    SCTP_CHUNK_FORWARD_TSN = 192, /* RFC 3758 */
};

/* Of a type that the receiver does not know (RFC 9260 s.3.2), chunk or parameter: the two upper
 * bits. */
#define SCTP_CHUNK_SKIP       0x80 /* else: the rest of the packet is not looked at */
#define SCTP_CHUNK_REPORT     0x40
#define SCTP_PARAMETER_SKIP   0x8000
#define SCTP_PARAMETER_REPORT 0x4000

/* ABORT and SHUTDOWN COMPLETE: the tag is the one of the packet they answer. */
#define SCTP_FLAG_TAG_REFLECTED 0x01

enum sctp_cause {
    SCTP_CAUSE_INVALID_STREAM = 1,
    SCTP_CAUSE_STALE_COOKIE = 3,
    SCTP_CAUSE_UNKNOWN_CHUNK = 6,
    SCTP_CAUSE_NO_USER_DATA = 9,
    SCTP_CAUSE_USER_ABORT = 12,
    SCTP_CAUSE_PROTOCOL_VIOLATION = 13,
};

struct sctp_header {
    uint16_t source_port;
    uint16_t destination_port;
    uint32_t verification_tag;
};

struct sctp_chunk {
    uint8_t type;
    uint8_t flags;
    struct bytes_view body;  /* without header and padding */
    struct bytes_view whole; /* with the header, for ERROR */
};

struct sctp_parameter {
    uint16_t type;
    struct bytes_view value;
    struct bytes_view whole;
};

struct sctp_data {
    bool is_immediate; /* RFC 7053: acknowledge at once */
    bool is_unordered;
    bool is_begin;
    bool is_end;
    uint32_t tsn;
    uint16_t stream;
    uint16_t ssn;
    uint32_t ppid;
    struct bytes_view payload;
};

/* TSNs cumulative_tsn + first .. cumulative_tsn + last. */
struct sctp_gap {
    uint16_t first;
    uint16_t last;
};

struct sctp_sack {
    uint32_t cumulative_tsn;
    uint32_t a_rwnd;
    size_t gap_count;
    struct sctp_gap gap[SCTP_GAPS_MAX]; /* rising, not touching */
};

enum sctp_checksum { SCTP_CHECKSUM_RIGHT, SCTP_CHECKSUM_ZERO, SCTP_CHECKSUM_WRONG };

enum sctp_checksum sctp_wire_checksum(struct bytes_view packet);

/* r: of the whole packet. */
MUST_USE bool sctp_wire_read_header(struct byte_reader *r, struct sctp_header *out);
/* False after the last, or at bytes that are no chunk or parameter: then r->failed. */
MUST_USE bool sctp_wire_next_chunk(struct byte_reader *r, struct sctp_chunk *out);
MUST_USE bool sctp_wire_next_parameter(struct byte_reader *r, struct sctp_parameter *out);

/* A payload of 0 bytes is read: it is an error of its own. */
MUST_USE bool sctp_wire_read_data(const struct sctp_chunk *chunk, struct sctp_data *out);
/* Gaps that do not rise end the list. */
MUST_USE bool sctp_wire_read_sack(const struct sctp_chunk *chunk, struct sctp_sack *out);

/* The writer holds the packet from its first byte on. */
void sctp_wire_begin_packet(struct byte_writer *w, const struct sctp_header *header);
/* Pads the last chunk and, unless the checksum is to be zero, writes it. */
void sctp_wire_end_packet(struct byte_writer *w, bool zero_checksum);

/* Pads what is before it, then writes the header; end fills in the length. */
size_t sctp_wire_begin_chunk(struct byte_writer *w, enum sctp_chunk_type type, uint8_t flags);
size_t sctp_wire_begin_parameter(struct byte_writer *w, uint16_t type);
void sctp_wire_end(struct byte_writer *w, size_t begin);

/* A chunk without a body. */
void sctp_wire_write_bare(struct byte_writer *w, enum sctp_chunk_type type, uint8_t flags);
void sctp_wire_write_data(struct byte_writer *w, const struct sctp_data *data);
/* An ERROR or ABORT with one cause. */
void sctp_wire_write_cause(struct byte_writer *w, enum sctp_chunk_type type, enum sctp_cause cause,
                           struct bytes_view about);

/* How much of the room is left for a chunk, its header included. */
size_t sctp_wire_room(const struct byte_writer *w);

#endif
