/* reorder_window.c - see reorder_window.h */
#include "services/transceiver/core/media/reorder_window.h"

/* The window shrinks by 1/2,000 with every packet: by half in some 28 s. */
#define DECAY 2000

void reorder_window_init(struct reorder_window *w)
{
    *w = (struct reorder_window){.window_us = REORDER_WINDOW_US_MIN};
}

void reorder_window_forget_numbers(struct reorder_window *w)
{
    memset(w->given_up, 0, sizeof(w->given_up));
}

size_t reorder_window_newer_needed(const struct reorder_window *w, uint64_t now_us)
{
    return now_us < w->reordered_until_us ? 2 : 1;
}

void reorder_window_decay(struct reorder_window *w)
{
    w->window_us = time_later(w->window_us - w->window_us / DECAY, REORDER_WINDOW_US_MIN);
}

void reorder_window_give_up(struct reorder_window *w, uint64_t sequence, uint64_t gap_since_us)
{
    w->given_up[sequence % REORDER_WINDOW_SPAN].sequence = sequence;
    w->given_up[sequence % REORDER_WINDOW_SPAN].gap_since_us = gap_since_us;
}

bool reorder_window_note_passed(struct reorder_window *w, uint64_t sequence, uint64_t now_us)
{
    const size_t i = sequence % REORDER_WINDOW_SPAN;
    if (w->given_up[i].sequence != sequence) {
        return false;
    }
    w->given_up[i].sequence = 0;
    reorder_window_note_reordered(w, w->given_up[i].gap_since_us, now_us);
    return true;
}

void reorder_window_note_reordered(struct reorder_window *w, uint64_t gap_since_us, uint64_t now_us)
{
    const uint64_t lateness_us = time_since(gap_since_us, now_us);
    const uint64_t wanted_us = time_earlier(lateness_us * 5 / 4, REORDER_WINDOW_US_MAX);
    w->window_us = time_later(w->window_us, wanted_us);
    w->reordered_until_us = now_us + REORDER_WINDOW_MEMORY_US;
}
