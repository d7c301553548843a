/*
 * rtp_history.h - what left, kept a while for a peer that asks again (RFC 4585 s.6.2.1)
 *
 * Takes:   packets as they left, SRTP included, and the sequence numbers that a NACK calls lost.
 * Gives:   the identical bytes, each packet at most once: a repeated or hostile NACK costs nothing,
 *          and no key stream is used twice for different bytes (RFC 3711 s.9.1).
 * Owns:    the last RTP_HISTORY_PACKETS, some 32 KB made at create.
 * Full:    the oldest goes. A packet longer than RTP_HISTORY_BYTES_MAX is not kept.
 * Not here: reading a NACK (rtcp_packet.h), whether one was agreed (core/sdp).
 */
#ifndef EARSHOT_RTP_HISTORY_H
#define EARSHOT_RTP_HISTORY_H

#include "common/base/bytes.h"

#define RTP_HISTORY_PACKETS   64 /* 1.3 s of 20 ms: more than any client waits */
#define RTP_HISTORY_BYTES_MAX 504

struct rtp_history;

struct rtp_history *rtp_history_create(void);
void rtp_history_destroy(struct rtp_history *h);

/* A packet left. RTP's header is in the clear under SRTP: its number is read from it. */
void rtp_history_keep(struct rtp_history *h, struct bytes_view packet);
/* What was kept so far is never given again: the speech in it was taken back. */
void rtp_history_forget(struct rtp_history *h);

/* The peer misses this one. */
void rtp_history_want(struct rtp_history *h, uint16_t sequence_number);
/* One that is wanted, to be sent again; false if none. Borrowed until the next keep. */
MUST_USE bool rtp_history_poll(struct rtp_history *h, struct bytes_view *out);

#endif
