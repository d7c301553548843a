/* rtp_receiver.c - see rtp_receiver.h */
#include "services/transceiver/core/rtp/rtp_receiver.h"

#include "services/transceiver/core/rtp/rtp_clock.h"
#include "services/transceiver/core/rtp/transit_window.h"

#include <assert.h>
#include <stdlib.h>

#define SEQUENCE_CYCLE UINT64_C(0x10000)
#define EXTENDED_START (UINT64_C(1) << 32)

/* RFC 7587 s.4.2: the longest packet. A longer step in an unbroken sequence is a pause. */
#define PACKET_DURATION_MAX 5760

#define NO_SEQUENCE UINT32_MAX

struct rtp_receiver {
    uint32_t units; /* of 48 kHz in one of the wire's clock: 1, or 6 at 8 kHz */
    uint8_t telephone_event_type;
    bool has_ssrc;
    uint32_t ssrc;
    bool has_retired;
    uint32_t retired_ssrc;
    uint64_t last_arrival_us; /* of the followed SSRC */

    /* RFC 3550 A.1, A.3 */
    uint64_t base_sequence;
    uint64_t highest_sequence;
    uint64_t highest_timestamp; /* of that packet, in the wire's clock */
    uint8_t highest_payload_type;
    uint32_t jump_sequence; /* what would follow a packet out of line, or NO_SEQUENCE */
    uint64_t received;
    uint64_t expected_before; /* at the last report */
    uint64_t received_before;
    uint64_t expected_earlier; /* of numberings that are over */
    uint64_t received_earlier;

    /* RFC 3550 A.8, at 48 kHz: 16 times the jitter; the packet before, and when it came */
    uint32_t jitter_scaled;
    uint64_t jitter_sequence;
    uint64_t jitter_timestamp;
    uint64_t jitter_arrival;

    uint64_t anchor_timestamp; /* at 48 kHz */
    uint64_t anchor_us;
    struct transit_window transit;

    bool has_sender_report;
    uint32_t sender_report_ntp; /* middle 32 bits */
    uint64_t sender_report_us;
};

struct rtp_receiver *rtp_receiver_create(uint32_t clock_hz, uint8_t telephone_event_type)
{
    assert(clock_hz > 0 && RTP_CLOCK_HZ % clock_hz == 0);
    struct rtp_receiver *r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->units = RTP_CLOCK_HZ / clock_hz;
        r->telephone_event_type = telephone_event_type;
    }
    return r;
}

void rtp_receiver_destroy(struct rtp_receiver *r)
{
    free(r);
}

static uint64_t expected_now(const struct rtp_receiver *r)
{
    return r->has_ssrc ? r->highest_sequence - r->base_sequence + 1 : 0;
}

static uint64_t highest_arrival_timestamp(const struct rtp_receiver *r)
{
    return r->highest_timestamp * r->units;
}

/* A.1 init_seq, and the anchor of the capture clock. */
static void begin_numbering(struct rtp_receiver *r, const struct rtp_packet *p, uint64_t now_us)
{
    r->expected_earlier += expected_now(r);
    r->received_earlier += r->received;
    r->has_ssrc = true;
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
    r->jitter_timestamp = highest_arrival_timestamp(r);
    r->jitter_arrival = rtp_clock_from_us(now_us);
    r->anchor_timestamp = highest_arrival_timestamp(r);
    r->anchor_us = now_us;
    transit_window_init(&r->transit);
    transit_window_note(&r->transit, 0, now_us);
}

static void follow(struct rtp_receiver *r, uint32_t ssrc)
{
    r->has_retired = r->has_ssrc;
    r->retired_ssrc = r->ssrc;
    r->ssrc = ssrc;
    r->has_sender_report = false;
}

/* RFC 3550 A.8, of any two packets in the order of arrival. Not across a pause of the sender, which
 * is more time than the packets between the two can hold: what it does to its clock there says
 * nothing about the network. */
