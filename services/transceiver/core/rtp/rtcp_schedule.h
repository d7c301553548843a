/*
 * rtcp_schedule.h - when the next RTCP report is due
 *
 * RFC 3550 s.6.2 scales the interval with the size of a conference. A call has two members, so the
 * interval follows what the peer does with a report: a browser turns its FEC on by the first ones.
 * Rule:    500 ms after the first packet of a direction; then each 1 s for 10 s, then each 5 s:
 *          drawn evenly from 0.5..1.5 and 0.5..1 of it (s.6.3.1: never in step). News does not
 *          wait for that, but for 250 ms after the report before.
 * Owns:    nothing but itself: init, no destroy.
 */
#ifndef EARSHOT_RTCP_SCHEDULE_H
#define EARSHOT_RTCP_SCHEDULE_H

#include "common/base/random.h"
#include "common/base/time_us.h"

struct rtcp_schedule {
    struct random_generator random;
    uint64_t dense_until_us;
    uint64_t deadline_us;
    uint64_t reported_us; /* the report before; meaningless until has_reported */
    bool has_reported;
};

void rtcp_schedule_init(struct rtcp_schedule *s, uint64_t seed);

/* The first packet of ours left, or the first of a remote SSRC came. */
void rtcp_schedule_first_packet(struct rtcp_schedule *s, uint64_t now_us);
/* There is something to tell: the next report leaves at once, or 250 ms after the one before. */
void rtcp_schedule_hasten(struct rtcp_schedule *s, uint64_t now_us);
/* TIME_NEVER before the first packet. */
uint64_t rtcp_schedule_next_timeout(const struct rtcp_schedule *s);
/* True when a report is to be sent now; the next is then scheduled. */
MUST_USE bool rtcp_schedule_take(struct rtcp_schedule *s, uint64_t now_us);

#endif
