/* encoder_effort.c - see encoder_effort.h */
#include "services/transceiver/core/media/encoder_effort.h"

#include <assert.h>

/* Falling. The configured complexity stands above those that are lower. */
static const unsigned step[] = {5, 1};

void encoder_effort_init(struct encoder_effort *e, unsigned complexity_max, unsigned complexity_min)
{
    assert(complexity_min <= complexity_max);
    *e = (struct encoder_effort){
        .complexity = complexity_max,
        .complexity_max = complexity_max,
        .complexity_min = complexity_min,
        .calm_since_us = TIME_NEVER,
    };
}

static unsigned lower(const struct encoder_effort *e)
{
    for (size_t i = 0; i < COUNT_OF(step); i++) {
        if (step[i] < e->complexity && step[i] >= e->complexity_min) {
            return step[i];
        }
    }
    return e->complexity;
}

static unsigned higher(const struct encoder_effort *e)
{
    for (size_t i = COUNT_OF(step); i-- > 0;) {
        if (step[i] > e->complexity && step[i] < e->complexity_max) {
            return step[i];
        }
    }
    return e->complexity_max;
}

void encoder_effort_note(struct encoder_effort *e, uint64_t busy_permille, uint64_t now_us)
{
    if (busy_permille >= ENCODER_EFFORT_BUSY) {
        const unsigned complexity = lower(e);
        e->steps_down += complexity != e->complexity;
        e->complexity = complexity;
    }
    if (busy_permille >= ENCODER_EFFORT_CALM) {
        e->calm_since_us = TIME_NEVER;
        return;
    }
    e->calm_since_us = time_earlier(e->calm_since_us, now_us);
    if (now_us - e->calm_since_us >= ENCODER_EFFORT_CALM_US) {
        e->complexity = higher(e);
        e->calm_since_us = now_us;
    }
}
