/*
 * rtp_receiver.h - the numbers of the audio that arrives: RFC 3550 A.1, A.3, A.8
 *
 * Takes:   every packet that SRTP let through for the call's audio, in the order of arrival.
 * Gives:   sequence and timestamp without wraps, the capture time of a timestamp, and the report
 *          block for the peer.
 * Owns:    the numbering of one SSRC at a time. Another one replaces it (replaceTrack, a sender
 *          that restarts); the old one is dropped as long as the new one is alive.
 * Units:   timestamps that come out: 48 kHz, whatever the clock on the wire; jitter in a report:
 *          the clock on the wire. Extended values begin at 2^32 + the value of the wire: a packet
 *          before the first one has a number too.
 * Rule:    no probation (A.1 asks for two packets in a row): SRTP has authenticated the packet, and
 *          the first words of a call are in the first one. A jump of the numbering needs two.
 * Not here: order and concealment (core/media/reorder_buffer.h), round trip (rtp_sender.h).
 */
#ifndef EARSHOT_RTP_RECEIVER_H
#define EARSHOT_RTP_RECEIVER_H

#include "common/base/time_us.h"
#include "services/transceiver/core/rtp/rtcp_packet.h"
#include "services/transceiver/core/rtp/rtp_packet.h"

/* RFC 3550 A.1: further than this forward or back is a jump. */
#define RTP_RECEIVER_DROPOUT_MAX  3000
#define RTP_RECEIVER_MISORDER_MAX 100

/* The sender's clock and arrival may differ by this much; beyond it is a new clock. */
#define RTP_RECEIVER_CLOCK_ERROR_US_MAX (10 * US_PER_S)

/* A replaced SSRC stays out until the new one has been silent for this long. */
#define RTP_RECEIVER_ALIVE_US US_PER_S

struct rtp_receiver;

/* No packet has this payload type. */
#define RTP_RECEIVER_NO_TYPE 0xff

/* clock_hz: of the payload types (48000, or 8000 with G.711). telephone_event_type: its packets
 * keep the timestamp of their begin, so they do not count for jitter, lateness and drift. NULL
 * without memory. */
struct rtp_receiver *rtp_receiver_create(uint32_t clock_hz, uint8_t telephone_event_type);
void rtp_receiver_destroy(struct rtp_receiver *r);

enum rtp_receiver_result {
    RTP_RECEIVER_NEXT,      /* of the running numbering: new, reordered or a duplicate */
    RTP_RECEIVER_NEW_SSRC,  /* begins the numbering of an SSRC; also the call's first packet */
    RTP_RECEIVER_RESTART,   /* begins a new numbering or clock of the same SSRC */
    RTP_RECEIVER_JUMP,      /* dropped: out of line; accepted if the next one follows it */
    RTP_RECEIVER_MISPLACED, /* dropped: an older number with a time that can not be its own */
    RTP_RECEIVER_RETIRED    /* dropped: of the SSRC that was replaced */
};

/* *out is set unless the packet is to be dropped. After NEW_SSRC and RESTART whatever depends on
 * the numbering (reorder buffer, decoder) begins anew. */
struct rtp_arrival {
    uint64_t sequence;
    uint64_t timestamp;
};

enum rtp_receiver_result rtp_receiver_input(struct rtp_receiver *r, const struct rtp_packet *p,
                                            struct rtp_arrival *out, uint64_t now_us);

/* The SSRC that is followed; false before the first packet. */
MUST_USE bool rtp_receiver_ssrc(const struct rtp_receiver *r, uint32_t *out);

/* When the sample `timestamp` was captured, on the clock of now_us: the arrival of the numbering's
 * first packet and the timestamps since. Never resampled, never adjusted. */
uint64_t rtp_receiver_capture_us(const struct rtp_receiver *r, uint64_t timestamp);

/* The numbering that has just begun was captured no earlier than this, if that lies ahead of its
 * arrival by no more than half of RTP_RECEIVER_CLOCK_ERROR_US_MAX: else it began by a jump back. */
void rtp_receiver_begin_after(struct rtp_receiver *r, uint64_t earliest_us);

/* The other way: the timestamp that was captured then, never before the anchor. */
uint64_t rtp_receiver_timestamp_at(const struct rtp_receiver *r, uint64_t captured_us);
/* As it stands in a packet. */
uint32_t rtp_receiver_wire_timestamp(const struct rtp_receiver *r, uint64_t timestamp);
/* How much longer than the fastest packet of the last 10 s this one took. */
uint64_t rtp_receiver_lateness_us(const struct rtp_receiver *r, uint64_t timestamp,
                                  uint64_t arrived_us);

struct rtp_receiver_stats {
    uint64_t expected; /* numbers up to the highest, of all numberings so far */
    uint64_t received; /* duplicates included */
    uint64_t jitter_us;
    int32_t drift_ppm; /* how much faster than ours the sender's clock runs, over 30 s */
};

struct rtp_receiver_stats rtp_receiver_stats(const struct rtp_receiver *r);

/* A sender report of `ssrc` came; ignored unless it is the one that is followed. */
void rtp_receiver_sender_report(struct rtp_receiver *r, uint32_t ssrc,
                                const struct rtcp_sender_info *info, uint64_t now_us);

/* Of 256, of the packets since the last report, as the next one would tell it now. */
uint8_t rtp_receiver_fraction_lost(const struct rtp_receiver *r);

/* The block for the next report, and the interval of fraction_lost begins anew. False, and no
 * block, before the first packet. */
MUST_USE bool rtp_receiver_report(struct rtp_receiver *r, struct rtcp_report_block *out,
                                  uint64_t now_us);

#endif
