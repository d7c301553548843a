/* g711_gap_test.c - a gap is the voice of before, fading, and nobody hears its edges */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/g711_gap.h"
#include "tests/speech_like.h"

#include <stdlib.h>

#define RATE_HZ 8000
#define FRAME   160

/* One frame of a tone; first = samples that went before. */
static void fill_tone(int16_t *pcm, double hz, size_t first, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
        const double t = (double)(first + i) / RATE_HZ;
        pcm[i] = (int16_t)lround(8000 * sin(2 * M_PI * hz * t));
    }
}

/* Ten frames of the tone are heard; the number of samples is returned. */
static size_t hear_tone(struct g711_gap *g, double hz)
{
    int16_t pcm[FRAME];
    g711_gap_init(g);
    for (size_t n = 0; n < 10; n++) {
        fill_tone(pcm, hz, n * FRAME, FRAME);
        g711_gap_hear(g, pcm, FRAME);
    }
    return (size_t)10 * FRAME;
}

static const double tones_hz[] = {70, 100, 160, 200, 320, 400, 1000};

static void the_first_10_ms_of_a_gap_go_on_as_the_voice_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tones_hz); i++) {
        struct g711_gap g;
        int16_t filled[FRAME / 2];
        int16_t expected[FRAME / 2];
        const size_t first = hear_tone(&g, tones_hz[i]);
        g711_gap_fill(&g, filled, COUNT_OF(filled));
        fill_tone(expected, tones_hz[i], first, COUNT_OF(expected));
        for (size_t n = 0; n < COUNT_OF(filled); n++) {
            if (abs(filled[n] - expected[n]) > 1600) {
                fail_msg("%g Hz, sample %zu: %d, not %d", tones_hz[i], n, filled[n], expected[n]);
            }
        }
    }
}

static int loudest(const int16_t *pcm, size_t samples)
{
    int max = 0;
    for (size_t i = 0; i < samples; i++) {
        max = abs(pcm[i]) > max ? abs(pcm[i]) : max;
    }
    return max;
}

static void a_gap_fades_from_10_ms_on_and_is_silent_from_60_ms_on(void **state)
{
    (void)state;
    struct g711_gap g;
    int16_t pcm[800];
    (void)hear_tone(&g, 200);
    g711_gap_fill(&g, pcm, COUNT_OF(pcm));
    assert_in_range(loudest(pcm, 80), 7800, 8400);
    assert_in_range(loudest(pcm + 260, 40), 3800, 4600); /* the middle of the fade */
    assert_true(loudest(pcm + 440, 40) > 0);
    assert_int_equal(loudest(pcm + 480, 320), 0);
}

static void a_gap_in_pieces_is_the_gap_in_one(void **state)
{
    (void)state;
    struct g711_gap g;
    int16_t whole[480];
    int16_t pieces[480];
    (void)hear_tone(&g, 160);
    g711_gap_fill(&g, whole, COUNT_OF(whole));
    (void)hear_tone(&g, 160);
    for (size_t at = 0; at < COUNT_OF(pieces); at += 20) {
        g711_gap_fill(&g, pieces + at, 20);
    }
    assert_memory_equal(whole, pieces, sizeof(whole));
}

/* The largest second difference: a click. */
static int sharpest(const int16_t *pcm, size_t samples)
{
    int max = 0;
    for (size_t i = 2; i < samples; i++) {
        const int bend = abs(pcm[i] - 2 * pcm[i - 1] + pcm[i - 2]);
        max = bend > max ? bend : max;
    }
    return max;
}

/* Of a voice each third frame is lost. The clicks of zeros in the gaps are the measure. */
static void a_gap_has_no_edges(void **state)
{
    (void)state;
    enum { FRAMES = 300 };
    static int16_t sound[FRAMES * FRAME];
    static int16_t zeros[FRAMES * FRAME];
    struct random_generator random;
    struct g711_gap g;
    random_generator_init(&random, 7);
    speech_like_voice(&random, -14, RATE_HZ, 0, sound, COUNT_OF(sound));
    memcpy(zeros, sound, sizeof(zeros));
    const int natural = sharpest(sound, COUNT_OF(sound));
    g711_gap_init(&g);
    for (size_t n = 0; n < FRAMES; n++) {
        int16_t *frame = sound + n * FRAME;
        if (n % 3 == 2) {
            memset(zeros + n * FRAME, 0, FRAME * sizeof(*zeros));
            g711_gap_fill(&g, frame, FRAME);
        } else {
            g711_gap_hear(&g, frame, FRAME);
        }
    }
    assert_true(sharpest(sound, COUNT_OF(sound)) < natural * 3 / 2);
    assert_true(sharpest(zeros, COUNT_OF(zeros)) > natural * 2);
}

static void a_gap_at_the_very_beginning_is_silence(void **state)
{
    (void)state;
    struct g711_gap g;
    int16_t pcm[FRAME];
    g711_gap_init(&g);
    g711_gap_fill(&g, pcm, FRAME);
    assert_int_equal(loudest(pcm, FRAME), 0);
    fill_tone(pcm, 200, 0, FRAME);
    g711_gap_hear(&g, pcm, FRAME);
    assert_true(loudest(pcm, FRAME) > 7800);
}

static void without_a_gap_nothing_is_changed(void **state)
{
    (void)state;
    struct g711_gap g;
    int16_t pcm[FRAME];
    int16_t copy[FRAME];
    g711_gap_init(&g);
    for (size_t n = 0; n < 20; n++) {
        fill_tone(pcm, 333, n * FRAME, FRAME);
        memcpy(copy, pcm, sizeof(copy));
        g711_gap_hear(&g, pcm, FRAME);
        assert_memory_equal(pcm, copy, sizeof(copy));
    }
}

/* Full scale in both directions, as no voice is. */
static void nothing_runs_over_at_full_scale(void **state)
{
    (void)state;
    struct g711_gap g;
    int16_t pcm[FRAME];
    g711_gap_init(&g);
    for (size_t n = 0; n < 40; n++) {
        for (size_t i = 0; i < FRAME; i++) {
            pcm[i] = (i * 7 + n) % 5 < 2 ? INT16_MAX : INT16_MIN;
        }
        if (n % 2 == 1) {
            g711_gap_fill(&g, pcm, FRAME);
        } else {
            g711_gap_hear(&g, pcm, FRAME);
        }
    }
    assert_true(loudest(pcm, FRAME) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_10_ms_of_a_gap_go_on_as_the_voice_did),
        cmocka_unit_test(a_gap_fades_from_10_ms_on_and_is_silent_from_60_ms_on),
        cmocka_unit_test(a_gap_in_pieces_is_the_gap_in_one),
        cmocka_unit_test(a_gap_has_no_edges),
        cmocka_unit_test(a_gap_at_the_very_beginning_is_silence),
        cmocka_unit_test(without_a_gap_nothing_is_changed),
        cmocka_unit_test(nothing_runs_over_at_full_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
