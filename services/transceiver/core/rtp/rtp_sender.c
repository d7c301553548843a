/* rtp_sender.c - see rtp_sender.h */
#include "services/transceiver/core/rtp/rtp_sender.h"

#include <assert.h>
#include <stdlib.h>

/* RFC 868: seconds from 1900 to 1970. */
#define NTP_UNIX_OFFSET_S UINT64_C(2208988800)

struct rtp_sender {
    uint64_t unix_offset_us;
    uint32_t clock_hz;
    uint32_t ssrc;
    uint16_t sequence_number; /* of the next packet */
    uint32_t timestamp;       /* of the slot */
    uint32_t slot_units;      /* how long it is */
    uint64_t slot_us;         /* when it is on the grid */
    bool is_speaking;         /* the last packet carried speech */
    struct rtp_sender_stats stats;
    uint64_t news_due_us;
    struct rtp_sender_news told; /* in all */
};

struct rtp_sender *rtp_sender_create(const struct rtp_sender_config *config)
{
    struct rtp_sender *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    assert(config->clock_hz > 0);
    s->unix_offset_us = config->unix_offset_us;
    s->clock_hz = config->clock_hz;
    s->ssrc = random_u32(config->random);
    s->timestamp = random_u32(config->random);
    s->sequence_number = (uint16_t)random_u32(config->random);
    return s;
}

void rtp_sender_destroy(struct rtp_sender *s)
{
    free(s);
}

uint32_t rtp_sender_ssrc(const struct rtp_sender *s)
{
    return s->ssrc;
}

void rtp_sender_next_slot(struct rtp_sender *s, uint32_t units, uint64_t slot_us)
{
    s->timestamp += s->slot_units;
    s->slot_units = units;
    s->slot_us = slot_us;
}

uint32_t rtp_sender_timestamp(const struct rtp_sender *s)
{
    return s->timestamp;
}

void rtp_sender_write_header(struct rtp_sender *s, uint8_t payload_type, size_t payload_bytes,
                             bool is_silence, uint8_t out[RTP_PACKET_HEADER_BYTES])
{
    const struct rtp_packet p = {
        .marker = !is_silence && !s->is_speaking,
        .payload_type = payload_type,
        .sequence_number = s->sequence_number,
        .timestamp = s->timestamp,
        .ssrc = s->ssrc,
    };
    rtp_packet_write_header(&p, out);
    s->sequence_number++;
    s->is_speaking = !is_silence;
    s->stats.packets++;
    s->stats.payload_bytes += payload_bytes;
}

/* 32.32 seconds since 1900, RFC 3550 s.4. */
static uint64_t ntp_time(const struct rtp_sender *s, uint64_t now_us)
{
    const uint64_t unix_us = now_us + s->unix_offset_us;
    const uint64_t seconds = unix_us / US_PER_S + NTP_UNIX_OFFSET_S;
    return seconds << 32 | ((unix_us % US_PER_S) << 32) / US_PER_S;
}

/* The timestamp of this instant: the slot's, and the time since; before it when it left early. */
static uint32_t timestamp_at(const struct rtp_sender *s, uint64_t now_us)
{
    const uint64_t after = time_since(s->slot_us, now_us) * s->clock_hz / US_PER_S;
    const uint64_t before = time_since(now_us, s->slot_us) * s->clock_hz / US_PER_S;
    return s->timestamp + (uint32_t)after - (uint32_t)before;
}

bool rtp_sender_report(const struct rtp_sender *s, struct rtcp_sender_info *out, uint64_t now_us)
{
    if (s->stats.packets == 0) {
        return false;
    }
    *out = (struct rtcp_sender_info){
        .ntp_time = ntp_time(s, now_us),
        .timestamp = timestamp_at(s, now_us),
        .packet_count = (uint32_t)s->stats.packets,
        .octet_count = (uint32_t)s->stats.payload_bytes,
    };
    return true;
}

/* RFC 3550 s.6.4.1: A - LSR - DLSR in 1/65,536 s, around a wrap of 18 hours. */
static void measure_rtt(struct rtp_sender *s, const struct rtcp_report_block *block,
                        uint64_t now_us)
{
    const uint32_t arrival = (uint32_t)(ntp_time(s, now_us) >> 16);
    const int32_t rtt = (int32_t)(arrival - block->last_sr - block->delay_since_last_sr);
    if (block->last_sr == 0 || rtt < 0) {
        return;
    }
    const uint64_t rtt_us = ((uint64_t)rtt * US_PER_S) >> 16;
    if (rtt_us <= RTP_SENDER_RTT_US_MAX) {
        s->stats.has_rtt = true;
        s->stats.rtt_us = rtt_us;
    }
}

void rtp_sender_report_block(struct rtp_sender *s, const struct rtcp_report_block *block,
                             uint64_t now_us)
{
    if (block->ssrc != s->ssrc) {
        return;
    }
    s->stats.reports++;
    s->stats.fraction_lost = block->fraction_lost;
    s->stats.cumulative_lost = block->cumulative_lost;
    s->stats.jitter_us = (uint64_t)block->jitter * US_PER_S / s->clock_hz;
    measure_rtt(s, block, now_us);
}

struct rtp_sender_stats rtp_sender_stats(const struct rtp_sender *s)
{
    return s->stats;
}

bool rtp_sender_is_news_due(const struct rtp_sender *s, uint64_t now_us)
{
    return now_us >= s->news_due_us;
}

struct rtp_sender_news rtp_sender_take_news(struct rtp_sender *s, uint64_t now_us)
{
    const struct rtp_sender_news before = s->told;
    const int32_t lost = s->stats.cumulative_lost;
    s->news_due_us = now_us + RTP_SENDER_NEWS_US;
    s->told.packets = s->stats.packets;
    s->told.reports = s->stats.reports;
    if (lost > 0 && (uint64_t)lost > before.lost) {
        s->told.lost =
            (uint64_t)lost; /* less than before: that was told, and counters do not fall */
    }
    return (struct rtp_sender_news){.packets = s->told.packets - before.packets,
                                    .lost = s->told.lost - before.lost,
                                    .reports = s->told.reports - before.reports};
}
