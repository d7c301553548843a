/* loss_response.c - see loss_response.h */
#include "services/transceiver/core/rtp/loss_response.h"

/* Of 256: more than this is over 2 %, less than this below 1 %. */
#define FRACTION_OVER 5
#define FRACTION_CALM 3
#define REPORTS_OVER  2

#define ONE 65536 /* all is lost, in the unit of `lost` */

static uint32_t smooth(uint32_t lost, uint8_t fraction_lost)
{
    const uint32_t now = (uint32_t)fraction_lost * (ONE / 256);
    return now > lost ? (lost + now) / 2 : (3 * lost + now) / 4;
}

void loss_response_note(struct loss_response *r, uint8_t fraction_lost, uint64_t now_us)
{
    r->lost = smooth(r->lost, fraction_lost);
    r->reports_over = fraction_lost > FRACTION_OVER ? r->reports_over + 1 : 0;
    if (r->reports_over >= REPORTS_OVER) {
        r->wants_red = true;
    }
    if (fraction_lost >= FRACTION_CALM) {
        r->calm_since_us = 0;
    } else if (r->calm_since_us == 0) {
        r->calm_since_us = now_us;
    } else if (now_us - r->calm_since_us >= LOSS_RESPONSE_CALM_US) {
        r->wants_red = false;
    }
}

unsigned loss_response_fec_percent(const struct loss_response *r)
{
    const uint32_t percent = (r->lost * 100 + ONE / 2) / ONE;
    return percent < LOSS_RESPONSE_FEC_PERCENT_MAX ? percent : LOSS_RESPONSE_FEC_PERCENT_MAX;
}
