/* sctp_shutdown.c - see sctp_shutdown.h */
#include "services/transceiver/core/transport/sctp/sctp_shutdown.h"

#include "services/transceiver/core/transport/sctp/sctp_rto.h"

void sctp_shutdown_init(struct sctp_shutdown *s)
{
    *s = (struct sctp_shutdown){.t2_us = TIME_NEVER};
}

void sctp_shutdown_begin(struct sctp_shutdown *s)
{
    if (s->state == SCTP_SHUTDOWN_NONE) {
        s->state = SCTP_SHUTDOWN_PENDING;
    }
}

void sctp_shutdown_received(struct sctp_shutdown *s)
{
    switch (s->state) {
    case SCTP_SHUTDOWN_NONE:
    case SCTP_SHUTDOWN_PENDING:
    case SCTP_SHUTDOWN_SENT: /* both at once: each answers */
        s->state = SCTP_SHUTDOWN_RECEIVED;
        break;
    case SCTP_SHUTDOWN_RECEIVED:
        break;
    case SCTP_SHUTDOWN_ACK_SENT: /* the answer was lost */
        s->is_due = true;
        break;
    }
}

bool sctp_shutdown_is_asked(const struct sctp_shutdown *s)
{
    return s->state == SCTP_SHUTDOWN_SENT || s->state == SCTP_SHUTDOWN_ACK_SENT;
}

void sctp_shutdown_repeat(struct sctp_shutdown *s)
{
    s->is_due |= s->state == SCTP_SHUTDOWN_SENT;
}

void sctp_shutdown_drained(struct sctp_shutdown *s, uint64_t rto_us, uint64_t now_us)
{
    if (s->state == SCTP_SHUTDOWN_PENDING) {
        s->state = SCTP_SHUTDOWN_SENT;
    } else if (s->state == SCTP_SHUTDOWN_RECEIVED) {
        s->state = SCTP_SHUTDOWN_ACK_SENT;
    } else {
        return;
    }
    s->is_due = true;
    s->errors = 0;
    s->rto_us = rto_us;
    s->t2_us = now_us + rto_us;
}

bool sctp_shutdown_is_due(const struct sctp_shutdown *s)
{
    return s->is_due;
}

void sctp_shutdown_write(struct sctp_shutdown *s, struct byte_writer *w, uint32_t cumulative_tsn)
{
    s->is_due = false;
    if (s->state == SCTP_SHUTDOWN_ACK_SENT) {
        sctp_wire_write_bare(w, SCTP_CHUNK_SHUTDOWN_ACK, 0);
        return;
    }
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_SHUTDOWN, 0);
    byte_writer_u32(w, cumulative_tsn);
    sctp_wire_end(w, begin);
}

bool sctp_shutdown_tick(struct sctp_shutdown *s, uint64_t now_us)
{
    if (now_us < s->t2_us) {
        return true;
    }
    s->errors++;
    if (s->errors > SCTP_SHUTDOWN_RETRANSMISSIONS_MAX) {
        return false;
    }
    s->is_due = true;
    s->rto_us = time_earlier(2 * s->rto_us, SCTP_RTO_MAX_US);
    s->t2_us = now_us + s->rto_us;
    return true;
}

uint64_t sctp_shutdown_next_timeout(const struct sctp_shutdown *s)
{
    return s->t2_us;
}
