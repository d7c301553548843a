/*
 * pcm_resample.h - a whole piece of sound at another rate
 *
 * The only file of the stub that sees Speex. For whole sentences: not for audio on its way.
 */
#ifndef EARSHOT_PCM_RESAMPLE_H
#define EARSHOT_PCM_RESAMPLE_H

#include "common/base/bytes.h"
#include "services/inference-stub/sound/pcm.h"

/* out: malloc'ed, in.count * to / from samples, in step with the input. False without memory. */
MUST_USE bool pcm_resample(struct pcm_view in, uint32_t from_hz, uint32_t to_hz,
                           struct pcm_view *out);

#endif
