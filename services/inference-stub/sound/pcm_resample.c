/* pcm_resample.c - see pcm_resample.h; hides Speex */
#include "services/inference-stub/sound/pcm_resample.h"

#include <speex/speex_resampler.h>
#include <stdlib.h>

#define QUALITY 8 /* of 10 */

/* Fills out; what the filter holds back is pushed out by silence behind the end. */
static bool convert(SpeexResamplerState *filter, struct pcm_view in, int16_t *out, size_t count)
{
    static const int16_t silence[480];
    size_t filled = 0;
    while (filled < count) {
        const struct pcm_view next =
            in.count > 0 ? in : (struct pcm_view){silence, COUNT_OF(silence)};
        spx_uint32_t taken = (spx_uint32_t)next.count;
        spx_uint32_t made = (spx_uint32_t)(count - filled);
        if (speex_resampler_process_int(filter, 0, next.samples, &taken, out + filled, &made) !=
            RESAMPLER_ERR_SUCCESS) {
            return false;
        }
        if (in.count > 0) {
            in = (struct pcm_view){in.samples + taken, in.count - taken};
        }
        filled += made;
    }
    return true;
}

bool pcm_resample(struct pcm_view in, uint32_t from_hz, uint32_t to_hz, struct pcm_view *out)
{
    const size_t count = in.count * to_hz / from_hz;
    int16_t *samples = calloc(count, sizeof(*samples));
    SpeexResamplerState *filter = speex_resampler_init(1, from_hz, to_hz, QUALITY, NULL);
    bool is_good = samples != NULL && filter != NULL &&
                   speex_resampler_skip_zeros(filter) == RESAMPLER_ERR_SUCCESS &&
                   convert(filter, in, samples, count);
    if (filter != NULL) {
        speex_resampler_destroy(filter);
    }
    if (!is_good) {
        free(samples);
        return false;
    }
    *out = (struct pcm_view){samples, count};
    return true;
}
