/* speech_onset_test.c - words of a real speech synthesis, through Opus and G.711: goal L7
 *
 * Prints the figures of docs/performance.md.
 */
#include "tests/testing.h"

#include "services/inference-stub/sound/speech.h"
#include "services/transceiver/core/media/speech_detector.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "tests/speech_like.h"

#include <stdlib.h>

#define RATE_HZ      16000
#define FRAME        (RATE_HZ / 50)
#define STEP         (RATE_HZ / 100)
#define FRAME_US     (20 * US_PER_MS)
#define ROOM_SAMPLES RATE_HZ /* and up to one second more, at random */

static const char *const words[] = {
    "one",   "two",  "three",       "four",
    "five",  "six",  "seven",       "eight",
    "nine",  "zero", "hello there", "please stop",
    "pizza", "yes",  "no",          "what is the weather",
    "ah",    "hm",   "stop",        "could you say that again",
};

/* What became of one run over all words. */
struct figures {
    size_t heard;
    size_t missed;
    size_t early; /* told before the onset */
    uint64_t worst_us;
    uint64_t sum_us;
};

struct listener {
    struct random_generator random;
    enum voice_codec codec;
    double room_dbov;
    struct voice_encoder *encoder;
    struct voice_decoder *decoder;
    struct speech_detector detector;
    uint64_t time_us; /* of the next frame */
    int16_t heard[VOICE_DECODER_SAMPLES_MAX];
};

static double step_dbov(const int16_t *pcm)
{
    double sum = 0;
    for (size_t i = 0; i < STEP; i++) {
        sum += (double)pcm[i] * pcm[i];
    }
    return 10 * log10(sum / STEP / 32768 / 32768 + 1e-13);
}

/* The frame goes the way of a packet. True when a voice started in it. */
static bool hear_frame(struct listener *l, const int16_t *frame)
{
    uint8_t data[VOICE_PACKET_BYTES_MAX];
    size_t samples = 0;
    const struct bytes_view packet =
        bytes_view_of(data, voice_encoder_encode(l->encoder, frame, data));
    const enum voice_packet_voice voice =
        l->codec == VOICE_CODEC_OPUS ? voice_packet_voice(packet) : VOICE_PACKET_VOICE_UNKNOWN;
    (void)voice_decoder_decode(l->decoder, packet, l->heard, &samples, l->time_us);
    speech_detector_hear(&l->detector, l->heard, samples, voice, l->time_us);
    l->time_us += FRAME_US;
    struct speech_event event;
    bool is_started = false;
    while (speech_detector_poll(&l->detector, &event)) {
        is_started |= event.is_started;
    }
    return is_started;
}

/* A room, the word, and half a second of the room. */
static int16_t *make_scene(struct listener *l, struct pcm_view word, size_t *out_samples)
{
    const size_t first = ROOM_SAMPLES + random_generator_next(&l->random) % RATE_HZ;
    const size_t samples = (first + word.count + RATE_HZ / 2) / FRAME * FRAME;
    int16_t *pcm = calloc(samples, sizeof(*pcm));
    assert_non_null(pcm);
    speech_like_noise(&l->random, l->room_dbov, pcm, samples);
    for (size_t i = 0; i < word.count; i++) {
        pcm[first + i] = (int16_t)(pcm[first + i] + word.samples[i]);
    }
    *out_samples = samples;
    return pcm;
}

/* Goal L7: the first 10 ms louder than the room by 15 dB; `samples` when there are none. */
static size_t onset_of(const struct listener *l, const int16_t *pcm, size_t samples)
{
    size_t at = 0;
    while (at + STEP <= samples && step_dbov(pcm + at) <= l->room_dbov + 15) {
        at += STEP;
    }
    return at;
}

static void hear_word(struct listener *l, struct pcm_view word, struct figures *f)
{
    size_t samples = 0;
    int16_t *pcm = make_scene(l, word, &samples);
    size_t told_at = 0;
    for (size_t at = 0; at < samples; at += FRAME) {
        if (hear_frame(l, pcm + at) && told_at == 0) {
            told_at = at + FRAME;
        }
        if (l->codec != VOICE_CODEC_OPUS) {
            memcpy(pcm + at, l->heard, FRAME * sizeof(*pcm));
        }
    }
    const size_t onset = onset_of(l, pcm, samples);
    free(pcm);
    if (told_at == 0) {
        f->missed++;
    } else if (told_at < onset) {
        f->early++;
    } else {
        const uint64_t late_us = (told_at - onset) * US_PER_S / RATE_HZ;
        f->heard++;
        f->sum_us += late_us;
        f->worst_us = late_us > f->worst_us ? late_us : f->worst_us;
    }
}

static struct figures hear_words(enum voice_codec codec, double room_dbov)
{
    struct figures f = {0};
    struct listener l = {.codec = codec,
                         .room_dbov = room_dbov,
                         .encoder = voice_encoder_create(codec, RATE_HZ),
                         .decoder = voice_decoder_create(codec, RATE_HZ)};
    assert_true(l.encoder != NULL && l.decoder != NULL);
    random_generator_init(&l.random, 3);
    speech_detector_init(&l.detector, RATE_HZ);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct pcm_view at_16k = {0};
        struct fault fault = {0};
        assert_true(speech_synthesize(words[i], 16000, &at_16k, &fault));
        hear_word(&l, at_16k, &f);
        speech_free(&at_16k);
    }
    voice_encoder_destroy(l.encoder);
    voice_decoder_destroy(l.decoder);
    print_message("codec %d, room of %.0f dBov: %zu heard, mean %zu ms, worst %zu ms, %zu missed, "
                  "%zu early\n",
                  codec, room_dbov, f.heard,
                  (size_t)(f.sum_us / (f.heard == 0 ? 1 : f.heard) / 1000),
                  (size_t)(f.worst_us / 1000), f.missed, f.early);
    return f;
}

static const double rooms_dbov[] = {-65, -58, -50};

static void a_word_through_opus_is_told_within_60_ms_of_its_onset(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rooms_dbov); i++) {
        const struct figures f = hear_words(VOICE_CODEC_OPUS, rooms_dbov[i]);
        assert_in_range(f.heard, COUNT_OF(words) - 1, COUNT_OF(words));
        assert_in_range(f.worst_us, 0, 60 * US_PER_MS);
    }
}

/* Of what G.711 lets through: without the band above 4 kHz "six" and "stop" begin later. */
static void a_word_through_g711_is_told_within_60_ms_of_its_onset(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rooms_dbov); i++) {
        const struct figures f = hear_words(VOICE_CODEC_PCMU, rooms_dbov[i]);
        assert_in_range(f.heard, COUNT_OF(words) - 1, COUNT_OF(words));
        assert_in_range(f.worst_us, 0, 60 * US_PER_MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_through_opus_is_told_within_60_ms_of_its_onset),
        cmocka_unit_test(a_word_through_g711_is_told_within_60_ms_of_its_onset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
