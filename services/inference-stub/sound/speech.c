/* speech.c - see speech.h; hides flite */
#include "services/inference-stub/sound/speech.h"

#include "services/inference-stub/sound/pcm_resample.h"

#include <flite/flite.h>
#include <stdlib.h>

/* flite's headers declare no voice. */
cst_voice *register_cmu_us_slt(const char *voice_directory);

static cst_voice *open_voice(void)
{
    static cst_voice *voice;
    if (voice == NULL && flite_init() == 0) {
        voice = register_cmu_us_slt(NULL);
    }
    return voice;
}

bool speech_synthesize(const char *text, uint32_t rate_hz, struct pcm_view *out,
                       struct fault *fault)
{
    cst_voice *voice = open_voice();
    cst_wave *wave = voice == NULL ? NULL : flite_text_to_wave(text, voice);
    if (wave == NULL || wave->num_samples < 1) {
        delete_wave(wave);
        return fault_set(fault, FAULT_LIBRARY, "flite makes no sound of \"%s\"", text);
    }
    /* Not by cst_wave_resample: it copies overlapping memory and softens by 2 dB. */
    const struct pcm_view spoken = {wave->samples, (size_t)wave->num_samples};
    const bool is_good = pcm_resample(spoken, (uint32_t)wave->sample_rate, rate_hz, out);
    delete_wave(wave);
    return is_good || fault_set(fault, FAULT_SYSTEM, "no memory for speech");
}

void speech_free(struct pcm_view *pcm)
{
    free((void *)pcm->samples);
    *pcm = (struct pcm_view){0};
}
