/*
 * sctp_reassembly.h - DATA chunks become messages, in the order of their streams
 *
 * Takes:   chunks, each TSN once; how far the cumulative TSN is; FORWARD-TSN; the peer's resets.
 * Gives:   whole messages, and between them word of resets and of messages that were too long.
 * How:     a message's chunks have successive TSNs (RFC 9260 s.6.9). Those that touch are a run; a
 *          run with a beginning and an end is a message. An ordered one waits for those before it
 *          in its stream; but what lies behind the cumulative TSN waits for nothing, since all
 *          that could come before it has come. What lies there without a beginning, or without an
 *          end although the next TSN is there, will never be a message: it is dropped.
 * Bounds:  held_bytes is for the caller to compare. Each chunk costs SCTP_CHUNK_COST_BYTES more
 *          than it has, so that small ones are bounded too. A message that would cost more than
 *          SCTP_RECEIVE_BYTES_MAX by that is one that is too long.
 * Fails:   false without memory.
 */
#ifndef EARSHOT_SCTP_REASSEMBLY_H
#define EARSHOT_SCTP_REASSEMBLY_H

#include "services/transceiver/core/transport/sctp/sctp_message.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#define SCTP_CHUNK_COST_BYTES 128

enum sctp_arrival_kind {
    SCTP_ARRIVAL_MESSAGE,
    SCTP_ARRIVAL_TOO_LONG, /* of message.stream; nothing of it is kept */
    SCTP_ARRIVAL_RESET     /* of message.stream; SCTP_STREAMS: of all */
};

struct sctp_arrival {
    enum sctp_arrival_kind kind;
    struct sctp_message message;
};

struct sctp_reassembly;

struct sctp_reassembly *sctp_reassembly_create(size_t message_bytes_max);
void sctp_reassembly_destroy(struct sctp_reassembly *r);

/* data: of a stream below SCTP_STREAMS, not empty. */
MUST_USE bool sctp_reassembly_add(struct sctp_reassembly *r, const struct sctp_data *data);
/* All up to cumulative_tsn has come. */
MUST_USE bool sctp_reassembly_settle(struct sctp_reassembly *r, uint32_t cumulative_tsn);
/* What is incomplete up to tsn was given up by the peer. Settle follows. */
void sctp_reassembly_give_up(struct sctp_reassembly *r, uint32_t tsn);
/* So was this stream's message ssn, and those before it. Flush follows. */
MUST_USE bool sctp_reassembly_skip(struct sctp_reassembly *r, uint16_t stream, uint16_t ssn);
/* What waited for skipped messages is ready. */
MUST_USE bool sctp_reassembly_flush(struct sctp_reassembly *r);
/* The peer begins this stream anew; SCTP_STREAMS: all of them. */
MUST_USE bool sctp_reassembly_reset(struct sctp_reassembly *r, uint16_t stream);

/* Of what waits for the rest, and of what waits to be polled. */
size_t sctp_reassembly_held_bytes(const struct sctp_reassembly *r);
/* Of the latter alone. */
size_t sctp_reassembly_ready_bytes(const struct sctp_reassembly *r);

/* The next arrival's kind. False: none. */
MUST_USE bool sctp_reassembly_peek(const struct sctp_reassembly *r, enum sctp_arrival_kind *out);
/* A reset of this stream, or of all, waits to be polled. */
bool sctp_reassembly_has_reset(const struct sctp_reassembly *r, uint16_t stream);
/* Takes it. The view is borrowed until the next poll. */
MUST_USE bool sctp_reassembly_poll(struct sctp_reassembly *r, struct sctp_arrival *out);

#endif
