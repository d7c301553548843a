/* rtp_receiver.c - see rtp_receiver.h */
#include "services/transceiver/core/rtp/rtp_receiver.h"

#include "services/transceiver/core/rtp/rtp_clock.h"

#include <stdlib.h>

#define SEQUENCE_CYCLE UINT64_C(0x10000)
#define EXTENDED_START (UINT64_C(1) << 32)

/* RFC 7587 s.4.2: the longest packet. A longer step in an unbroken sequence is a pause. */
#define PACKET_DURATION_MAX 5760

#define NO_SEQUENCE UINT32_MAX

struct rtp_receiver {
    bool has_ssrc;
    uint32_t ssrc;
    bool has_retired;
    uint32_t retired_ssrc;
    uint64_t last_arrival_us; /* of the followed SSRC */

    /* RFC 3550 A.1, A.3 */
    uint64_t base_sequence;
    uint64_t highest_sequence;
    uint64_t highest_timestamp; /* of that packet */
    uint8_t highest_payload_type;
    uint32_t jump_sequence; /* what would follow a packet out of line, or NO_SEQUENCE */
    uint64_t received;
    uint64_t expected_before; /* at the last report */
    uint64_t received_before;

    /* RFC 3550 A.8: 16 times the jitter, and where the packet before came from and when */
    uint32_t jitter_scaled;
    uint64_t jitter_sequence;
    uint64_t jitter_timestamp;
    uint64_t jitter_arrival; /* in timestamp units */

    uint64_t anchor_timestamp;
    uint64_t anchor_us;

    bool has_sender_report;
    uint32_t sender_report_ntp; /* middle 32 bits */
    uint64_t sender_report_us;
};

struct rtp_receiver *rtp_receiver_create(void)
{
    return calloc(1, sizeof(struct rtp_receiver));
}

void rtp_receiver_destroy(struct rtp_receiver *r)
{
    free(r);
}

/* A.1 init_seq, and the anchor of the capture clock. */
static void begin_numbering(struct rtp_receiver *r, const struct rtp_packet *p, uint64_t now_us)
{
    r->base_sequence = EXTENDED_START + p->sequence_number;
    r->highest_sequence = r->base_sequence;
    r->highest_timestamp = EXTENDED_START + p->timestamp;
    r->highest_payload_type = p->payload_type;
    r->jump_sequence = NO_SEQUENCE;
    r->received = 1;
    r->expected_before = 0;
    r->received_before = 0;
    r->jitter_scaled = 0;
    r->jitter_sequence = r->highest_sequence;
    r->jitter_timestamp = r->highest_timestamp;
    r->jitter_arrival = rtp_clock_from_us(now_us);
    r->anchor_timestamp = r->highest_timestamp;
    r->anchor_us = now_us;
}

static void follow(struct rtp_receiver *r, uint32_t ssrc)
{
    r->has_retired = r->has_ssrc;
    r->retired_ssrc = r->ssrc;
    r->has_ssrc = true;
    r->ssrc = ssrc;
    r->has_sender_report = false;
}

/* RFC 3550 A.8, of any two packets in the order of arrival. Not across a pause of the sender: what
 * it does to its clock there says nothing about the network. */
static void update_jitter(struct rtp_receiver *r, const struct rtp_arrival *a, uint64_t now_us)
{
    const uint64_t arrival = rtp_clock_from_us(now_us);
    const int64_t sent = (int64_t)(a->timestamp - r->jitter_timestamp);
    const bool is_pause =
        a->sequence == r->jitter_sequence + 1 && (sent > PACKET_DURATION_MAX || sent < 0);
    if (!is_pause) {
        const int64_t difference = (int64_t)(arrival - r->jitter_arrival) - sent;
        const uint64_t size = (uint64_t)(difference < 0 ? -difference : difference);
        const uint64_t step = size - ((r->jitter_scaled + 8) >> 4);
        const uint64_t scaled = r->jitter_scaled + step;
        r->jitter_scaled = scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
    }
    r->jitter_sequence = a->sequence;
    r->jitter_timestamp = a->timestamp;
    r->jitter_arrival = arrival;
}

/* A packet newer than all before whose timestamp can not belong to the running clock. Another
 * payload type may look back: a telephone-event keeps the timestamp of its begin (RFC 4733). */
static bool is_new_clock(const struct rtp_receiver *r, const struct rtp_packet *p,
                         const struct rtp_arrival *a, uint64_t now_us)
{
    if (p->payload_type == r->highest_payload_type && a->timestamp < r->highest_timestamp) {
        return true;
    }
    const uint64_t capture_us = rtp_receiver_capture_us(r, a->timestamp);
    return time_since(capture_us, now_us) > RTP_RECEIVER_CLOCK_ERROR_US_MAX ||
           time_since(now_us, capture_us) > RTP_RECEIVER_CLOCK_ERROR_US_MAX;
}

