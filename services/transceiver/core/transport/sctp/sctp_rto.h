/*
 * sctp_rto.h - how long to wait for an answer (RFC 9260 s.6.3.1)
 *
 * The clock's granularity is a microsecond, so rule G1 needs no term of its own.
 */
#ifndef EARSHOT_SCTP_RTO_H
#define EARSHOT_SCTP_RTO_H

#include "common/base/time_us.h"

#include <stdbool.h>

/* RFC 9260 s.16 proposes 1 s, 1 s and 60 s. A voice event that is a second late is useless, and a
 * call whose client is silent for 30 s is over. */
#define SCTP_RTO_INITIAL_US (500 * US_PER_MS)
#define SCTP_RTO_MIN_US     (250 * US_PER_MS)
#define SCTP_RTO_MAX_US     (10 * US_PER_S)

struct sctp_rto {
    bool is_measured;
    uint64_t srtt_us;
    uint64_t rttvar_us;
    uint64_t rto_us;
};

void sctp_rto_init(struct sctp_rto *r);
void sctp_rto_measured(struct sctp_rto *r, uint64_t round_trip_us);
/* Nobody answered in time (s.6.3.3 E2). */
void sctp_rto_back_off(struct sctp_rto *r);

#endif
