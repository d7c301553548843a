/*
 * voice_rtcp.h - what the two ends tell each other about the voice (RFC 3550 s.6)
 *
 * Takes:   compound packets of the client that SRTCP let through, and time.
 * Gives:   our reports: SR (RR before we sent anything), SDES, BYE at the end. The first comes
 *          500 ms after the first packet of either direction, further ones by the schedule and
 *          whenever the loss we see moved by more than 2 points. What a NACK asks for is marked in
 *          the history.
 * Fails:   a compound is read up to its first malformed packet, which is counted by what is wrong
 *          with it; what came before it counts.
 * Borrows: the numbers of both directions and the history, which must outlive it.
 * Not here: when (rtcp_schedule.h), the bytes (rtcp_packet.h), SRTCP (session.c).
 */
#ifndef EARSHOT_VOICE_RTCP_H
#define EARSHOT_VOICE_RTCP_H

#include "services/transceiver/core/rtp/rtcp_schedule.h"
#include "services/transceiver/core/rtp/rtp_history.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

#define VOICE_RTCP_BYTES_MAX 256

struct voice_rtcp_config {
    struct rtp_receiver *receiver; /* these three are borrowed */
    struct rtp_sender *sender;
    struct rtp_history *history; /* NULL: NACK was not agreed, and changes nothing */
    uint64_t seed;
};

struct voice_rtcp_stats {
    uint64_t reports_sent;
    uint64_t compounds[RTCP_PACKET_RESULT_COUNT]; /* of the client: END is good, others a reason */
};

struct voice_rtcp {
    struct voice_rtcp_config config;
    struct rtcp_schedule schedule;
    bool has_sent;
    bool has_received;
    uint8_t told_fraction_lost; /* of 256, in the latest report */
    struct voice_rtcp_stats stats;
};

void voice_rtcp_init(struct voice_rtcp *v, const struct voice_rtcp_config *config);

/* A packet of voice left, or came. */
void voice_rtcp_note_sent(struct voice_rtcp *v, uint64_t now_us);
void voice_rtcp_note_received(struct voice_rtcp *v, uint64_t now_us);
void voice_rtcp_input(struct voice_rtcp *v, struct bytes_view compound, uint64_t now_us);

/* The report that is due, 0 if none. out: VOICE_RTCP_BYTES_MAX. */
size_t voice_rtcp_poll_report(struct voice_rtcp *v, uint8_t *out, uint64_t now_us);
/* The report that says goodbye; 0 if nothing of ours was ever sent (RFC 3550 s.6.3.7). */
size_t voice_rtcp_bye(struct voice_rtcp *v, uint8_t *out, uint64_t now_us);
uint64_t voice_rtcp_next_timeout(const struct voice_rtcp *v);

#endif
