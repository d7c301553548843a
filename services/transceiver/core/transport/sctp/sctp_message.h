/*
 * sctp_message.h - what travels over an association, and how much of it at most
 */
#ifndef EARSHOT_SCTP_MESSAGE_H
#define EARSHOT_SCTP_MESSAGE_H

#include "common/base/bytes.h"

/* Announced both ways, whatever the peer asks for (browsers ask for 65,535). */
#define SCTP_STREAMS 1024

#define SCTP_RECEIVE_BYTES_MAX (512 * 1024)
#define SCTP_SEND_BYTES_MAX    (1024 * 1024)

/* RFC 9260 s.16: Association.Max.Retrans. At most 70 s: ICE notices long before that a client is
 * gone. */
#define SCTP_RETRANSMISSIONS_MAX 10

struct sctp_message {
    uint16_t stream;
    uint32_t ppid;
    bool is_unordered;
    struct bytes_view data; /* never empty: RFC 8831 s.6.6 has PPIDs for empty messages */
};

enum sctp_reliability_kind {
    SCTP_RELIABLE,        /* until acknowledged, or the association ends */
    SCTP_MAX_RETRANSMITS, /* given up after so many repetitions (RFC 7496 s.3.2) */
    SCTP_LIFETIME         /* given up after so many ms (RFC 3758 s.4) */
};

struct sctp_reliability {
    enum sctp_reliability_kind kind;
    uint32_t limit; /* repetitions, or milliseconds */
};

enum sctp_send_result {
    SCTP_SEND_OK,
    SCTP_SEND_FULL,         /* SCTP_SEND_BYTES_MAX wait: try again when less does */
    SCTP_SEND_TOO_LONG,     /* for the peer */
    SCTP_SEND_EMPTY,        /* see sctp_message.data */
    SCTP_SEND_NO_STREAM,    /* the peer has not so many, or its reset is under way */
    SCTP_SEND_NOT_CONNECTED /* not yet, or no longer */
};

#endif
