/*
 * sctp_inbound.h - the receiving half of an association: what has come, and what is said of it
 *
 * Takes:   DATA and FORWARD TSN chunks, then word of the packet's end; the peer's resets.
 * Gives:   arrivals (sctp_reassembly.h); SACKs: at once when something is missing, came twice, did
 *          not fit or is marked, else for each second packet, else after SCTP_SACK_DELAY_US.
 * Bounds:  SCTP_RECEIVE_BYTES_MAX; what is more is dropped, and comes again. Only the chunk that
 *          all others wait for may exceed it, unless the caller is what they wait for; and the
 *          message that it continues may not.
 * Fails:   NO_MEMORY: the association can not go on.
 */
#ifndef EARSHOT_SCTP_INBOUND_H
#define EARSHOT_SCTP_INBOUND_H

#include "common/base/time_us.h"
#include "services/transceiver/core/transport/sctp/sctp_reassembly.h"

/* RFC 9260 s.6.2: within 200 ms. */
#define SCTP_SACK_DELAY_US (200 * US_PER_MS)

enum sctp_inbound_result {
    SCTP_INBOUND_TAKEN,
    SCTP_INBOUND_DUPLICATE,
    SCTP_INBOUND_DROPPED,   /* it will come again */
    SCTP_INBOUND_NO_STREAM, /* acknowledged and dropped: RFC 9260 s.6.5 */
    SCTP_INBOUND_NO_MEMORY
};

struct sctp_inbound;

/* first_tsn: of the peer's first DATA. */
struct sctp_inbound *sctp_inbound_create(uint32_t first_tsn, size_t message_bytes_max);
void sctp_inbound_destroy(struct sctp_inbound *in);

/* data: not empty. */
enum sctp_inbound_result sctp_inbound_data(struct sctp_inbound *in, const struct sctp_data *data);
/* False without memory. */
MUST_USE bool sctp_inbound_forward_tsn(struct sctp_inbound *in, const struct sctp_chunk *chunk);
/* All chunks of a packet have been given. */
void sctp_inbound_end_packet(struct sctp_inbound *in, uint64_t now_us);

/* stream: SCTP_STREAMS = all. False without memory. */
MUST_USE bool sctp_inbound_reset(struct sctp_inbound *in, uint16_t stream);
/* Is there room to note `count` more resets? */
bool sctp_inbound_has_room(const struct sctp_inbound *in, size_t count);

uint32_t sctp_inbound_cumulative_tsn(const struct sctp_inbound *in);

/* A SACK must leave now; or may, beside other things. */
bool sctp_inbound_is_sack_due(const struct sctp_inbound *in);
bool sctp_inbound_is_sack_pending(const struct sctp_inbound *in);
void sctp_inbound_tick(struct sctp_inbound *in, uint64_t now_us);
uint64_t sctp_inbound_next_timeout(const struct sctp_inbound *in);
/* Needs SCTP_SACK_BYTES of room, and takes more for gaps. Nothing is due any more. */
void sctp_inbound_write_sack(struct sctp_inbound *in, struct byte_writer *w);

bool sctp_inbound_has_reset(const struct sctp_inbound *in, uint16_t stream);
/* As sctp_reassembly_peek and _poll. A SACK may be due when a closed window opens. */
MUST_USE bool sctp_inbound_peek(const struct sctp_inbound *in, enum sctp_arrival_kind *out);
MUST_USE bool sctp_inbound_poll(struct sctp_inbound *in, struct sctp_arrival *out);

#endif
