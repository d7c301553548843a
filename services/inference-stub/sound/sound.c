/* sound.c - see sound.h */
#include "services/inference-stub/sound/sound.h"

#include <stdlib.h>

struct sound *sound_create(struct pcm_view pcm, uint32_t rate_hz)
{
    struct sound *sound = malloc(sizeof(*sound));
    if (sound == NULL) {
        free((void *)pcm.samples);
        return NULL;
    }
    *sound = (struct sound){pcm, rate_hz, 1};
    return sound;
}

struct sound *sound_hold(struct sound *sound)
{
    sound->holders++;
    return sound;
}

void sound_destroy(struct sound *sound)
{
    if (sound == NULL || --sound->holders > 0) {
        return;
    }
    free((void *)sound->pcm.samples);
    free(sound);
}
