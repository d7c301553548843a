/*
 * sctp_outbound.h - the sending half of an association: what leaves, when, and when again
 *
 * Takes:   messages, SACKs.
 * Gives:   DATA and FORWARD TSN chunks, as the congestion window and the peer's window allow.
 * Order:   what was lost, before what is new. A message that has begun to leave is finished first
 *          (RFC 9260 s.6.9); then it is another stream's turn.
 * Bounds:  SCTP_SEND_BYTES_MAX; what is more is refused.
 * Fails:   tick is false when the peer has acknowledged nothing SCTP_RETRANSMISSIONS_MAX times.
 */
#ifndef EARSHOT_SCTP_OUTBOUND_H
#define EARSHOT_SCTP_OUTBOUND_H

#include "services/transceiver/core/transport/sctp/sctp_message.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

struct sctp_outbound_config {
    uint32_t first_tsn;
    uint32_t peer_window_bytes;
    uint16_t streams;          /* that the peer takes, at most SCTP_STREAMS */
    uint16_t packet_bytes_max; /* header included */
    bool has_forward_tsn;      /* the peer's: else everything is reliable */
};

struct sctp_outbound;

struct sctp_outbound *sctp_outbound_create(const struct sctp_outbound_config *config);
void sctp_outbound_destroy(struct sctp_outbound *o);

/* OK, FULL (also without memory) or NO_STREAM. message: not empty. */
enum sctp_send_result sctp_outbound_send(struct sctp_outbound *o,
                                         const struct sctp_message *message,
                                         const struct sctp_reliability *reliability,
                                         uint64_t now_us);
/* False: it acknowledges what was never sent. */
MUST_USE bool sctp_outbound_sack(struct sctp_outbound *o, const struct sctp_sack *sack,
                                 uint64_t now_us);

/* What SHUTDOWN says: likewise. */
MUST_USE bool sctp_outbound_cumulative(struct sctp_outbound *o, uint32_t tsn, uint64_t now_us);

MUST_USE bool sctp_outbound_tick(struct sctp_outbound *o, uint64_t now_us);
uint64_t sctp_outbound_next_timeout(const struct sctp_outbound *o);

/* What the next DATA chunk takes of a packet; 0: none may leave. */
size_t sctp_outbound_next_bytes(struct sctp_outbound *o, uint64_t now_us);
/* FORWARD TSN and DATA, as many as may leave and have room. */
void sctp_outbound_write(struct sctp_outbound *o, struct byte_writer *w, uint64_t now_us);

size_t sctp_outbound_buffered_bytes(const struct sctp_outbound *o);
/* What has no TSN is not sent. Of a message that has begun to leave the peer is told by FORWARD TSN
 * that no more will come; who does not know that chunk gets the rest. */
void sctp_outbound_drop_unsent(struct sctp_outbound *o);
/* Does something for this stream have no TSN yet? */
bool sctp_outbound_has_waiting(const struct sctp_outbound *o, uint16_t stream);
/* The TSN given last. */
uint32_t sctp_outbound_last_tsn(const struct sctp_outbound *o);
/* The stream begins anew, with SSN 0. */
void sctp_outbound_reset(struct sctp_outbound *o, uint16_t stream);
/* How long to wait for an answer to anything. */
uint64_t sctp_outbound_rto_us(const struct sctp_outbound *o);

#endif
