/* step_cutter.c - see step_cutter.h */
#include "services/inference-stub/sound/step_cutter.h"

#include <string.h>

void step_cutter_init(struct step_cutter *c, uint32_t rate_hz)
{
    c->step_samples = pcm_samples_of_ms(rate_hz, VOICE_STEP_MS);
    c->fill = 0;
}

bool step_cutter_take(struct step_cutter *c, struct pcm_view *pcm, struct pcm_view *step)
{
    const size_t missing = c->step_samples - c->fill;
    const size_t count = pcm->count < missing ? pcm->count : missing;
    if (count > 0) {
        memcpy(c->step + c->fill, pcm->samples, count * sizeof(*pcm->samples));
        *pcm = (struct pcm_view){pcm->samples + count, pcm->count - count};
    }
    c->fill += count;
    if (c->fill < c->step_samples) {
        return false;
    }
    c->fill = 0;
    *step = (struct pcm_view){c->step, c->step_samples};
    return true;
}
