/* voice_activity_test.c - speech is heard within 40 ms, rooms and single clicks are not */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/sound/voice_activity.h"
#include "tests/speech_like.h"

#define RATE_HZ 16000
#define STEP    (RATE_HZ / 1000 * VOICE_STEP_MS)

struct room {
    struct voice_activity voice;
    struct random_generator noise;
    size_t started_ms; /* of the last change, counted from the first step */
    size_t stopped_ms;
    size_t now_ms;
    size_t changes;
};

static struct room open_room(uint64_t seed)
{
    struct room r = {0};
    voice_activity_init(&r.voice);
    random_generator_init(&r.noise, seed);
    return r;
}

static void hear(struct room *r, const int16_t *step)
{
    r->now_ms += VOICE_STEP_MS;
    switch (voice_activity_step(&r->voice, (struct pcm_view){step, STEP})) {
    case VOICE_STARTED:
        r->started_ms = r->now_ms;
        r->changes++;
        break;
    case VOICE_STOPPED:
        r->stopped_ms = r->now_ms;
        r->changes++;
        break;
    case VOICE_UNCHANGED:
        break;
    }
}

static void noise(struct room *r, double level_dbov, size_t ms)
{
    int16_t step[STEP];
    for (size_t i = 0; i < ms / VOICE_STEP_MS; i++) {
        speech_like_noise(&r->noise, level_dbov, step, STEP);
        hear(r, step);
    }
}

static void voice(struct room *r, double level_dbov, size_t ms)
{
    int16_t step[STEP];
    for (size_t i = 0; i < ms / VOICE_STEP_MS; i++) {
        speech_like_voice(&r->noise, level_dbov, RATE_HZ, i * STEP, step, STEP);
        hear(r, step);
    }
}

static void speech_is_heard_within_40_ms_over_rooms_of_many_levels(void **state)
{
    (void)state;
    static const struct {
        double room_dbov;
        double voice_dbov;
    } cases[] = {{-90, -40}, {-70, -30}, {-60, -20}, {-50, -25}, {-40, -15}, {-30, -8}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct room r = open_room(i);
        noise(&r, cases[i].room_dbov, 10000);
        assert_false(r.voice.is_speaking);
        r.changes = 0;
        voice(&r, cases[i].voice_dbov, 1000);
        assert_true(r.voice.is_speaking);
        assert_in_range(r.started_ms, 10030, 10040);
        noise(&r, cases[i].room_dbov, 600);
        assert_int_equal(r.changes, 2);
        assert_in_range(r.stopped_ms, 11000 + VOICE_STOP_MS - 60, 11000 + VOICE_STOP_MS);
    }
}

static void three_loud_steps_of_four_start_and_two_do_not(void **state)
{
    (void)state;
    static const struct {
        const char *steps; /* x loud, . quiet */
        bool starts;
    } cases[] = {
        {"xx..xx..xx..xx..", false},
        {"x.x.x.x.x.x.", false},
        {"xxx", true},
        {"xx.x", true},
        {"x.xx", true},
        {"xx..x", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct room r = open_room(i);
        noise(&r, -60, 1000);
        for (const char *step = cases[i].steps; *step != '\0'; step++) {
            noise(&r, *step == 'x' ? -30 : -60, VOICE_STEP_MS);
        }
        assert_int_equal(r.changes, cases[i].starts);
    }
}

static void a_pause_shorter_than_half_a_second_does_not_end_speech(void **state)
{
    (void)state;
    struct room r = open_room(1);
    noise(&r, -60, 1000);
    voice(&r, -20, 500);
    noise(&r, -60, VOICE_STOP_MS - 80);
    voice(&r, -20, 500);
    assert_int_equal(r.changes, 1);
    noise(&r, -60, VOICE_STOP_MS);
    assert_int_equal(r.changes, 2);
    assert_in_range(r.voice.speech_ms, 700, 1000);
}

static void a_fan_that_is_switched_on_is_forgotten_within_ten_seconds(void **state)
{
    (void)state;
    struct room r = open_room(2);
    noise(&r, -65, 3000);
    noise(&r, -42, 10000);
    assert_false(r.voice.is_speaking);
    voice(&r, -15, 100);
    assert_true(r.voice.is_speaking);
}

static void long_speech_does_not_become_the_floor(void **state)
{
    (void)state;
    struct room r = open_room(3);
    noise(&r, -60, 1000);
    voice(&r, -20, 30000);
    assert_int_equal(r.changes, 1);
    assert_true(r.voice.is_speaking);
}

static void silence_of_the_line_neither_speaks_nor_moves_the_floor(void **state)
{
    (void)state;
    static const int16_t zeros[STEP];
    struct room r = open_room(4);
    noise(&r, -40, 10000);
    const double floor_dbov = r.voice.floor_dbov;
    for (int i = 0; i < 500; i++) {
        hear(&r, zeros);
    }
    assert_true(fabs(r.voice.floor_dbov - floor_dbov) < 1e-9);
    noise(&r, -40, 1000);
    assert_int_equal(r.changes, 0);
}

static void full_scale_samples_of_both_signs_are_only_loud(void **state)
{
    (void)state;
    int16_t step[STEP];
    for (size_t i = 0; i < STEP; i++) {
        step[i] = i % 2 == 0 ? INT16_MIN : INT16_MAX;
    }
    struct room r = open_room(5);
    hear(&r, step);
    hear(&r, step);
    hear(&r, step);
    assert_int_equal(r.changes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speech_is_heard_within_40_ms_over_rooms_of_many_levels),
        cmocka_unit_test(three_loud_steps_of_four_start_and_two_do_not),
        cmocka_unit_test(a_pause_shorter_than_half_a_second_does_not_end_speech),
        cmocka_unit_test(a_fan_that_is_switched_on_is_forgotten_within_ten_seconds),
        cmocka_unit_test(long_speech_does_not_become_the_floor),
        cmocka_unit_test(silence_of_the_line_neither_speaks_nor_moves_the_floor),
        cmocka_unit_test(full_scale_samples_of_both_signs_are_only_loud),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