static void update_jitter(struct rtp_receiver *r, const struct rtp_arrival *a, uint64_t now_us)
{
    const uint64_t arrival = rtp_clock_from_us(now_us);
    const int64_t sent = (int64_t)(a->timestamp - r->jitter_timestamp);
    const int64_t packets = (int64_t)(a->sequence - r->jitter_sequence);
    const bool is_pause = packets > 0 && (sent < 0 || sent > packets * PACKET_DURATION_MAX);
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

static bool is_far_from_arrival(const struct rtp_receiver *r, uint64_t timestamp, uint64_t now_us)
{
    const uint64_t capture_us = rtp_receiver_capture_us(r, timestamp);
    return time_since(capture_us, now_us) > RTP_RECEIVER_CLOCK_ERROR_US_MAX ||
           time_since(now_us, capture_us) > RTP_RECEIVER_CLOCK_ERROR_US_MAX;
}

/* The timestamp can not belong to the running clock: an older number has no newer time, nor a newer
 * number an older one. Another payload type may look back: a telephone-event keeps the timestamp of
 * its begin (RFC 4733). */
static bool is_out_of_time(const struct rtp_receiver *r, const struct rtp_packet *p,
                           const struct rtp_arrival *a, uint64_t now_us)
{
    const uint64_t newest = highest_arrival_timestamp(r);
    const bool is_against_order =
        a->sequence > r->highest_sequence ? a->timestamp < newest : a->timestamp > newest;
    return (p->payload_type == r->highest_payload_type && is_against_order) ||
           is_far_from_arrival(r, a->timestamp, now_us);
}

static int64_t transit_us(const struct rtp_receiver *r, uint64_t timestamp, uint64_t arrived_us)
{
    return (int64_t)(arrived_us - rtp_receiver_capture_us(r, timestamp));
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
        .timestamp = (r->highest_timestamp + (uint64_t)(int64_t)step) * r->units,
    };
    const bool is_newer = out->sequence > r->highest_sequence;
    if (is_out_of_time(r, p, out, now_us)) {
        if (!is_newer) {
            return RTP_RECEIVER_MISPLACED;
        }
        begin_numbering(r, p, now_us);
        return RTP_RECEIVER_RESTART;
    }
    if (is_newer) {
        r->highest_sequence = out->sequence;
        r->highest_timestamp += (uint64_t)(int64_t)step;
        r->highest_payload_type = p->payload_type;
    }
    r->received++;
    if (p->payload_type != r->telephone_event_type) {
        update_jitter(r, out, now_us);
        transit_window_note(&r->transit, transit_us(r, out->timestamp, now_us), now_us);
    }
    return RTP_RECEIVER_NEXT;
}

enum rtp_receiver_result rtp_receiver_input(struct rtp_receiver *r, const struct rtp_packet *p,
                                            struct rtp_arrival *out, uint64_t now_us)
{
    enum rtp_receiver_result result = RTP_RECEIVER_NEW_SSRC;
    if (r->has_ssrc && p->ssrc == r->ssrc) {
        result = update_sequence(r, p, out, now_us);
        if (result != RTP_RECEIVER_RESTART) {
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
    *out = (struct rtp_arrival){r->highest_sequence, highest_arrival_timestamp(r)};
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

void rtp_receiver_begin_after(struct rtp_receiver *r, uint64_t earliest_us)
{
    if (time_since(r->anchor_us, earliest_us) <= RTP_RECEIVER_CLOCK_ERROR_US_MAX / 2) {
        r->anchor_us = time_later(r->anchor_us, earliest_us);
    }
}

uint64_t rtp_receiver_timestamp_at(const struct rtp_receiver *r, uint64_t captured_us)
{
    if (captured_us < r->anchor_us) {
        return r->anchor_timestamp;
    }
    return r->anchor_timestamp + rtp_clock_from_us(captured_us - r->anchor_us);
}

uint32_t rtp_receiver_wire_timestamp(const struct rtp_receiver *r, uint64_t timestamp)
{
    return (uint32_t)(timestamp / r->units);
}

uint64_t rtp_receiver_lateness_us(const struct rtp_receiver *r, uint64_t timestamp,
                                  uint64_t arrived_us)
{
    return transit_window_lateness_us(&r->transit, transit_us(r, timestamp, arrived_us));
}

struct rtp_receiver_stats rtp_receiver_stats(const struct rtp_receiver *r)
{
    return (struct rtp_receiver_stats){
        .expected = r->expected_earlier + expected_now(r),
        .received = r->received_earlier + r->received,
        .jitter_us = rtp_clock_to_us(r->jitter_scaled >> 4),
        .drift_ppm = transit_window_drift_ppm(&r->transit),
    };
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
    const uint64_t expected = expected_now(r);
    *out = (struct rtcp_report_block){
        .ssrc = r->ssrc,
        .fraction_lost = rtp_receiver_fraction_lost(r),
        .cumulative_lost = clamp_to_24_bits((int64_t)(expected - r->received)),
        .highest_sequence = (uint32_t)r->highest_sequence,
        .jitter = (r->jitter_scaled >> 4) / r->units,
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
