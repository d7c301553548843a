/*
 * sound.h - a piece of speech that several calls may be saying at once
 *
 * Owns:    its samples, until its last holder lets go.
 * Threads: one at a time; whoever hands a sound to another thread keeps nothing of it.
 */
#ifndef EARSHOT_SOUND_H
#define EARSHOT_SOUND_H

#include "services/inference-stub/sound/pcm.h"

struct sound {
    struct pcm_view pcm;
    uint32_t rate_hz;
    unsigned holders;
};

/* pcm's samples are malloc'ed and the sound's from here on, also when there is no memory: then they
 * are freed and NULL is returned. The caller is its holder. */
struct sound *sound_create(struct pcm_view pcm, uint32_t rate_hz);
/* One holder more; returns it. */
struct sound *sound_hold(struct sound *sound);
/* NULL is fine. */
void sound_destroy(struct sound *sound);

#endif
