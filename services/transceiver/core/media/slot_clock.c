/* slot_clock.c - see slot_clock.h */
#include "services/transceiver/core/media/slot_clock.h"

#include <assert.h>

/* This many slots that are late still go; those before them are left out. */
#define BACK_TO_BACK_MAX 2

void slot_clock_init(struct slot_clock *c)
{
    *c = (struct slot_clock){.next_us = TIME_NEVER};
}

void slot_clock_start(struct slot_clock *c, uint32_t number, uint64_t now_us)
{
    assert(!slot_clock_is_running(c));
    const uint64_t phase_us = number % SLOT_CLOCK_PHASES * (SLOT_CLOCK_SLOT_US / SLOT_CLOCK_PHASES);
    const uint64_t grid_us = now_us - now_us % SLOT_CLOCK_SLOT_US + phase_us;
    c->next_us = grid_us >= now_us ? grid_us : grid_us + SLOT_CLOCK_SLOT_US;
}

bool slot_clock_is_running(const struct slot_clock *c)
{
    return c->next_us != TIME_NEVER;
}

uint64_t slot_clock_next_timeout(const struct slot_clock *c)
{
    return c->next_us;
}

void slot_clock_hasten(struct slot_clock *c, uint64_t now_us)
{
    if (!slot_clock_is_running(c) || c->next_us <= now_us) {
        return;
    }
    const uint64_t grid_us = c->next_us + c->early_us;
    c->next_us = time_later(now_us, time_since(SLOT_CLOCK_SLOT_US, grid_us));
    c->early_us = grid_us - c->next_us;
}

bool slot_clock_take(struct slot_clock *c, struct slot *out, uint64_t now_us)
{
    if (now_us < c->next_us) {
        return false;
    }
    const uint64_t due = (now_us - c->next_us) / SLOT_CLOCK_SLOT_US + 1;
    out->skipped = due > BACK_TO_BACK_MAX ? due - BACK_TO_BACK_MAX : 0;
    c->next_us += out->skipped * SLOT_CLOCK_SLOT_US;
    out->grid_us = c->next_us + c->early_us;
    return true;
}

void slot_clock_advance(struct slot_clock *c, uint64_t duration_us)
{
    assert(duration_us > 0);
    c->next_us += duration_us;
}

void slot_clock_settle(struct slot_clock *c)
{
    c->next_us += c->early_us;
    c->early_us = 0;
}
