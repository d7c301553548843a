/*
 * loss_response.h - what we do about the loss that the client reports
 *
 * Takes:   the fraction lost of each of its reports.
 * Gives:   the loss that in-band FEC is made for, and whether a packet repeats the one before
 *          (RED, RFC 2198).
 * Rule:    FEC follows the loss, up faster than down. RED begins with the second report in a row of
 *          more than 2 %, and ends after 30 s in which every report was below 1 %.
 * Owns:    nothing but itself: all zero is the beginning.
 */
#ifndef EARSHOT_LOSS_RESPONSE_H
#define EARSHOT_LOSS_RESPONSE_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

/* libopus gives FEC most of a packet beyond this, and what it adds no longer helps. */
#define LOSS_RESPONSE_FEC_PERCENT_MAX 20
#define LOSS_RESPONSE_CALM_US         (30 * US_PER_S)

struct loss_response {
    uint32_t lost; /* smoothed, of 65,536 */
    unsigned reports_over;
    uint64_t calm_since_us; /* 0 = not calm */
    bool wants_red;
};

/* fraction_lost: of 256. */
void loss_response_note(struct loss_response *r, uint8_t fraction_lost, uint64_t now_us);
/* 0..LOSS_RESPONSE_FEC_PERCENT_MAX */
unsigned loss_response_fec_percent(const struct loss_response *r);

#endif
