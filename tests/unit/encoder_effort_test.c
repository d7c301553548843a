/* encoder_effort_test.c - complexity falls at once under load and rises after five calm seconds */
#include "tests/testing.h"

#include "services/transceiver/core/media/encoder_effort.h"

#define BEGIN_US (100 * US_PER_S)

static void load_takes_one_step_a_measurement(void **state)
{
    (void)state;
    static const struct {
        unsigned max;
        unsigned min;
        unsigned then[4];
    } t[] = {
        {9, 1, {5, 1, 1, 1}}, {5, 1, {1, 1, 1, 1}}, {10, 0, {5, 1, 1, 1}}, {3, 1, {1, 1, 1, 1}},
        {9, 5, {5, 5, 5, 5}}, {9, 9, {9, 9, 9, 9}}, {1, 1, {1, 1, 1, 1}},  {0, 0, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        struct encoder_effort e;
        encoder_effort_init(&e, t[i].max, t[i].min);
        assert_int_equal(e.complexity, t[i].max);
        encoder_effort_note(&e, ENCODER_EFFORT_BUSY - 1, BEGIN_US);
        assert_int_equal(e.complexity, t[i].max);
        uint64_t steps = 0;
        for (size_t k = 0; k < 4; k++) {
            steps += e.complexity != t[i].then[k];
            encoder_effort_note(&e, ENCODER_EFFORT_BUSY, BEGIN_US + k * US_PER_S);
            assert_int_equal(e.complexity, t[i].then[k]);
            assert_int_equal(e.steps_down, steps);
        }
    }
}

static void five_calm_seconds_take_it_up_one_step(void **state)
{
    (void)state;
    struct encoder_effort e;
    encoder_effort_init(&e, 9, 1);
    encoder_effort_note(&e, 1000, BEGIN_US);
    encoder_effort_note(&e, 1000, BEGIN_US);
    assert_int_equal(e.complexity, 1);
    static const unsigned expected[] = {1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 9, 9};
    for (uint64_t second = 0; second < COUNT_OF(expected); second++) {
        encoder_effort_note(&e, ENCODER_EFFORT_CALM - 1, BEGIN_US + second * US_PER_S);
        assert_int_equal(e.complexity, expected[second]);
    }
}

/* Neither load nor calm: a shard stays where it is, and calm must be unbroken. */
static void between_the_bounds_nothing_moves(void **state)
{
    (void)state;
    struct encoder_effort e;
    encoder_effort_init(&e, 5, 1);
    encoder_effort_note(&e, 1000, BEGIN_US);
    for (uint64_t second = 0; second < 60; second++) {
        const uint64_t busy = second % 5 == 4 ? ENCODER_EFFORT_CALM : ENCODER_EFFORT_CALM - 1;
        encoder_effort_note(&e, busy, BEGIN_US + second * US_PER_S);
        assert_int_equal(e.complexity, 1);
    }
    assert_int_equal(e.steps_down, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_takes_one_step_a_measurement),
        cmocka_unit_test(five_calm_seconds_take_it_up_one_step),
        cmocka_unit_test(between_the_bounds_nothing_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
