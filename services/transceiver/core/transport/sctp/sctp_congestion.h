/*
 * sctp_congestion.h - how much may be under way at once (RFC 9260 s.7.2)
 *
 * Takes:   word of each SACK, of each loss, of silence.
 * Gives:   window_bytes, to compare with what is under way.
 */
#ifndef EARSHOT_SCTP_CONGESTION_H
#define EARSHOT_SCTP_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 9260 s.6.1 D: Max.Burst packets leave at once after a SACK. */
#define SCTP_BURST_PACKETS 4

struct sctp_congestion {
    size_t packet_bytes;
    size_t window_bytes;    /* cwnd */
    size_t threshold_bytes; /* ssthresh */
    size_t partial_bytes;   /* partial_bytes_acked */
    bool is_recovering;     /* fast recovery, until recovery_tsn is acknowledged */
    uint32_t recovery_tsn;
};

void sctp_congestion_init(struct sctp_congestion *c, size_t packet_bytes, size_t peer_window_bytes);

/* The cumulative TSN has moved to cumulative_tsn. was_full: before this SACK all that the window
 * allows was under way. */
void sctp_congestion_acknowledged(struct sctp_congestion *c, uint32_t cumulative_tsn,
                                  size_t newly_bytes, bool was_full, size_t flight_bytes);
/* Three SACKs miss something: the window halves, once until last_tsn is acknowledged. True if this
 * began a recovery. */
bool sctp_congestion_lost(struct sctp_congestion *c, uint32_t last_tsn);
void sctp_congestion_timed_out(struct sctp_congestion *c);
/* Nothing was sent for a whole RTO (s.7.2.1). */
void sctp_congestion_idle(struct sctp_congestion *c);
/* s.6.1 D: a window that was opened by many SACKs at once must not leave in one burst. */
void sctp_congestion_limit_burst(struct sctp_congestion *c, size_t flight_bytes);

#endif
