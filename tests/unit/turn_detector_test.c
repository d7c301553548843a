/* turn_detector_test.c - turns begin and end where a session's parameters say */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/sound/turn_detector.h"

#include <math.h>

#define RATE_HZ 16000
#define STEP    (RATE_HZ / 1000 * VOICE_STEP_MS)

static const struct turn_rule usual = {.is_on = true, .threshold = 0.5, .silence_ms = 500};

/* The last change, counted from the detector's first step. */
struct heard {
    struct turn_detector detector;
    size_t began;
    size_t over;
    uint64_t changed_ms;
};

static struct heard listen(const struct turn_rule *rule)
{
    struct heard h = {0};
    turn_detector_init(&h.detector);
    turn_detector_tune(&h.detector, rule);
    return h;
}

static void note(struct heard *h, enum turn_change change)
{
    h->began += change == TURN_BEGAN;
    h->over += change == TURN_OVER;
    if (change != TURN_UNCHANGED) {
        h->changed_ms = h->detector.heard_ms;
    }
}

/* A square wave, whose level is its amplitude's. */
static void hear(struct heard *h, double level_dbov, size_t ms)
{
    const int16_t amplitude = (int16_t)lround(32768 * pow(10, level_dbov / 20));
    for (size_t step = 0; step < ms / VOICE_STEP_MS; step++) {
        int16_t samples[STEP];
        for (size_t i = 0; i < STEP; i++) {
            samples[i] = (int16_t)(i % 32 < 16 ? amplitude : -amplitude);
        }
        note(h, turn_detector_step(&h->detector, (struct pcm_view){samples, STEP}));
    }
}

static void a_turn_begins_within_40_ms_and_ends_after_the_silence_asked_for(void **state)
{
    (void)state;
    static const uint32_t silence_ms[] = {100, 200, 500, 1200};
    for (size_t i = 0; i < COUNT_OF(silence_ms); i++) {
        struct turn_rule rule = usual;
        rule.silence_ms = silence_ms[i];
        struct heard h = listen(&rule);
        hear(&h, -60, 1000);
        hear(&h, -20, 2100);
        assert_int_equal(h.began, 1);
        assert_in_range(h.changed_ms, 1010, 1040);
        assert_int_equal(h.detector.speech.begin_ms, 1000);
        hear(&h, -60, silence_ms[i] - VOICE_STEP_MS);
        assert_int_equal(h.over, 0);
        hear(&h, -60, VOICE_STEP_MS);
        assert_int_equal(h.over, 1);
        assert_int_equal(h.changed_ms, 3100 + silence_ms[i]);
        assert_int_equal(turn_detector_speech_ms(&h.detector), 2100);
        assert_int_equal(turn_detector_level_dbov(&h.detector), -20);
    }
}

static void a_higher_threshold_hears_only_louder_speech(void **state)
{
    (void)state;
    static const struct {
        double threshold;
        double level_dbov; /* in a room of -60 */
        size_t began;
    } row[] = {{0, -53, 1}, {0, -55, 0}, {0.5, -47, 1}, {0.5, -49, 0}, {1, -41, 1}, {1, -43, 0}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct turn_rule rule = usual;
        rule.threshold = row[i].threshold;
        struct heard h = listen(&rule);
        hear(&h, -60, 2000);
        hear(&h, row[i].level_dbov, 200);
        assert_int_equal(h.began, row[i].began);
    }
}

static void switched_off_it_finds_no_turn_and_still_measures(void **state)
{
    (void)state;
    struct turn_rule rule = usual;
    rule.is_on = false;
    struct heard h = listen(&rule);
    hear(&h, -60, 1000);
    hear(&h, -30, 700);
    hear(&h, -60, 1000);
    assert_int_equal(h.began + h.over, 0);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 700);
    assert_int_equal(turn_detector_level_dbov(&h.detector), -30);
    turn_detector_forget(&h.detector);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 700); /* the turn that was committed */
    hear(&h, -25, 300);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 300);
}

static void switched_off_in_a_turn_it_ends_without_a_word(void **state)
{
    (void)state;
    struct turn_rule off = usual;
    off.is_on = false;
    struct heard h = listen(&usual);
    hear(&h, -60, 1000);
    hear(&h, -20, 300);
    turn_detector_tune(&h.detector, &off);
    hear(&h, -60, 2000);
    turn_detector_tune(&h.detector, &usual);
    assert_int_equal(h.over, 0);
    hear(&h, -20, 300);
    assert_int_equal(h.began, 2);
}

static void the_same_rule_said_again_changes_nothing(void **state)
{
    (void)state;
    struct heard h = listen(&usual);
    hear(&h, -60, 1000);
    hear(&h, -20, 300);
    turn_detector_tune(&h.detector, &usual);
    hear(&h, -20, 300);
    hear(&h, -60, 500);
    assert_int_equal(h.began, 1);
    assert_int_equal(h.over, 1);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 600);
}

static void a_line_that_falls_silent_ends_a_turn(void **state)
{
    (void)state;
    struct heard h = listen(&usual);
    note(&h, turn_detector_finish(&h.detector));
    assert_int_equal(h.over, 0);
    hear(&h, -60, 1000);
    hear(&h, -20, 300);
    note(&h, turn_detector_finish(&h.detector));
    assert_int_equal(h.over, 1);
    hear(&h, -20, 300);
    assert_int_equal(h.began, 2);
}

static void clicks_of_long_ago_are_no_part_of_a_turn(void **state)
{
    (void)state;
    struct heard h = listen(&usual);
    hear(&h, -60, 1000);
    hear(&h, -20, 10);
    hear(&h, -60, 1000);
    hear(&h, -20, 300);
    hear(&h, -60, 500);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 300);
}

static void nothing_heard_is_no_speech(void **state)
{
    (void)state;
    struct heard h = listen(&usual);
    assert_int_equal(turn_detector_speech_ms(&h.detector), 0);
    assert_int_equal(turn_detector_level_dbov(&h.detector), -127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_begins_within_40_ms_and_ends_after_the_silence_asked_for),
        cmocka_unit_test(a_higher_threshold_hears_only_louder_speech),
        cmocka_unit_test(switched_off_it_finds_no_turn_and_still_measures),
        cmocka_unit_test(switched_off_in_a_turn_it_ends_without_a_word),
        cmocka_unit_test(the_same_rule_said_again_changes_nothing),
        cmocka_unit_test(a_line_that_falls_silent_ends_a_turn),
        cmocka_unit_test(clicks_of_long_ago_are_no_part_of_a_turn),
        cmocka_unit_test(nothing_heard_is_no_speech),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
