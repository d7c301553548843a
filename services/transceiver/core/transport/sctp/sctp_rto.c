/* sctp_rto.c - see sctp_rto.h */
#include "services/transceiver/core/transport/sctp/sctp_rto.h"

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

void sctp_rto_init(struct sctp_rto *r)
{
    *r = (struct sctp_rto){.rto_us = SCTP_RTO_INITIAL_US};
}

void sctp_rto_measured(struct sctp_rto *r, uint64_t round_trip_us)
{
    if (r->is_measured) {
        /* Rule C3: RTO.Beta 1/4, RTO.Alpha 1/8. */
        r->rttvar_us = (3 * r->rttvar_us + distance(r->srtt_us, round_trip_us)) / 4;
        r->srtt_us = (7 * r->srtt_us + round_trip_us) / 8;
    } else {
        r->is_measured = true;
        r->srtt_us = round_trip_us;
        r->rttvar_us = round_trip_us / 2;
    }
    const uint64_t rto_us = r->srtt_us + 4 * r->rttvar_us;
    r->rto_us = time_earlier(time_later(rto_us, SCTP_RTO_MIN_US), SCTP_RTO_MAX_US);
}

void sctp_rto_back_off(struct sctp_rto *r)
{
    r->rto_us = time_earlier(2 * r->rto_us, SCTP_RTO_MAX_US);
}
