/* step_cutter_test.c - pieces of any length become steps, and no sample is lost or repeated */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/sound/step_cutter.h"

#define RATE_HZ 24000
#define STEP    240

static void every_piece_length_gives_the_same_steps(void **state)
{
    (void)state;
    static int16_t samples[STEP * 7 + 11];
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        samples[i] = (int16_t)i;
    }
    for (size_t piece = 1; piece < COUNT_OF(samples); piece++) {
        struct step_cutter cutter;
        size_t steps = 0;
        step_cutter_init(&cutter, RATE_HZ);
        for (size_t at = 0; at < COUNT_OF(samples); at += piece) {
            const size_t left = COUNT_OF(samples) - at;
            struct pcm_view pcm = {samples + at, piece < left ? piece : left};
            struct pcm_view step;
            while (step_cutter_take(&cutter, &pcm, &step)) {
                assert_int_equal(step.count, STEP);
                assert_memory_equal(step.samples, samples + steps * STEP, STEP * 2);
                steps++;
            }
            assert_int_equal(pcm.count, 0);
        }
        assert_int_equal(steps, 7);
    }
}

static void an_empty_piece_is_no_step(void **state)
{
    (void)state;
    struct step_cutter cutter;
    struct pcm_view pcm = {NULL, 0};
    struct pcm_view step;
    step_cutter_init(&cutter, 16000);
    assert_false(step_cutter_take(&cutter, &pcm, &step));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_length_gives_the_same_steps),
        cmocka_unit_test(an_empty_piece_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
