/*
 * rtcp_packet.h - RTCP compound packets (RFC 3550 s.6): read one by one, written as one
 *
 * Takes:   a datagram after SRTCP was taken off; nothing in it is believed. Reduced size (RFC 5506)
 *          is accepted: any type may come first.
 * Gives:   one packet at a time, borrowed from the datagram. Types that are not read here are given
 *          with their body, for the caller to skip.
 * Fails:   at the first packet that does not fit, with a reason; what came before it stands.
 * Not here: what the numbers mean (rtp_receiver.h, rtp_sender.h), when to send (rtcp_schedule.h),
 *          what a NACK gets (rtp_history.h).
 */
#ifndef EARSHOT_RTCP_PACKET_H
#define EARSHOT_RTCP_PACKET_H

#include "common/base/bytes.h"

#define RTCP_PACKET_CNAME_CHARS_MAX 255
#define RTCP_PACKET_BLOCKS_MAX      31

enum rtcp_packet_type {
    RTCP_SENDER_REPORT = 200,
    RTCP_RECEIVER_REPORT = 201,
    RTCP_SOURCE_DESCRIPTION = 202,
    RTCP_BYE = 203,
    RTCP_TRANSPORT_FEEDBACK = 205
};

/* RFC 4585 s.6.2.1: the format of transport feedback that is a generic NACK. */
#define RTCP_FORMAT_NACK 1

/* RFC 3550 s.6.4.1, in the order of the wire. */
struct rtcp_sender_info {
    uint64_t ntp_time; /* 32.32 seconds since 1900 */
    uint32_t timestamp;
    uint32_t packet_count;
    uint32_t octet_count;
};

struct rtcp_report_block {
    uint32_t ssrc;                /* whom it is about */
    uint8_t fraction_lost;        /* of 256, since the report before */
    int32_t cumulative_lost;      /* 24 bits, signed */
    uint32_t highest_sequence;    /* extended by the count of cycles */
    uint32_t jitter;              /* in timestamp units */
    uint32_t last_sr;             /* middle 32 bits of the NTP time; 0 = none came yet */
    uint32_t delay_since_last_sr; /* in 1/65,536 s */
};

struct rtcp_packet {
    uint8_t type;        /* enum rtcp_packet_type, or any other */
    uint8_t count;       /* report blocks, chunks or sources; the format of a feedback packet */
    uint32_t ssrc;       /* reports, feedback: the sender's */
    uint32_t media_ssrc; /* feedback: whom it is about */
    struct rtcp_sender_info sender_info; /* sender report */
    struct bytes_view body;              /* what follows these; without padding */
};

enum rtcp_packet_result {
    RTCP_PACKET_OK,
    RTCP_PACKET_END,
    RTCP_PACKET_VERSION,   /* not 2 */
    RTCP_PACKET_TRUNCATED, /* header or length pass the datagram, or a field passes the packet */
    RTCP_PACKET_PADDING,   /* none where there must be some, more than the packet, or not last */
    RTCP_PACKET_COUNT,     /* more blocks or sources are announced than there are */
    RTCP_PACKET_RESULT_COUNT
};

/* "truncated": the word of counters. */
const char *rtcp_packet_result_name(enum rtcp_packet_result result);

/* The next packet of a compound. Start with byte_reader_init over the datagram; call until it does
 * not say OK. */
enum rtcp_packet_result rtcp_packet_next(struct byte_reader *compound, struct rtcp_packet *out);

/* The block about `ssrc` in a sender or receiver report; false when there is none. */
MUST_USE bool rtcp_packet_find_block(const struct rtcp_packet *p, uint32_t ssrc,
                                     struct rtcp_report_block *out);
/* True when p is a BYE that names `ssrc`. */
bool rtcp_packet_is_bye_of(const struct rtcp_packet *p, uint32_t ssrc);
/* The CNAME of `ssrc` in a source description: a stranger's bytes, borrowed. */
MUST_USE bool rtcp_packet_find_cname(const struct rtcp_packet *p, uint32_t ssrc,
                                     struct bytes_view *out);

/* The packets that a NACK calls lost: one, and which of the 16 behind it (bit 0 = the next). */
struct rtcp_nack {
    uint16_t sequence_number;
    uint16_t following;
};

/* True when p is a generic NACK about `ssrc`: *out is its list, for rtcp_packet_next_nack. */
MUST_USE bool rtcp_packet_find_nacks(const struct rtcp_packet *p, uint32_t ssrc,
                                     struct byte_reader *out);
/* False after the last. */
MUST_USE bool rtcp_packet_next_nack(struct byte_reader *list, struct rtcp_nack *out);

/* What we send: SR or RR, SDES with the CNAME, and BYE at the end of a call. */
struct rtcp_report {
    uint32_t ssrc;
    const char *cname; /* 1..255 characters */
    bool has_sender_info;
    struct rtcp_sender_info sender_info;
    const struct rtcp_report_block *block;
    size_t block_count; /* 0..31 */
    bool is_bye;
};

/* Length written; 0 when it does not fit cap. */
size_t rtcp_packet_write(const struct rtcp_report *report, uint8_t *out, size_t cap);

#endif
