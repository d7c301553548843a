/*
 * sctp_heartbeat.h - is the peer still there? Asked when nothing has come for a while
 *
 * RFC 9260 s.8.3 asks when nothing was sent; whoever is heard needs no question.
 * Fails:   tick is false when SCTP_HEARTBEATS_MAX in a row have no answer. ICE is faster.
 */
#ifndef EARSHOT_SCTP_HEARTBEAT_H
#define EARSHOT_SCTP_HEARTBEAT_H

#include "common/base/time_us.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#define SCTP_HEARTBEAT_US    (30 * US_PER_S) /* RFC 9260 s.16: HB.interval */
#define SCTP_HEARTBEATS_MAX  10
#define SCTP_HEARTBEAT_BYTES 16 /* with the chunk's header */

struct sctp_heartbeat {
    uint64_t timer_us;
    unsigned asked;
    bool is_due;
};

void sctp_heartbeat_init(struct sctp_heartbeat *h, uint64_t now_us);
/* Any packet with our tag. */
void sctp_heartbeat_heard(struct sctp_heartbeat *h, uint64_t now_us);

bool sctp_heartbeat_is_due(const struct sctp_heartbeat *h);
void sctp_heartbeat_write(struct sctp_heartbeat *h, struct byte_writer *w, uint64_t now_us);
MUST_USE bool sctp_heartbeat_tick(struct sctp_heartbeat *h, uint64_t now_us);
uint64_t sctp_heartbeat_next_timeout(const struct sctp_heartbeat *h);

#endif
