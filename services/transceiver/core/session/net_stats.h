/*
 * net_stats.h - NET_STATS: once a second, what the network did to the call
 *
 * Takes:   the totals of the uplink, what is known of the way down, time.
 * Gives:   one report a second of which the counts are of that second; the first one second after
 *          begin. A second without packets has loss 0.
 * Owns:    nothing but itself: no destroy.
 * Not here: the frame (backend_leg.h), how the totals come about (voice_uplink.h).
 */
#ifndef EARSHOT_NET_STATS_H
#define EARSHOT_NET_STATS_H

#include "common/backend_link/backend_report.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/session/voice_uplink.h"

#define NET_STATS_INTERVAL_US US_PER_S

struct net_stats {
    uint64_t next_us; /* TIME_NEVER: nobody listens */
    struct voice_uplink_quality before;
};

/* Nobody listens, until begin. */
void net_stats_init(struct net_stats *n);
/* now: of this moment, here and below. */
void net_stats_begin(struct net_stats *n, const struct voice_uplink_quality *now, uint64_t now_us);
void net_stats_stop(struct net_stats *n);
/* True when a report is due: *out. rtt_us: 0 = not known. */
MUST_USE bool net_stats_poll(struct net_stats *n, const struct voice_uplink_quality *now,
                             uint64_t rtt_us, struct backend_net_stats *out, uint64_t now_us);

#endif
