/* tone_test.c - the phase is known at every sample, for ever */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/sound/tone.h"

#include <math.h>

static void every_sample_has_the_phase_its_number_says(void **state)
{
    (void)state;
    static const struct {
        uint32_t frequency_hz;
        uint32_t rate_hz;
    } cases[] = {{1000, 16000}, {1000, 24000}, {20, 24000}, {7999, 16000}, {440, 16000}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tone t;
        tone_init(&t, cases[i].frequency_hz, cases[i].rate_hz);
        for (size_t n = 0; n < 100000;) {
            int16_t piece[331];
            tone_generate(&t, piece, COUNT_OF(piece));
            for (size_t k = 0; k < COUNT_OF(piece); k++, n++) {
                const double want = TONE_AMPLITUDE * sin(2 * M_PI * (double)n *
                                                         cases[i].frequency_hz / cases[i].rate_hz);
                assert_true(fabs(piece[k] - want) < 0.6);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_has_the_phase_its_number_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
