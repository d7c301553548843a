/* audio_frames.c - see audio_frames.h */
#include "services/inference-stub/audio_frames.h"

#include <assert.h>

/* A frame without samples is as long as its header says. */
static void silence_in(const struct audio_frames *a, const struct backend_frame *frame,
                       struct dialogue *d, uint64_t now_us)
{
    static const int16_t zeros[PCM_RATE_HZ_MAX / 400];
    const struct pcm_view step = {zeros, a->rate_khz * 1000u / 400};
    unsigned flags = frame->flags;
    for (unsigned i = 0; i < frame->duration_2500us; i++) {
        dialogue_audio_in(d, step, flags, now_us);
        flags &= ~(unsigned)BACKEND_AUDIO_DISCONTINUITY;
    }
}

static void samples_in(const struct backend_frame *frame, struct dialogue *d, uint64_t now_us)
{
    int16_t samples[PCM_RATE_HZ_MAX / 50];
    struct byte_reader r;
    byte_reader_init(&r, frame->payload);
    unsigned flags = frame->flags;
    while (byte_reader_left(&r) > 0) {
        size_t count = 0;
        while (count < COUNT_OF(samples) && byte_reader_left(&r) > 0) {
            samples[count++] = (int16_t)byte_reader_u16_le(&r);
        }
        dialogue_audio_in(d, (struct pcm_view){samples, count}, flags, now_us);
        flags &= ~(unsigned)BACKEND_AUDIO_DISCONTINUITY;
    }
}

static bool was_heard(struct audio_frames *a, const struct backend_frame *frame)
{
    const uint64_t until_us = frame->time_us + frame->duration_2500us * UINT64_C(2500);
    if ((frame->flags & BACKEND_AUDIO_LATE) != 0 && until_us <= a->heard_until_us) {
        return true;
    }
    a->heard_until_us = time_later(a->heard_until_us, until_us);
    return false;
}

enum audio_frames_result audio_frames_input(struct audio_frames *a,
                                            const struct backend_frame *frame, struct dialogue *d,
                                            uint64_t now_us)
{
    const bool is_silence = (frame->flags & BACKEND_AUDIO_SILENCE) != 0;
    if (!is_silence && (frame->codec != BACKEND_CODEC_PCM16 || frame->rate_khz != a->rate_khz ||
                        frame->channels != 1)) {
        return AUDIO_FRAMES_CODEC;
    }
    if (!is_silence && frame->payload.len % 2 != 0) {
        return AUDIO_FRAMES_BROKEN;
    }
    if (was_heard(a, frame)) {
        return AUDIO_FRAMES_OK;
    }
    if (is_silence) {
        silence_in(a, frame, d, now_us);
    } else {
        samples_in(frame, d, now_us);
    }
    return AUDIO_FRAMES_OK;
}

void audio_frames_write(const struct audio_frames *a, const struct dialogue_audio *audio,
                        uint8_t *payload, size_t cap, struct backend_frame *out)
{
    struct byte_writer w;
    byte_writer_init(&w, payload, cap);
    for (size_t i = 0; i < audio->pcm.count; i++) {
        byte_writer_u16_le(&w, (uint16_t)audio->pcm.samples[i]);
    }
    assert(!w.failed);
    out->type = BACKEND_AUDIO_OUT;
    out->flags = audio->is_last ? BACKEND_FLAG_LAST : 0;
    out->time_us = audio->offset_us;
    out->utterance = audio->utterance;
    out->codec = BACKEND_CODEC_PCM16;
    out->rate_khz = a->rate_khz;
    out->channels = 1;
    out->payload = bytes_view_of(payload, w.len);
}
