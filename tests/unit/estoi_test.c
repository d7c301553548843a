/* estoi_test.c - damage scores as it does by the published method's own program */
#include "tests/testing.h"

#include "tests/speech_like.h"
#include "tests/support/estoi.h"

#define SAMPLES (6 * ESTOI_RATE_HZ)
#define FRAME   320

static int16_t reference[SAMPLES];
static int16_t damaged[SAMPLES];

/* Six seconds: bursts of a voice whose pitch and level wander, with pauses between. */
static int make_reference(void **state)
{
    (void)state;
    struct random_generator g;
    random_generator_init(&g, 11);
    for (size_t begin = 0; begin < SAMPLES; begin += SAMPLES / 6) {
        const uint32_t rate_hz = ESTOI_RATE_HZ - 3000 + (uint32_t)(begin % 7) * 1000;
        speech_like_voice(&g, -20, rate_hz, begin, reference + begin, SAMPLES / 6 - 2000);
        speech_like_noise(&g, -65, reference + begin + SAMPLES / 6 - 2000, 2000);
    }
    return 0;
}

enum damage { DAMAGE_NONE, DAMAGE_ZEROS, DAMAGE_NOISE, DAMAGE_SHIFT };

static void damage(enum damage how)
{
    struct random_generator g;
    random_generator_init(&g, 12);
    memcpy(damaged, reference, sizeof(damaged));
    for (size_t i = 0; i < SAMPLES && how == DAMAGE_ZEROS; i += FRAME) {
        if (random_generator_next(&g) % 10 == 0) {
            memset(damaged + i, 0, FRAME * sizeof(*damaged));
        }
    }
    if (how == DAMAGE_NOISE) {
        speech_like_noise(&g, -30, damaged, SAMPLES);
        for (size_t i = 0; i < SAMPLES; i++) {
            damaged[i] = (int16_t)(damaged[i] + reference[i]);
        }
    }
    if (how == DAMAGE_SHIFT) { /* a frame was lost, and the gap closed up */
        memmove(damaged + SAMPLES / 2, damaged + SAMPLES / 2 + FRAME,
                (SAMPLES / 2 - FRAME) * sizeof(*damaged));
    }
}

static void damage_scores_as_it_does_in_python(void **state)
{
    (void)state;
    static const struct {
        enum damage how;
        double score;
    } c[] = {{DAMAGE_NONE, 1}, {DAMAGE_ZEROS, .7760}, {DAMAGE_NOISE, .3591}, {DAMAGE_SHIFT, .7081}};
    struct estoi *e = estoi_create(reference, SAMPLES);
    assert_non_null(e);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        damage(c[i].how);
        assert_true(fabs(estoi_score(e, damaged) - c[i].score) < .001);
    }
    estoi_destroy(e);
}

static void too_little_sound_has_no_score(void **state)
{
    (void)state;
    assert_null(estoi_create(reference, 0));
    const size_t thirty_frames = 6349; /* 256 + 29 x 128 at 10 kHz */
    assert_null(estoi_create(reference, thirty_frames - 1));
    struct estoi *e = estoi_create(reference, thirty_frames);
    assert_non_null(e);
    assert_true(fabs(estoi_score(e, reference) - 1) < 1e-9);
    estoi_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_scores_as_it_does_in_python),
        cmocka_unit_test(too_little_sound_has_no_score),
    };
    return cmocka_run_group_tests(tests, make_reference, NULL);
}
