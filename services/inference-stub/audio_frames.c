/* audio_frames.c - see audio_frames.h */
#include "services/inference-stub/audio_frames.h"

#include <assert.h>

#define STEPS_A_SECOND 400 /* of the 2.5 ms in which a frame tells its duration */

static bool was_heard(struct audio_frames *a, const struct backend_frame *frame)
{
    const uint64_t until_us = frame->time_us + frame->duration_2500us * UINT64_C(2500);
    if ((frame->flags & BACKEND_AUDIO_LATE) != 0 && until_us <= a->heard_until_us) {
        return true;
    }
    a->heard_until_us = time_later(a->heard_until_us, until_us);
    return false;
}

enum audio_frames_result audio_frames_open(struct audio_frames *a,
                                           const struct backend_frame *frame,
                                           struct audio_frames_input *out)
{
    const bool is_silence = (frame->flags & BACKEND_AUDIO_SILENCE) != 0;
    if (!is_silence && (frame->codec != BACKEND_CODEC_PCM16 || frame->rate_khz != a->rate_khz ||
                        frame->channels != 1)) {
        return AUDIO_FRAMES_CODEC;
    }
    if (!is_silence && frame->payload.len % 2 != 0) {
        return AUDIO_FRAMES_BROKEN;
    }
    out->flags = frame->flags;
    out->silent_steps = 0;
    out->silent_samples = a->rate_khz * 1000u / STEPS_A_SECOND;
    byte_reader_init(&out->samples, (struct bytes_view){0});
    if (was_heard(a, frame)) {
        return AUDIO_FRAMES_OK;
    }
    if (is_silence) {
        out->silent_steps = frame->duration_2500us; /* it has no samples */
    } else {
        byte_reader_init(&out->samples, frame->payload);
    }
    return AUDIO_FRAMES_OK;
}

bool audio_frames_next(struct audio_frames_input *input, struct pcm_view *out, unsigned *flags)
{
    static const int16_t zeros[PCM_RATE_HZ_MAX / STEPS_A_SECOND];
    size_t count = 0;
    while (count < COUNT_OF(input->piece) && byte_reader_left(&input->samples) > 0) {
        input->piece[count++] = (int16_t)byte_reader_u16_le(&input->samples);
    }
    *out = (struct pcm_view){input->piece, count};
    if (count == 0 && input->silent_steps > 0) {
        input->silent_steps--;
        *out = (struct pcm_view){zeros, input->silent_samples};
    }
    *flags = input->flags;
    input->flags &= ~(unsigned)BACKEND_AUDIO_DISCONTINUITY;
    return out->count > 0;
}

void audio_frames_write(const struct audio_frames *a, const struct utterance_audio *audio,
                        uint8_t *payload, size_t cap, struct backend_frame *out)
{
    struct byte_writer w;
    byte_writer_init(&w, payload, cap);
    for (size_t i = 0; i < audio->pcm.count; i++) {
        byte_writer_u16_le(&w, (uint16_t)audio->pcm.samples[i]);
    }
    assert(!w.failed);
    *out = (struct backend_frame){
        .type = BACKEND_AUDIO_OUT,
        .flags = audio->is_last ? BACKEND_FLAG_LAST : 0,
        .time_us = audio->offset_us,
        .utterance = audio->utterance,
        .codec = BACKEND_CODEC_PCM16,
        .rate_khz = a->rate_khz,
        .channels = 1,
        .payload = bytes_view_of(payload, w.len),
    };
}
