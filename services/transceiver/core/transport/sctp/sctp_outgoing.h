/*
 * sctp_outgoing.h - a message on its way out, cut into fragments of one size
 *
 * Owns:    its bytes and a state for each fragment, in one piece of memory.
 * Life:    waiting (sctp_send_queue.h), then under way (sctp_flight.h).
 */
#ifndef EARSHOT_SCTP_OUTGOING_H
#define EARSHOT_SCTP_OUTGOING_H

#include "common/base/time_us.h"
#include "services/transceiver/core/transport/sctp/sctp_message.h"

enum sctp_fragment_state {
    SCTP_FRAGMENT_UNSENT,
    SCTP_FRAGMENT_UNDER_WAY,
    SCTP_FRAGMENT_TO_RESEND,    /* it was lost */
    SCTP_FRAGMENT_ACKNOWLEDGED, /* in a gap block: the peer may still take that back */
    SCTP_FRAGMENT_GIVEN_UP
};

struct sctp_fragment {
    uint8_t state;  /* enum sctp_fragment_state */
    uint8_t misses; /* SACKs that told of later ones and not of it */
    bool was_fast;  /* has had its fast retransmission (RFC 9260 s.7.2.4) */
    uint8_t repeats;
};

struct sctp_outgoing {
    struct sctp_outgoing *next;      /* of its stream; under way: of all */
    struct sctp_outgoing *next_head; /* while it is the first of its stream */
    struct sctp_outgoing *tail;      /* likewise: the last of its stream */
    uint16_t stream;
    uint16_t ssn;
    uint32_t ppid;
    bool is_unordered;
    bool is_given_up;
    uint8_t repeats_max; /* of a fragment; UINT8_MAX: any number */
    uint64_t expires_us;
    uint32_t first_tsn;
    uint32_t fragment_count;
    uint32_t sent_count; /* fragments that have a TSN */
    uint32_t done_count; /* of these the ones behind the cumulative TSN */
    size_t fragment_bytes;
    size_t len;
    const uint8_t *data;
    struct sctp_fragment fragment[];
};

/* NULL without memory. Copies the message. */
struct sctp_outgoing *sctp_outgoing_create(const struct sctp_message *message,
                                           size_t fragment_bytes);
void sctp_outgoing_destroy(struct sctp_outgoing *m);

/* What it counts in a queue. */
size_t sctp_outgoing_cost(const struct sctp_outgoing *m);
struct bytes_view sctp_outgoing_payload(const struct sctp_outgoing *m, uint32_t index);

#endif
