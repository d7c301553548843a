/* sctp_tsn_window.c - see sctp_tsn_window.h */
#include "services/transceiver/core/transport/sctp/sctp_tsn_window.h"

#include "services/transceiver/core/transport/sctp/sctp_serial.h"

static uint64_t *word_of(struct sctp_tsn_window *w, uint32_t tsn)
{
    return &w->seen[tsn % SCTP_TSN_WINDOW / 64];
}

static uint64_t bit_of(uint32_t tsn)
{
    return UINT64_C(1) << (tsn % 64);
}

static bool is_seen(const struct sctp_tsn_window *w, uint32_t tsn)
{
    return (w->seen[tsn % SCTP_TSN_WINDOW / 64] & bit_of(tsn)) != 0;
}

void sctp_tsn_window_init(struct sctp_tsn_window *w, uint32_t first_tsn)
{
    *w = (struct sctp_tsn_window){.cumulative_tsn = first_tsn - 1, .highest_tsn = first_tsn - 1};
}

enum sctp_tsn_result sctp_tsn_window_judge(struct sctp_tsn_window *w, uint32_t tsn)
{
    const bool is_behind = !sctp_tsn_before(w->cumulative_tsn, tsn);
    if (!is_behind && tsn - w->cumulative_tsn > SCTP_TSN_WINDOW) {
        return SCTP_TSN_BEYOND;
    }
    if (!is_behind && !is_seen(w, tsn)) {
        return SCTP_TSN_NEW;
    }
    if (w->duplicate_count < SCTP_DUPLICATES_MAX) {
        w->duplicate[w->duplicate_count++] = tsn;
    }
    return SCTP_TSN_DUPLICATE;
}

static void move_cumulative(struct sctp_tsn_window *w)
{
    while (is_seen(w, w->cumulative_tsn + 1)) {
        w->cumulative_tsn++;
        *word_of(w, w->cumulative_tsn) &= ~bit_of(w->cumulative_tsn);
    }
    if (sctp_tsn_before(w->highest_tsn, w->cumulative_tsn)) {
        w->highest_tsn = w->cumulative_tsn;
    }
}

void sctp_tsn_window_add(struct sctp_tsn_window *w, uint32_t tsn)
{
    *word_of(w, tsn) |= bit_of(tsn);
    if (sctp_tsn_before(w->highest_tsn, tsn)) {
        w->highest_tsn = tsn;
    }
    move_cumulative(w);
}

void sctp_tsn_window_forward(struct sctp_tsn_window *w, uint32_t tsn)
{
    if (!sctp_tsn_before(w->cumulative_tsn, tsn)) {
        return;
    }
    if (tsn - w->cumulative_tsn > SCTP_TSN_WINDOW) { /* past all that is in it */
        memset(w->seen, 0, sizeof(w->seen));
        w->cumulative_tsn = w->highest_tsn = tsn;
        return;
    }
    while (w->cumulative_tsn != tsn) {
        w->cumulative_tsn++;
        *word_of(w, w->cumulative_tsn) &= ~bit_of(w->cumulative_tsn);
    }
    move_cumulative(w);
}

size_t sctp_tsn_window_gaps(const struct sctp_tsn_window *w, struct sctp_gap *out, size_t cap)
{
    size_t count = 0;
    bool is_open = false;
    const uint32_t ahead = w->highest_tsn - w->cumulative_tsn;
    for (uint32_t i = 2; i <= ahead; i++) {
        if (!is_seen(w, w->cumulative_tsn + i)) {
            is_open = false;
            continue;
        }
        if (!is_open) {
            if (count == cap) {
                break;
            }
            out[count++].first = (uint16_t)i;
        }
        is_open = true;
        out[count - 1].last = (uint16_t)i;
    }
    return count;
}