/* RFC 3550 A.1 update_seq. */
static enum rtp_receiver_result update_sequence(struct rtp_receiver *r, const struct rtp_packet *p,
                                                struct rtp_arrival *out, uint64_t now_us)
{
    const uint16_t ahead = (uint16_t)(p->sequence_number - (uint16_t)r->highest_sequence);
    if (ahead >= RTP_RECEIVER_DROPOUT_MAX && ahead <= SEQUENCE_CYCLE - RTP_RECEIVER_MISORDER_MAX) {
        if (p->sequence_number == r->jump_sequence) {
            begin_numbering(r, p, now_us);
            return RTP_RECEIVER_RESTART;
        }
        r->jump_sequence = (uint16_t)(p->sequence_number + 1);
        return RTP_RECEIVER_JUMP;
    }
    r->jump_sequence = NO_SEQUENCE;
    const int32_t step = (int32_t)(p->timestamp - (uint32_t)r->highest_timestamp);
    *out = (struct rtp_arrival){
        .sequence = r->highest_sequence + (uint64_t)(int16_t)ahead,
        .timestamp = r->highest_timestamp + (uint64_t)(int64_t)step,
    };
    if (out->sequence > r->highest_sequence) {
        if (is_new_clock(r, p, out, now_us)) {
            begin_numbering(r, p, now_us);
            return RTP_RECEIVER_RESTART;
        }
        r->highest_sequence = out->sequence;
        r->highest_timestamp = out->timestamp;
        r->highest_payload_type = p->payload_type;
    }
    r->received++;
    update_jitter(r, out, now_us);
    return RTP_RECEIVER_NEXT;
}

enum rtp_receiver_result rtp_receiver_input(struct rtp_receiver *r, const struct rtp_packet *p,
                                            struct rtp_arrival *out, uint64_t now_us)
{
    enum rtp_receiver_result result = RTP_RECEIVER_NEW_SSRC;
    if (r->has_ssrc && p->ssrc == r->ssrc) {
        result = update_sequence(r, p, out, now_us);
        if (result == RTP_RECEIVER_NEXT || result == RTP_RECEIVER_JUMP) {
            r->last_arrival_us = now_us;
            return result;
        }
    } else {
        if (r->has_retired && p->ssrc == r->retired_ssrc &&
            time_since(r->last_arrival_us, now_us) < RTP_RECEIVER_ALIVE_US) {
            return RTP_RECEIVER_RETIRED;
        }
        follow(r, p->ssrc);
        begin_numbering(r, p, now_us);
    }
    r->last_arrival_us = now_us;
    *out = (struct rtp_arrival){.sequence = r->highest_sequence, .timestamp = r->highest_timestamp};
    return result;
}

bool rtp_receiver_ssrc(const struct rtp_receiver *r, uint32_t *out)
{
    *out = r->ssrc;
    return r->has_ssrc;
}

uint64_t rtp_receiver_capture_us(const struct rtp_receiver *r, uint64_t timestamp)
{
    if (timestamp >= r->anchor_timestamp) {
        return r->anchor_us + rtp_clock_to_us(timestamp - r->anchor_timestamp);
    }
    return time_since(rtp_clock_to_us(r->anchor_timestamp - timestamp), r->anchor_us);
}

void rtp_receiver_sender_report(struct rtp_receiver *r, uint32_t ssrc,
                                const struct rtcp_sender_info *info, uint64_t now_us)
{
    if (!r->has_ssrc || ssrc != r->ssrc) {
        return;
    }
    r->has_sender_report = true;
    r->sender_report_ntp = (uint32_t)(info->ntp_time >> 16);
    r->sender_report_us = now_us;
}

static int32_t clamp_to_24_bits(int64_t value)
{
    const int32_t max = 0x7fffff;
    const int32_t min = -0x800000;
    if (value > max) {
        return max;
    }
    return value < min ? min : (int32_t)value;
}

/* RFC 3550 A.3: duplicates can make it negative. */
uint8_t rtp_receiver_fraction_lost(const struct rtp_receiver *r)
{
    if (!r->has_ssrc) {
        return 0;
    }
    const uint64_t expected = r->highest_sequence - r->base_sequence + 1;
    const uint64_t expected_now = expected - r->expected_before;
    const uint64_t received_now = r->received - r->received_before;
    if (expected_now == 0 || received_now >= expected_now) {
        return 0;
    }
    /* Below 256: what raised the expectation was itself received. */
    return (uint8_t)(((expected_now - received_now) << 8) / expected_now);
}

bool rtp_receiver_report(struct rtp_receiver *r, struct rtcp_report_block *out, uint64_t now_us)
{
    if (!r->has_ssrc) {
        return false;
    }
    const uint64_t expected = r->highest_sequence - r->base_sequence + 1;
    *out = (struct rtcp_report_block){
        .ssrc = r->ssrc,
        .fraction_lost = rtp_receiver_fraction_lost(r),
        .cumulative_lost = clamp_to_24_bits((int64_t)(expected - r->received)),
        .highest_sequence = (uint32_t)r->highest_sequence,
        .jitter = r->jitter_scaled >> 4,
    };
    if (r->has_sender_report) {
        const uint64_t delay_us = time_since(r->sender_report_us, now_us);
        const uint64_t delay = (delay_us << 16) / US_PER_S;
        out->last_sr = r->sender_report_ntp;
        out->delay_since_last_sr = delay < UINT32_MAX ? (uint32_t)delay : UINT32_MAX;
    }
    r->expected_before = expected;
    r->received_before = r->received;
    return true;
}
