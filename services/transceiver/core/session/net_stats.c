/* net_stats.c - see net_stats.h */
#include "services/transceiver/core/session/net_stats.h"

void net_stats_init(struct net_stats *n)
{
    *n = (struct net_stats){.next_us = TIME_NEVER};
}

void net_stats_begin(struct net_stats *n, const struct voice_uplink_quality *now, uint64_t now_us)
{
    n->before = *now;
    n->next_us = now_us + NET_STATS_INTERVAL_US;
}

void net_stats_stop(struct net_stats *n)
{
    n->next_us = TIME_NEVER;
}

static uint32_t clamp(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Another SSRC may begin its counts anew: that is no news of this second. */
static uint64_t grown(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* Packets that came twice, or later than their second, do not make it negative. */
static uint32_t loss_per_mille(uint64_t expected, uint64_t received)
{
    return received >= expected ? 0 : clamp((expected - received) * 1000 / expected);
}

bool net_stats_poll(struct net_stats *n, const struct voice_uplink_quality *now, uint64_t rtt_us,
                    struct backend_net_stats *out, uint64_t now_us)
{
    const struct voice_uplink_quality *before = &n->before;
    if (now_us < n->next_us) {
        return false;
    }
    *out = (struct backend_net_stats){
        .loss_per_mille = loss_per_mille(grown(before->expected, now->expected),
                                         grown(before->received, now->received)),
        .jitter_us = clamp(now->jitter_us),
        .rtt_us = clamp(rtt_us),
        .concealed_ms = clamp(grown(before->concealed_us, now->concealed_us) / US_PER_MS),
        .fec_ms = clamp(grown(before->fec_us, now->fec_us) / US_PER_MS),
        .red_ms = clamp(grown(before->red_us, now->red_us) / US_PER_MS),
        .late = clamp(grown(before->late, now->late)),
        .level_dbov = now->level_dbov,
        .drift_ppm = now->drift_ppm,
    };
    n->before = *now;
    /* Late by a second or more: none of those that were missed is told. */
    n->next_us += NET_STATS_INTERVAL_US * (1 + (now_us - n->next_us) / NET_STATS_INTERVAL_US);
    return true;
}
