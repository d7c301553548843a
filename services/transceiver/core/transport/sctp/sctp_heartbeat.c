/* sctp_heartbeat.c - see sctp_heartbeat.h */
#include "services/transceiver/core/transport/sctp/sctp_heartbeat.h"

#define PARAMETER_HEARTBEAT_INFO 1

void sctp_heartbeat_init(struct sctp_heartbeat *h, uint64_t now_us)
{
    *h = (struct sctp_heartbeat){.timer_us = now_us + SCTP_HEARTBEAT_US};
}

void sctp_heartbeat_heard(struct sctp_heartbeat *h, uint64_t now_us)
{
    h->asked = 0;
    h->is_due = false;
    h->timer_us = now_us + SCTP_HEARTBEAT_US;
}

bool sctp_heartbeat_is_due(const struct sctp_heartbeat *h)
{
    return h->is_due;
}

/* The information is for the sender alone (s.3.3.5). We need none: an answer is an answer. */
void sctp_heartbeat_write(struct sctp_heartbeat *h, struct byte_writer *w, uint64_t now_us)
{
    h->is_due = false;
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_HEARTBEAT, 0);
    const size_t inner = sctp_wire_begin_parameter(w, PARAMETER_HEARTBEAT_INFO);
    byte_writer_u64(w, now_us);
    sctp_wire_end(w, inner);
    sctp_wire_end(w, begin);
}

bool sctp_heartbeat_tick(struct sctp_heartbeat *h, uint64_t now_us)
{
    if (now_us < h->timer_us) {
        return true;
    }
    if (h->asked == SCTP_HEARTBEATS_MAX) {
        return false;
    }
    h->asked++;
    h->is_due = true;
    h->timer_us = now_us + SCTP_HEARTBEAT_US;
    return true;
}

uint64_t sctp_heartbeat_next_timeout(const struct sctp_heartbeat *h)
{
    return h->timer_us;
}
