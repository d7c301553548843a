/* reorder_window_test.c - how long a gap is waited for follows how late packets were */
#include "tests/testing.h"

#include "services/transceiver/core/media/reorder_window.h"

#define NOW_US (100 * US_PER_S)

static void one_newer_packet_ends_a_wait_until_reordering_is_seen(void **state)
{
    (void)state;
    struct reorder_window w;
    reorder_window_init(&w);
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US), 1);
    reorder_window_note_reordered(&w, NOW_US - 5000, NOW_US);
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US), 2);
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US + REORDER_WINDOW_MEMORY_US - 1), 2);
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US + REORDER_WINDOW_MEMORY_US), 1);
}

static void the_window_is_a_quarter_more_than_the_lateness_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        uint64_t lateness_us;
        uint64_t window_us;
    } c[] = {{0, 2000},      {1600, 2000},   {1604, 2005},   {8000, 10000},
             {48000, 60000}, {48004, 60000}, {900000, 60000}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct reorder_window w;
        reorder_window_init(&w);
        reorder_window_note_reordered(&w, NOW_US - c[i].lateness_us, NOW_US);
        assert_int_equal(w.window_us, c[i].window_us);
        /* What was less late does not shrink it: only packets do. */
        reorder_window_note_reordered(&w, NOW_US, NOW_US);
        assert_int_equal(w.window_us, c[i].window_us);
        for (int n = 0; n < 100000; n++) {
            reorder_window_decay(&w);
        }
        assert_int_equal(w.window_us, REORDER_WINDOW_US_MIN);
    }
}

static void of_the_last_64_numbers_it_is_known_which_were_given_up(void **state)
{
    (void)state;
    const uint64_t first = 1000;
    struct reorder_window w;
    reorder_window_init(&w);
    reorder_window_give_up(&w, first, NOW_US);
    assert_false(reorder_window_note_passed(&w, first + 1, NOW_US));
    assert_false(reorder_window_note_passed(&w, first + REORDER_WINDOW_SPAN, NOW_US));
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US), 1);
    assert_true(reorder_window_note_passed(&w, first, NOW_US + 8000));
    assert_int_equal(w.window_us, 10000);
    assert_int_equal(reorder_window_newer_needed(&w, NOW_US + 8000), 2);
    assert_false(reorder_window_note_passed(&w, first, NOW_US + 8000)); /* once */

    reorder_window_give_up(&w, first, NOW_US);
    reorder_window_give_up(&w, first + REORDER_WINDOW_SPAN, NOW_US);
    assert_false(reorder_window_note_passed(&w, first, NOW_US));
    reorder_window_forget_numbers(&w);
    assert_false(reorder_window_note_passed(&w, first + REORDER_WINDOW_SPAN, NOW_US));
    assert_int_equal(w.window_us, 10000); /* the network is the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_newer_packet_ends_a_wait_until_reordering_is_seen),
        cmocka_unit_test(the_window_is_a_quarter_more_than_the_lateness_within_its_bounds),
        cmocka_unit_test(of_the_last_64_numbers_it_is_known_which_were_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
