/*
 * sctp_reset.h - streams begin anew, both ways: RE-CONFIG (RFC 6525 as RFC 8831 s.6.7 uses it)
 *
 * Takes:   our wishes; the peer's requests and answers.
 * Gives:   requests and answers to send; which streams of ours are reset. The peer's resets are
 *          noted among what has come (sctp_inbound.h).
 * How:     one request is under way at a time; wishes wait as bits. A stream is named when nothing
 *          for it waits to be sent. A peer whose last TSN has not come is told "in progress", and
 *          nothing is kept for it: it asks again.
 * Bounds:  SCTP_RESET_STREAMS_MAX streams in a request of ours; the rest is in the next.
 * Fails:   tick is false when nobody answered SCTP_RESET_RETRANSMISSIONS_MAX times.
 */
#ifndef EARSHOT_SCTP_RESET_H
#define EARSHOT_SCTP_RESET_H

#include "services/transceiver/core/transport/sctp/sctp_inbound.h"
#include "services/transceiver/core/transport/sctp/sctp_outbound.h"
#include "services/transceiver/core/transport/sctp/sctp_stream_set.h"

#define SCTP_RESET_STREAMS_MAX         128
#define SCTP_RESET_RETRANSMISSIONS_MAX 10
#define SCTP_RESET_BYTES_MAX           (4 + 16 + 2 * SCTP_RESET_STREAMS_MAX)
#define SCTP_RESET_ANSWER_BYTES        16 /* with both headers */

struct sctp_reset {
    struct sctp_stream_set wanted;
    struct sctp_stream_set under_way;
    struct sctp_stream_set done;    /* to be told */
    struct sctp_stream_set refused; /* likewise */
    uint32_t sequence;              /* of our next request; while one is under way, its own */
    uint32_t last_tsn;
    bool is_under_way;
    bool is_due;
    unsigned errors;
    uint64_t timer_us;
    uint64_t wait_us;
    uint32_t peer_sequence; /* of the peer's next request */
    uint32_t last_result;   /* of its last one */
};

void sctp_reset_init(struct sctp_reset *r, uint32_t our_first_tsn, uint32_t peer_first_tsn);

/* Of a stream whose reset is under way: once more, since the peer may have begun it anew before
 * its answer has come. */
void sctp_reset_want(struct sctp_reset *r, uint16_t stream);
/* Wanted, and not yet answered. */
bool sctp_reset_is_resetting(const struct sctp_reset *r, uint16_t stream);
bool sctp_reset_poll_done(struct sctp_reset *r, uint16_t *stream);
bool sctp_reset_poll_refused(struct sctp_reset *r, uint16_t *stream);

/* A RE-CONFIG of the peer. Answers into `answer`; without room there the peer asks again. False:
 * no memory. */
MUST_USE bool sctp_reset_input(struct sctp_reset *r, const struct sctp_chunk *chunk,
                               struct sctp_inbound *in, struct sctp_outbound *out,
                               struct byte_writer *answer, uint64_t now_us);

/* Is there a request to send? Begins one, if streams are wanted that are ready for it. */
bool sctp_reset_is_due(struct sctp_reset *r, const struct sctp_outbound *out);
/* Needs SCTP_RESET_BYTES_MAX of room. */
void sctp_reset_write(struct sctp_reset *r, struct byte_writer *w, uint64_t now_us);
MUST_USE bool sctp_reset_tick(struct sctp_reset *r, uint64_t now_us);
uint64_t sctp_reset_next_timeout(const struct sctp_reset *r);

#endif
