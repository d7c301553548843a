/* resampler_test.c - each piece gives its own length, and a tone stays the tone it is */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/transceiver/core/media/resampler.h"

#include <math.h>
#include <stdlib.h>

#define AMPLITUDE 8000.0
#define SECONDS   1
#define RATE_MAX  48000

static const struct {
    uint32_t from_hz;
    uint32_t to_hz;
} rates[] = {{8000, 8000},  {8000, 16000}, {8000, 24000}, {8000, 48000},
             {16000, 8000}, {24000, 8000}, {48000, 8000}};

/* A tone of one second goes through in pieces of 20 ms. */
static void pass_tone(struct resampler *r, uint32_t from_hz, uint32_t to_hz, double hz,
                      int16_t out[RATE_MAX])
{
    int16_t in[RATE_MAX / 50];
    for (size_t n = 0; n < 50; n++) {
        for (size_t i = 0; i < from_hz / 50; i++) {
            const double t = (double)(n * (from_hz / 50) + i) / from_hz;
            in[i] = (int16_t)lround(AMPLITUDE * sin(2 * M_PI * hz * t));
        }
        const size_t samples = resampler_run(r, in, from_hz / 50, out + n * (to_hz / 50));
        assert_int_equal(samples, to_hz / 50);
    }
}

/* The amplitude of one frequency in the second half of a second. */
static double amplitude_of(const int16_t *pcm, uint32_t rate_hz, double hz)
{
    double in_phase = 0;
    double quadrature = 0;
    for (size_t i = rate_hz / 2; i < rate_hz; i++) {
        const double angle = 2 * M_PI * hz * (double)i / rate_hz;
        in_phase += pcm[i] * cos(angle);
        quadrature += pcm[i] * sin(angle);
    }
    return 2 * sqrt(in_phase * in_phase + quadrature * quadrature) / (rate_hz / 2);
}

static double energy_of(const int16_t *pcm, uint32_t rate_hz)
{
    double sum = 0;
    for (size_t i = rate_hz / 2; i < rate_hz; i++) {
        sum += (double)pcm[i] * pcm[i];
    }
    return sum / (rate_hz / 2);
}

static void a_tone_keeps_its_frequency_and_its_level_and_gets_no_other(void **state)
{
    (void)state;
    static const double tones_hz[] = {200, 1000, 3000};
    for (size_t i = 0; i < COUNT_OF(rates) * COUNT_OF(tones_hz); i++) {
        const uint32_t from_hz = rates[i / COUNT_OF(tones_hz)].from_hz;
        const uint32_t to_hz = rates[i / COUNT_OF(tones_hz)].to_hz;
        const double hz = tones_hz[i % COUNT_OF(tones_hz)];
        static int16_t out[RATE_MAX];
        struct resampler *r = resampler_create(from_hz, to_hz);
        assert_non_null(r);
        pass_tone(r, from_hz, to_hz, hz, out);
        const double amplitude = amplitude_of(out, to_hz, hz);
        const double rest = energy_of(out, to_hz) - amplitude * amplitude / 2;
        if (fabs(20 * log10(amplitude / AMPLITUDE)) > 0.5 ||
            rest > AMPLITUDE * AMPLITUDE / 2 / 10000) {
            fail_msg("%u to %u: %g Hz has %g, the rest an energy of %g", from_hz, to_hz, hz,
                     amplitude, rest);
        }
        resampler_destroy(r);
    }
}

/* What 8 kHz can not hold must not come back as another tone. */
static void a_tone_above_the_lower_rate_is_gone(void **state)
{
    (void)state;
    static int16_t out[RATE_MAX];
    struct resampler *r = resampler_create(24000, 8000);
    pass_tone(r, 24000, 8000, 5000, out);
    assert_true(energy_of(out, 8000) < AMPLITUDE * AMPLITUDE / 2 / 1000);
    resampler_destroy(r);
}

static void a_piece_of_any_whole_length_gives_its_own_length(void **state)
{
    (void)state;
    static int16_t in[5760];
    static int16_t out[5760];
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        struct resampler *r = resampler_create(rates[i].from_hz, rates[i].to_hz);
        for (size_t units = 1; units <= 48; units++) { /* 2.5 to 120 ms */
            assert_int_equal(resampler_run(r, in, units * rates[i].from_hz / 400, out),
                             units * rates[i].to_hz / 400);
        }
        resampler_destroy(r);
    }
}

static void a_reset_resampler_does_not_remember(void **state)
{
    (void)state;
    static const int16_t zeros[160];
    static int16_t first[RATE_MAX];
    static int16_t second[RATE_MAX];
    struct resampler *r = resampler_create(8000, 24000);
    pass_tone(r, 8000, 24000, 300, first);
    (void)resampler_run(r, zeros, 160, second);
    assert_true(second[0] != 0 || second[1] != 0 || second[2] != 0);
    resampler_reset(r);
    pass_tone(r, 8000, 24000, 300, second);
    assert_memory_equal(first, second, 24000 * sizeof(*first));
    resampler_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tone_keeps_its_frequency_and_its_level_and_gets_no_other),
        cmocka_unit_test(a_tone_above_the_lower_rate_is_gone),
        cmocka_unit_test(a_piece_of_any_whole_length_gives_its_own_length),
        cmocka_unit_test(a_reset_resampler_does_not_remember),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
