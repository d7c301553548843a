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

bool speech_synthesize(const char *text, struct pcm_view *at_16k, struct pcm_view *at_24k,
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
    const uint32_t rate_hz = (uint32_t)wave->sample_rate;
    const bool has_16k = pcm_resample(spoken, rate_hz, 16000, at_16k);
    const bool has_24k = has_16k && pcm_resample(spoken, rate_hz, 24000, at_24k);
    delete_wave(wave);
    if (has_16k && !has_24k) {
        speech_free(at_16k);
    }
    return has_24k || fault_set(fault, FAULT_SYSTEM, "no memory for speech");
}

void speech_free(struct pcm_view *pcm)
{
    free((void *)pcm->samples);
    *pcm = (struct pcm_view){0};
}
