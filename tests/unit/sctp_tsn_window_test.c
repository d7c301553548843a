/* sctp_tsn_window_test.c - which TSNs have come, over the wrap too */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_tsn_window.h"

/* Each case once in the middle of the numbers and once over their end (RFC 9260 s.1.6). */
static const uint32_t first_tsn[] = {1, 1000000, UINT32_MAX - 9, UINT32_MAX, 0};

static void add(struct sctp_tsn_window *w, uint32_t tsn)
{
    assert_int_equal(sctp_tsn_window_judge(w, tsn), SCTP_TSN_NEW);
    sctp_tsn_window_add(w, tsn);
}

static void the_cumulative_tsn_moves_when_a_gap_is_filled(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(first_tsn); i++) {
        struct sctp_tsn_window w;
        const uint32_t first = first_tsn[i];
        sctp_tsn_window_init(&w, first);
        assert_int_equal(w.cumulative_tsn, first - 1);
        add(&w, first + 1);
        add(&w, first + 3);
        assert_int_equal(w.cumulative_tsn, first - 1);
        assert_int_equal(w.highest_tsn, first + 3);
        add(&w, first);
        assert_int_equal(w.cumulative_tsn, first + 1);
        add(&w, first + 2);
        assert_int_equal(w.cumulative_tsn, first + 3);
        assert_int_equal(w.highest_tsn, first + 3);
    }
}

static void what_has_come_is_a_duplicate(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(first_tsn); i++) {
        struct sctp_tsn_window w;
        const uint32_t first = first_tsn[i];
        sctp_tsn_window_init(&w, first);
        assert_int_equal(sctp_tsn_window_judge(&w, first - 1), SCTP_TSN_DUPLICATE);
        add(&w, first);
        assert_int_equal(sctp_tsn_window_judge(&w, first), SCTP_TSN_DUPLICATE);
        add(&w, first + 2);
        assert_int_equal(sctp_tsn_window_judge(&w, first + 2), SCTP_TSN_DUPLICATE);
        assert_int_equal(sctp_tsn_window_judge(&w, first + 1), SCTP_TSN_NEW);
        assert_int_equal(w.duplicate_count, 3);
        assert_int_equal(w.duplicate[2], first + 2);
    }
}

static void of_many_duplicates_the_first_are_noted(void **state)
{
    (void)state;
    struct sctp_tsn_window w;
    sctp_tsn_window_init(&w, 100);
    for (uint32_t i = 0; i < SCTP_DUPLICATES_MAX + 5; i++) {
        (void)sctp_tsn_window_judge(&w, 99 - i);
    }
    assert_int_equal(w.duplicate_count, SCTP_DUPLICATES_MAX);
    assert_int_equal(w.duplicate[SCTP_DUPLICATES_MAX - 1], 99 - SCTP_DUPLICATES_MAX + 1);
}

static void the_window_is_1024_wide(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(first_tsn); i++) {
        struct sctp_tsn_window w;
        const uint32_t cumulative = first_tsn[i] - 1;
        sctp_tsn_window_init(&w, first_tsn[i]);
        assert_int_equal(sctp_tsn_window_judge(&w, cumulative + SCTP_TSN_WINDOW + 1),
                         SCTP_TSN_BEYOND);
        add(&w, cumulative + SCTP_TSN_WINDOW);
        add(&w, cumulative + 2);
        assert_int_equal(sctp_tsn_window_judge(&w, cumulative + 1 + UINT32_C(0x7ffffff0)),
                         SCTP_TSN_BEYOND);
        for (uint32_t tsn = 1; tsn < SCTP_TSN_WINDOW; tsn++) {
            if (tsn != 2) {
                add(&w, cumulative + tsn);
            }
        }
        assert_int_equal(w.cumulative_tsn, cumulative + SCTP_TSN_WINDOW);
    }
}

