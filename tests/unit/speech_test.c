/* speech_test.c - words become sound, the same at both rates; a resampled sine stays that sine */
#include "tests/testing.h"

#include "services/inference-stub/sound/pcm_resample.h"
#include "services/inference-stub/sound/speech.h"
#include "services/inference-stub/sound/tone.h"

#include <math.h>

static double root_mean_square(struct pcm_view pcm)
{
    double sum = 0;
    for (size_t i = 0; i < pcm.count; i++) {
        sum += (double)pcm.samples[i] * pcm.samples[i];
    }
    return sqrt(sum / (double)pcm.count);
}

static void a_sentence_sounds_at_both_rates(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct pcm_view at_16k;
    struct pcm_view at_24k;
    assert_true(speech_synthesize("Hello there.", 16000, &at_16k, &fault));
    assert_true(speech_synthesize("Hello there.", 24000, &at_24k, &fault));
    assert_in_range(at_16k.count, 16000 / 2, 16000 * 2);
    assert_int_equal(at_24k.count, at_16k.count * 3 / 2);
    const double level = root_mean_square(at_16k);
    assert_true(level > 1000); /* -30 dBov */
    assert_true(fabs(root_mean_square(at_24k) / level - 1) < 0.05);
    speech_free(&at_16k);
    speech_free(&at_24k);
}

static void a_resampled_sine_is_the_same_sine_in_step(void **state)
{
    (void)state;
    static int16_t at_16k[16000];
    static int16_t at_24k[24000];
    struct tone tone;
    struct pcm_view out;
    tone_init(&tone, 1000, 16000);
    tone_generate(&tone, at_16k, COUNT_OF(at_16k));
    tone_init(&tone, 1000, 24000);
    tone_generate(&tone, at_24k, COUNT_OF(at_24k));
    assert_true(pcm_resample((struct pcm_view){at_16k, COUNT_OF(at_16k)}, 16000, 24000, &out));
    assert_int_equal(out.count, COUNT_OF(at_24k));
    for (size_t i = 480; i < out.count - 480; i++) { /* the filter rings at both ends */
        assert_in_range(out.samples[i] - at_24k[i] + 20, 0, 40);
    }
    speech_free(&out);
}

static void a_piece_of_few_samples_is_resampled_too(void **state)
{
    (void)state;
    const int16_t samples[] = {1000, 1000, 1000, 1000};
    for (size_t count = 1; count <= COUNT_OF(samples); count++) {
        struct pcm_view out;
        assert_true(pcm_resample((struct pcm_view){samples, count}, 16000, 24000, &out));
        assert_int_equal(out.count, count * 3 / 2);
        speech_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_sounds_at_both_rates),
        cmocka_unit_test(a_resampled_sine_is_the_same_sine_in_step),
        cmocka_unit_test(a_piece_of_few_samples_is_resampled_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
