/*
 * rtp_sender.h - the numbers of the audio that leaves, and what the peer reports about it
 *
 * Takes:   one rtp_sender_next_slot a slot, whether or not it sends anything; the peer's reports.
 * Gives:   RTP headers: the timestamp runs with the slots, the sequence with the packets, one SSRC
 *          for life, random starts (RFC 3550 s.5.1). The marker is on the first packet after
 *          silence only.
 * Units:   timestamp in the codec's clock.
 * Not here: the clock that calls (session/voice_sender.h), codec (media/voice_encoder.h), SRTP.
 */
#ifndef EARSHOT_RTP_SENDER_H
#define EARSHOT_RTP_SENDER_H

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/rtp/rtcp_packet.h"
#include "services/transceiver/core/rtp/rtp_packet.h"

/* A round trip beyond this is a peer's error. */
#define RTP_SENDER_RTT_US_MAX (30 * US_PER_S)

struct rtp_sender_config {
    struct random_source random; /* used by create only */
    uint64_t unix_offset_us;     /* Unix time less now_us: for the NTP time of sender reports */
    uint32_t clock_hz;           /* RTP clock of the codec: 48000, or 8000 */
};

struct rtp_sender;

struct rtp_sender *rtp_sender_create(const struct rtp_sender_config *config);
void rtp_sender_destroy(struct rtp_sender *s);

uint32_t rtp_sender_ssrc(const struct rtp_sender *s);

/* A slot of `units` begins: the timestamp steps over the one before. slot_us: when it is on the
 * call's own grid; a packet that leaves a little earlier or later does not move the clock that
 * reports tell. */
void rtp_sender_next_slot(struct rtp_sender *s, uint32_t units, uint64_t slot_us);
/* Of the slot. */
uint32_t rtp_sender_timestamp(const struct rtp_sender *s);
/* The header of a packet with payload_bytes in this slot. is_silence: the packet carries no speech,
 * so that the first one which does is marked. */
void rtp_sender_write_header(struct rtp_sender *s, uint8_t payload_type, size_t payload_bytes,
                             bool is_silence, uint8_t out[RTP_PACKET_HEADER_BYTES]);

/* What a sender report says at now_us: NTP and RTP time of this instant. False before the first
 * packet: then a receiver report is due. */
MUST_USE bool rtp_sender_report(const struct rtp_sender *s, struct rtcp_sender_info *out,
                                uint64_t now_us);

/* A report block of the peer; ignored unless it is about our SSRC. */
void rtp_sender_report_block(struct rtp_sender *s, const struct rtcp_report_block *block,
                             uint64_t now_us);

struct rtp_sender_stats {
    uint64_t packets;
    uint64_t payload_bytes;
    uint64_t reports; /* of the peer about us; what follows is of the latest */
    bool has_rtt;
    uint64_t rtt_us;       /* of the latest that tells it */
    uint8_t fraction_lost; /* of 256 */
    int32_t cumulative_lost;
    uint64_t jitter_us;
};

struct rtp_sender_stats rtp_sender_stats(const struct rtp_sender *s);

/* How often a call that lasts adds to counters of all calls. */
#define RTP_SENDER_NEWS_US (10 * US_PER_S)

/* What is new since it was taken before: each packet, and each that was reported lost, once. */
struct rtp_sender_news {
    uint64_t packets;
    uint64_t lost;
    uint64_t reports;
};

/* RTP_SENDER_NEWS_US have passed. */
MUST_USE bool rtp_sender_is_news_due(const struct rtp_sender *s, uint64_t now_us);
struct rtp_sender_news rtp_sender_take_news(struct rtp_sender *s, uint64_t now_us);

#endif
