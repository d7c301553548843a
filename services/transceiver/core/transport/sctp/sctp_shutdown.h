/*
 * sctp_shutdown.h - the graceful end: SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE (RFC 9260 s.9.2)
 *
 * Takes:   the wish of the caller or of the peer, word that everything was acknowledged.
 * Gives:   the chunk to send, until the other side answers it.
 * Fails:   tick is false when it never does.
 */
#ifndef EARSHOT_SCTP_SHUTDOWN_H
#define EARSHOT_SCTP_SHUTDOWN_H

#include "common/base/time_us.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#define SCTP_SHUTDOWN_RETRANSMISSIONS_MAX 10
#define SCTP_SHUTDOWN_BYTES               8 /* with the chunk's header */

enum sctp_shutdown_state {
    SCTP_SHUTDOWN_NONE,
    SCTP_SHUTDOWN_PENDING, /* by us, when all is acknowledged */
    SCTP_SHUTDOWN_SENT,
    SCTP_SHUTDOWN_RECEIVED, /* by the peer, when all is acknowledged */
    SCTP_SHUTDOWN_ACK_SENT
};

struct sctp_shutdown {
    enum sctp_shutdown_state state;
    uint64_t t2_us;
    uint64_t rto_us;
    unsigned errors;
    bool is_due;
};

void sctp_shutdown_init(struct sctp_shutdown *s);
/* The caller wants it. */
void sctp_shutdown_begin(struct sctp_shutdown *s);
/* SHUTDOWN has come. */
void sctp_shutdown_received(struct sctp_shutdown *s);
/* SHUTDOWN ACK has come: true when it answers ours. Answer SHUTDOWN COMPLETE. */
bool sctp_shutdown_is_asked(const struct sctp_shutdown *s);
/* DATA has come: the peer does not know yet (s.9.2). */
void sctp_shutdown_repeat(struct sctp_shutdown *s);
/* Nothing waits for an acknowledgement: what is pending may go on. */
void sctp_shutdown_drained(struct sctp_shutdown *s, uint64_t rto_us, uint64_t now_us);

bool sctp_shutdown_is_due(const struct sctp_shutdown *s);
void sctp_shutdown_write(struct sctp_shutdown *s, struct byte_writer *w, uint32_t cumulative_tsn);
MUST_USE bool sctp_shutdown_tick(struct sctp_shutdown *s, uint64_t now_us);
uint64_t sctp_shutdown_next_timeout(const struct sctp_shutdown *s);

#endif
