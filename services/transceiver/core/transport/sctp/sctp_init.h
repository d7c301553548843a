/*
 * sctp_init.h - what an end says of itself: the INIT and INIT ACK chunk (RFC 9260 s.3.3.2, s.3.3.3)
 *
 * Takes:   chunks of strangers.
 * Gives:   the values; the parameters that data channels use; a report of the rest for the answer.
 * Source:  RFC 5061 s.4.2.7 (supported extensions), RFC 3758 s.3.1, RFC 9653 s.4.
 */
#ifndef EARSHOT_SCTP_INIT_H
#define EARSHOT_SCTP_INIT_H

#include "services/transceiver/core/transport/sctp/sctp_wire.h"

/* Of a peer's parameters that are reported back; more are not. */
#define SCTP_INIT_REPORT_BYTES_MAX 256

struct sctp_init {
    uint32_t tag; /* never 0 */
    uint32_t a_rwnd;
    uint16_t out_streams; /* never 0 */
    uint16_t in_streams;  /* never 0 */
    uint32_t tsn;         /* of its first DATA */
    bool has_forward_tsn;
    bool has_re_config;
    bool has_zero_checksum; /* over DTLS */
};

/* False: not an INIT or INIT ACK that may be answered. `cookie` is empty unless there is one.
 * `report`: the unknown parameters, each wrapped, as the answer repeats them. NULL: not wanted. */
MUST_USE bool sctp_init_read(const struct sctp_chunk *chunk, struct sctp_init *out,
                             struct bytes_view *cookie, struct byte_writer *report);

/* type: INIT, or INIT ACK with a cookie and perhaps a report. */
void sctp_init_write(struct byte_writer *w, enum sctp_chunk_type type, const struct sctp_init *init,
                     struct bytes_view cookie, struct bytes_view report);

#endif
