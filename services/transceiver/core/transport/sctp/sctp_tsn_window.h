/*
 * sctp_tsn_window.h - which TSNs have come: all up to one, and some of the next SCTP_TSN_WINDOW
 *
 * Gives:   what a SACK says of them (RFC 9260 s.3.3.4).
 * Bounds:  what is further ahead is BEYOND; of duplicates the first SCTP_DUPLICATES_MAX are told.
 */
#ifndef EARSHOT_SCTP_TSN_WINDOW_H
#define EARSHOT_SCTP_TSN_WINDOW_H

#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#define SCTP_TSN_WINDOW     1024
#define SCTP_DUPLICATES_MAX 16

struct sctp_tsn_window {
    uint32_t cumulative_tsn;
    uint32_t highest_tsn;                /* cumulative_tsn when there is no gap */
    uint64_t seen[SCTP_TSN_WINDOW / 64]; /* bit TSN % SCTP_TSN_WINDOW, above cumulative_tsn alone */
    uint32_t duplicate[SCTP_DUPLICATES_MAX];
    size_t duplicate_count;
};

enum sctp_tsn_result { SCTP_TSN_NEW, SCTP_TSN_DUPLICATE, SCTP_TSN_BEYOND };

void sctp_tsn_window_init(struct sctp_tsn_window *w, uint32_t first_tsn);
/* Changes nothing, except that a duplicate is noted. */
enum sctp_tsn_result sctp_tsn_window_judge(struct sctp_tsn_window *w, uint32_t tsn);
/* A TSN that is NEW. */
void sctp_tsn_window_add(struct sctp_tsn_window *w, uint32_t tsn);
/* All up to tsn need not come any more. Ignored when it is not ahead. */
void sctp_tsn_window_forward(struct sctp_tsn_window *w, uint32_t tsn);

/* Rising. How many of at most `cap`. */
size_t sctp_tsn_window_gaps(const struct sctp_tsn_window *w, struct sctp_gap *out, size_t cap);

#endif
