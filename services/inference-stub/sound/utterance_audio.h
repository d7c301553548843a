/* utterance_audio.h - a piece of speech on its way to the user */
#ifndef EARSHOT_UTTERANCE_AUDIO_H
#define EARSHOT_UTTERANCE_AUDIO_H

#include "services/inference-stub/sound/pcm.h"

#include <stdbool.h>

struct utterance_audio {
    uint32_t utterance;
    struct pcm_view pcm; /* borrowed; may be empty when is_last */
    bool is_last;
    uint64_t offset_us; /* of the first sample in its utterance, after a resume; 0 = append */
};

#endif
