/* dialogue_world.h - a call of the dialogue as a transceiver would see it; one frame is 20 ms */
#ifndef EARSHOT_TESTS_DIALOGUE_WORLD_H
#define EARSHOT_TESTS_DIALOGUE_WORLD_H

#include "tests/testing.h"

#include "services/inference-stub/dialogue.h"
#include "tests/speech_like.h"

#define RATE_HZ     16000
#define FRAME       (RATE_HZ / 50)
#define SAID_MAX    (40 * RATE_HZ)
#define PLENTY_US   (1000 * US_PER_S)
#define GREETING    8000
#define MS(samples) ((samples)*1000 / RATE_HZ)
#define SAMPLES(ms) ((size_t)(ms)*RATE_HZ / 1000)

/* A call: what was heard and said, the way a transceiver would see it. */
struct call {
    struct stub_counters counters;
    struct dialogue *dialogue;
    struct random_generator noise;
    uint64_t now_us;
    size_t voice_samples; /* of the burst that goes on */
    uint32_t utterance;   /* newest heard of */
    uint32_t flushed;     /* by the last FLUSH */
    size_t flushes;
    size_t finished;     /* utterances that came with LAST */
    int16_t *said;       /* SAID_MAX */
    size_t said_samples; /* of the newest utterance */
    size_t said_in_all;
};

static int16_t greeting[GREETING];

static inline struct call *open_call(enum dialogue_mode mode, uint64_t credit_us)
{
    static int16_t said[SAID_MAX];
    static struct call call;
    call = (struct call){.now_us = 1, .said = said};
    random_generator_init(&call.noise, 7);
    for (size_t i = 0; i < GREETING; i++) {
        greeting[i] = (int16_t)(i + 1);
    }
    call.dialogue = dialogue_create(&(struct dialogue_config){.mode = mode,
                                                              .rate_hz = RATE_HZ,
                                                              .tone_hz = 1000,
                                                              .greeting = {greeting, GREETING},
                                                              .credit_us = credit_us,
                                                              .counters = &call.counters});
    assert_non_null(call.dialogue);
    return &call;
}

static inline void close_call(struct call *c)
{
    dialogue_destroy(c->dialogue);
}

/* Takes at most frames_max frames; checks what must hold for every frame. */
static inline void drain_some(struct call *c, size_t frames_max)
{
    uint32_t flush;
    struct utterance_audio audio;
    while (dialogue_take_flush(c->dialogue, &flush)) {
        assert_true(flush > c->flushed && flush >= c->utterance);
        c->flushed = flush;
        c->flushes++;
    }
    for (size_t i = 0; i < frames_max && dialogue_take_audio(c->dialogue, &audio); i++) {
        assert_in_range(audio.pcm.count, 1, SAMPLES(DIALOGUE_CHUNK_MS));
        assert_true(audio.utterance > c->flushed && audio.utterance >= c->utterance);
        if (audio.utterance > c->utterance) {
            c->utterance = audio.utterance;
            c->said_samples = 0;
        }
        if (c->said_samples + audio.pcm.count <= SAID_MAX) {
            memcpy(c->said + c->said_samples, audio.pcm.samples,
                   audio.pcm.count * sizeof(*c->said));
        }
        c->said_samples += audio.pcm.count;
        c->said_in_all += audio.pcm.count;
        c->finished += audio.is_last;
    }
}

static inline void drain(struct call *c)
{
    drain_some(c, SIZE_MAX);
}

static inline void hear_frame(struct call *c, const int16_t *samples, unsigned flags)
{
    c->now_us += 20 * US_PER_MS;
    dialogue_audio_in(c->dialogue, (struct pcm_view){samples, FRAME}, flags, c->now_us);
    dialogue_tick(c->dialogue, c->now_us);
}

static inline void room(struct call *c, size_t ms)
{
    c->voice_samples = 0;
    for (size_t i = 0; i < ms / 20; i++) {
        int16_t frame[FRAME];
        speech_like_noise(&c->noise, -65, frame, FRAME);
        hear_frame(c, frame, 0);
        drain(c);
    }
}

static inline void voice_frame(struct call *c, int16_t frame[FRAME])
{
    speech_like_voice(&c->noise, -20, RATE_HZ, c->voice_samples, frame, FRAME);
    c->voice_samples += FRAME;
    hear_frame(c, frame, 0);
}

static inline void voice(struct call *c, size_t ms)
{
    for (size_t i = 0; i < ms / 20; i++) {
        int16_t frame[FRAME];
        voice_frame(c, frame);
        drain(c);
    }
}

static inline void playback_done(struct call *c)
{
    dialogue_playback(c->dialogue,
                      &(struct backend_playback){.utterance = c->utterance, .state = "done"});
}

#endif