static void gaps_are_what_a_sack_tells(void **state)
{
    (void)state;
    static const uint32_t has_come[] = {2, 3, 5, 64, 65, 66, 1024};
    static const struct sctp_gap expected[] = {{2, 3}, {5, 5}, {64, 66}, {1024, 1024}};
    for (size_t i = 0; i < COUNT_OF(first_tsn); i++) {
        struct sctp_tsn_window w;
        struct sctp_gap gap[8];
        sctp_tsn_window_init(&w, first_tsn[i]);
        assert_int_equal(sctp_tsn_window_gaps(&w, gap, 8), 0);
        for (size_t k = 0; k < COUNT_OF(has_come); k++) {
            add(&w, first_tsn[i] - 1 + has_come[k]);
        }
        assert_int_equal(sctp_tsn_window_gaps(&w, gap, 8), COUNT_OF(expected));
        assert_memory_equal(gap, expected, sizeof(expected));
        assert_int_equal(sctp_tsn_window_gaps(&w, gap, 2), 2);
    }
}

/* RFC 3758 s.3.6. */
static void forward_moves_over_gaps_and_what_has_come_behind_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(first_tsn); i++) {
        struct sctp_tsn_window w;
        const uint32_t cumulative = first_tsn[i] - 1;
        sctp_tsn_window_init(&w, first_tsn[i]);
        add(&w, cumulative + 2);
        add(&w, cumulative + 5);
        add(&w, cumulative + 6);
        sctp_tsn_window_forward(&w, cumulative);
        sctp_tsn_window_forward(&w, cumulative - 7);
        assert_int_equal(w.cumulative_tsn, cumulative);
        sctp_tsn_window_forward(&w, cumulative + 3);
        assert_int_equal(w.cumulative_tsn, cumulative + 3);
        sctp_tsn_window_forward(&w, cumulative + 4);
        assert_int_equal(w.cumulative_tsn, cumulative + 6);
        assert_int_equal(w.highest_tsn, cumulative + 6);
        add(&w, cumulative + 6 + SCTP_TSN_WINDOW); /* no bit is left over */
    }
}

static void forward_beyond_the_window_leaves_nothing_of_it(void **state)
{
    (void)state;
    static const uint32_t ahead[] = {SCTP_TSN_WINDOW, SCTP_TSN_WINDOW + 1, 2 * SCTP_TSN_WINDOW,
                                     1000000, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(first_tsn) * COUNT_OF(ahead); i++) {
        struct sctp_tsn_window w;
        const uint32_t first = first_tsn[i % COUNT_OF(first_tsn)];
        const uint32_t tsn = first - 1 + ahead[i / COUNT_OF(first_tsn)];
        sctp_tsn_window_init(&w, first);
        for (uint32_t k = 1; k < SCTP_TSN_WINDOW - 1; k++) {
            add(&w, first + k);
        }
        sctp_tsn_window_forward(&w, tsn);
        assert_int_equal(w.cumulative_tsn, tsn);
        assert_int_equal(w.highest_tsn, tsn);
        assert_int_equal(sctp_tsn_window_judge(&w, tsn), SCTP_TSN_DUPLICATE);
        for (uint32_t k = SCTP_TSN_WINDOW; k > 0; k--) {
            assert_int_equal(w.cumulative_tsn, tsn);
            add(&w, tsn + k);
        }
        assert_int_equal(w.cumulative_tsn, tsn + SCTP_TSN_WINDOW);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cumulative_tsn_moves_when_a_gap_is_filled),
        cmocka_unit_test(what_has_come_is_a_duplicate),
        cmocka_unit_test(of_many_duplicates_the_first_are_noted),
        cmocka_unit_test(the_window_is_1024_wide),
        cmocka_unit_test(gaps_are_what_a_sack_tells),
        cmocka_unit_test(forward_moves_over_gaps_and_what_has_come_behind_them),
        cmocka_unit_test(forward_beyond_the_window_leaves_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
