/* slot_clock_test.c - an absolute grid: spread, early by a slot at most, late without a burst */
#include "tests/testing.h"

#include "services/transceiver/core/media/slot_clock.h"

#define BEGIN_US (9 * US_PER_S + 250000)
#define SLOT_US  SLOT_CLOCK_SLOT_US

/* On the grid of number 3: phase 6 ms. */
static struct slot_clock started(void)
{
    struct slot_clock c;
    slot_clock_init(&c);
    slot_clock_start(&c, 3, BEGIN_US);
    return c;
}

static struct slot take(struct slot_clock *c, uint64_t now_us)
{
    struct slot slot;
    assert_true(slot_clock_take(c, &slot, now_us));
    slot_clock_advance(c, SLOT_US);
    return slot;
}

static void nothing_is_due_before_the_start(void **state)
{
    (void)state;
    struct slot_clock c;
    struct slot slot;
    slot_clock_init(&c);
    slot_clock_hasten(&c, BEGIN_US);
    assert_true(slot_clock_next_timeout(&c) == TIME_NEVER);
    assert_false(slot_clock_take(&c, &slot, BEGIN_US));
}

static void ten_numbers_are_ten_phases_of_two_milliseconds(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 3 * SLOT_CLOCK_PHASES; number++) {
        struct slot_clock c;
        const uint64_t begin_us = BEGIN_US + number * UINT64_C(3777);
        slot_clock_init(&c);
        slot_clock_start(&c, number, begin_us);
        const uint64_t first_us = slot_clock_next_timeout(&c);
        assert_in_range(first_us, begin_us, begin_us + SLOT_US - 1);
        assert_int_equal(first_us % SLOT_US, number % SLOT_CLOCK_PHASES * 2000);
    }
}

static void a_slot_is_due_at_its_time_and_not_before(void **state)
{
    (void)state;
    struct slot_clock c = started();
    struct slot slot;
    const uint64_t first_us = slot_clock_next_timeout(&c);
    for (uint64_t n = 0; n < 50; n++) {
        assert_true(slot_clock_next_timeout(&c) == first_us + n * SLOT_US);
        assert_false(slot_clock_take(&c, &slot, first_us + n * SLOT_US - 1));
        /* However late it is served, within a slot: the grid does not move. */
        slot = take(&c, first_us + n * SLOT_US + n * 399);
        assert_true(slot.grid_us == first_us + n * SLOT_US);
        assert_int_equal(slot.skipped, 0);
    }
}

static void two_at_most_go_back_to_back_and_the_others_are_left_out(void **state)
{
    (void)state;
    static const struct {
        uint64_t late_us;
        uint64_t taken;
        uint64_t skipped;
    } t[] = {
        {0, 1, 0},     {19999, 1, 0}, {20000, 2, 0},    {39999, 2, 0},           {40000, 2, 1},
        {59999, 2, 1}, {60000, 2, 2}, {1000000, 2, 49}, {3600000000, 2, 179999},
    };
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        struct slot_clock c = started();
        const uint64_t due_us = slot_clock_next_timeout(&c);
        uint64_t taken = 0;
        uint64_t skipped = 0;
        while (slot_clock_next_timeout(&c) <= due_us + t[i].late_us) {
            const struct slot slot = take(&c, due_us + t[i].late_us);
            skipped += slot.skipped;
            assert_true(slot.grid_us == due_us + (skipped + taken) * SLOT_US);
            taken++;
        }
        assert_int_equal(taken, t[i].taken);
        assert_int_equal(skipped, t[i].skipped);
        assert_int_equal(slot_clock_next_timeout(&c) % SLOT_US, due_us % SLOT_US);
    }
}

static void what_hastens_comes_now_and_never_more_than_a_slot_before_the_grid(void **state)
{
    (void)state;
    for (uint64_t before_us = 0; before_us <= SLOT_US; before_us += 500) {
        struct slot_clock c = started();
        const uint64_t grid_us = slot_clock_next_timeout(&c) + SLOT_US;
        (void)take(&c, grid_us - SLOT_US);
        slot_clock_hasten(&c, grid_us - before_us);
        assert_true(slot_clock_next_timeout(&c) == grid_us - before_us);
        /* It keeps its place on the grid; those behind it come as early. */
        assert_true(take(&c, grid_us - before_us).grid_us == grid_us);
        assert_true(slot_clock_next_timeout(&c) == grid_us - before_us + SLOT_US);
        slot_clock_hasten(&c, grid_us - before_us);
        assert_true(slot_clock_next_timeout(&c) == grid_us);
    }
}

static void silence_gives_the_time_back(void **state)
{
    (void)state;
    struct slot_clock c = started();
    const uint64_t grid_us = slot_clock_next_timeout(&c);
    for (uint64_t n = 0; n < 100; n++) {
        slot_clock_hasten(&c, slot_clock_next_timeout(&c) - n * 173 % SLOT_US);
        (void)take(&c, slot_clock_next_timeout(&c));
        (void)take(&c, slot_clock_next_timeout(&c));
        slot_clock_settle(&c);
        assert_true(slot_clock_next_timeout(&c) == grid_us + 2 * (n + 1) * SLOT_US);
    }
}

static void a_slot_may_have_its_own_length(void **state)
{
    (void)state;
    struct slot_clock c = started();
    struct slot slot;
    const uint64_t first_us = slot_clock_next_timeout(&c);
    static const uint64_t duration_us[] = {2500, 60000, 120000, 20000};
    uint64_t due_us = first_us;
    for (size_t i = 0; i < COUNT_OF(duration_us); i++) {
        assert_true(slot_clock_next_timeout(&c) == due_us);
        assert_true(slot_clock_take(&c, &slot, due_us));
        slot_clock_advance(&c, duration_us[i]);
        due_us += duration_us[i];
    }
    assert_true(slot_clock_next_timeout(&c) == due_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_due_before_the_start),
        cmocka_unit_test(ten_numbers_are_ten_phases_of_two_milliseconds),
        cmocka_unit_test(a_slot_is_due_at_its_time_and_not_before),
        cmocka_unit_test(two_at_most_go_back_to_back_and_the_others_are_left_out),
        cmocka_unit_test(what_hastens_comes_now_and_never_more_than_a_slot_before_the_grid),
        cmocka_unit_test(silence_gives_the_time_back),
        cmocka_unit_test(a_slot_may_have_its_own_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
