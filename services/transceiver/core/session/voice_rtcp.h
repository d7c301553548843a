/*
 * voice_rtcp.h - what the two ends tell each other about the voice (RFC 3550 s.6)
 *
 * Takes:   compound packets of the client that SRTCP let through, and time.
 * Gives:   our reports: SR (RR before we sent anything), SDES, BYE at the end. The first comes
 *          500 ms after the first packet of either direction.
 * Fails:   a compound is read up to its first malformed packet; what came before it counts.
 * Borrows: the uplink's and the downlink's numbers, which must outlive it.
 * Not here: when (rtcp_schedule.h), the bytes (rtcp_packet.h), SRTCP (session.c).
 */
#ifndef EARSHOT_VOICE_RTCP_H
#define EARSHOT_VOICE_RTCP_H

#include "services/transceiver/core/rtp/rtcp_schedule.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

#define VOICE_RTCP_BYTES_MAX 256

struct voice_rtcp {
    struct rtcp_schedule schedule;
    struct rtp_receiver *receiver;
    struct rtp_sender *sender;
    bool has_sent;
    bool has_received;
    bool has_reported;
};

void voice_rtcp_init(struct voice_rtcp *v, struct rtp_receiver *receiver, struct rtp_sender *sender,
                     uint64_t seed);

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
