/* g711_gap.c - see g711_gap.h */
#include "services/transceiver/core/media/g711_gap.h"

#include <string.h>

/* 66 to 200 Hz; a higher voice is found at a multiple of its period. */
#define LAG_MIN          40
#define LAG_MAX          120
#define TEMPLATE_SAMPLES 160

#define FADE_FROM 80  /* 10 ms */
#define FADE_TO   480 /* 60 ms */

#define STEP_SAMPLES  16
#define BLEND_SAMPLES 32

_Static_assert(LAG_MAX + TEMPLATE_SAMPLES + 1 <= G711_GAP_PAST_SAMPLES, "the past is long enough");

void g711_gap_init(struct g711_gap *g)
{
    memset(g, 0, sizeof(*g));
}

/* The sample `ago` samples back; 1 is the last. */
static int past(const struct g711_gap *g, size_t ago)
{
    return g->past[(g->position - ago) % G711_GAP_PAST_SAMPLES];
}

static void remember(struct g711_gap *g, int16_t sample)
{
    g->past[g->position++ % G711_GAP_PAST_SAMPLES] = sample;
}

/* How alike the last samples are to those one lag before: the cross-correlation's square over the
 * energy, 0 where they are opposed. */
static double likeness(const struct g711_gap *g, size_t lag)
{
    double product = 0;
    double energy = 1;
    for (size_t ago = 1; ago <= TEMPLATE_SAMPLES; ago++) {
        const double then = past(g, ago + lag);
        product += past(g, ago) * then;
        energy += then * then;
    }
    return product > 0 ? product * product / energy : 0;
}

static size_t find_lag(const struct g711_gap *g)
{
    size_t best = LAG_MAX;
    double best_likeness = 0;
    for (size_t lag = LAG_MIN; lag <= LAG_MAX; lag++) {
        const double found = likeness(g, lag);
        if (found > best_likeness) {
            best_likeness = found;
            best = lag;
        }
    }
    return best;
}

static void open_gap(struct g711_gap *g)
{
    g->lag = find_lag(g);
    g->step = past(g, 1) - past(g, 1 + g->lag);
}

static int16_t clamp(int value)
{
    return (int16_t)(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

/* The gap's next sample before the fade: it begins at the last sample's height. */
static int16_t repeat(const struct g711_gap *g, size_t at)
{
    const int left = at < STEP_SAMPLES ? (int)(STEP_SAMPLES - at) : 0;
    return clamp(past(g, g->lag) + g->step * left / STEP_SAMPLES);
}

static int fade(int sample, size_t at)
{
    if (at < FADE_FROM) {
        return sample;
    }
    const int left = at < FADE_TO ? (int)(FADE_TO - at) : 0;
    return sample * left / (FADE_TO - FADE_FROM);
}

void g711_gap_fill(struct g711_gap *g, int16_t *pcm, size_t samples)
{
    if (g->filled == 0) {
        open_gap(g);
    }
    for (size_t i = 0; i < samples; i++) {
        const int16_t sample = repeat(g, g->filled);
        remember(g, sample);
        pcm[i] = (int16_t)fade(sample, g->filled++);
    }
}

void g711_gap_hear(struct g711_gap *g, int16_t *pcm, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
        if (g->filled > 0 && i < BLEND_SAMPLES) {
            const int gone_on = fade(repeat(g, g->filled + i), g->filled + i);
            pcm[i] =
                (int16_t)((gone_on * (int)(BLEND_SAMPLES - i) + pcm[i] * (int)i) / BLEND_SAMPLES);
        }
        remember(g, pcm[i]);
    }
    if (samples > 0) {
        g->filled = 0;
    }
}
