/* rtcp_schedule_test.c - the first report is early, then dense for 10 s, then relaxed */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtcp_schedule.h"

#define START_US (7 * US_PER_S)

static void nothing_is_due_before_the_first_packet(void **state)
{
    (void)state;
    struct rtcp_schedule s;
    rtcp_schedule_init(&s, 1);
    assert_true(rtcp_schedule_next_timeout(&s) == TIME_NEVER);
    assert_false(rtcp_schedule_take(&s, 1000 * US_PER_S));
}

static void the_first_report_is_due_500_ms_after_the_first_packet(void **state)
{
    (void)state;
    struct rtcp_schedule s;
    rtcp_schedule_init(&s, 1);
    rtcp_schedule_first_packet(&s, START_US);
    assert_true(rtcp_schedule_next_timeout(&s) == START_US + 500 * US_PER_MS);
    assert_false(rtcp_schedule_take(&s, START_US + 500 * US_PER_MS - 1));
    assert_true(rtcp_schedule_take(&s, START_US + 500 * US_PER_MS));
    assert_false(rtcp_schedule_take(&s, START_US + 500 * US_PER_MS));
}

static void the_first_packet_of_the_other_direction_hastens_the_next_report(void **state)
{
    (void)state;
    struct rtcp_schedule s;
    rtcp_schedule_init(&s, 1);
    rtcp_schedule_first_packet(&s, START_US);
    rtcp_schedule_first_packet(&s, START_US + 100 * US_PER_MS);
    assert_true(rtcp_schedule_next_timeout(&s) == START_US + 500 * US_PER_MS);
    uint64_t now_us = START_US;
    while (now_us < START_US + 30 * US_PER_S) {
        now_us = rtcp_schedule_next_timeout(&s);
        assert_true(rtcp_schedule_take(&s, now_us));
    }
    rtcp_schedule_first_packet(&s, now_us);
    assert_true(rtcp_schedule_next_timeout(&s) == now_us + 500 * US_PER_MS);
}

static void news_hastens_the_next_report_to_250_ms_after_the_one_before(void **state)
{
    (void)state;
    static const struct {
        uint64_t after_us; /* since the report before */
        uint64_t due_us;   /* likewise */
    } c[] = {{0, 250000}, {249999, 250000}, {250000, 250000}, {300000, 300000}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct rtcp_schedule s;
        rtcp_schedule_init(&s, 1);
        rtcp_schedule_first_packet(&s, START_US);
        const uint64_t reported_us = START_US + 500 * US_PER_MS;
        assert_true(rtcp_schedule_take(&s, reported_us));
        rtcp_schedule_hasten(&s, reported_us + c[i].after_us);
        assert_true(rtcp_schedule_next_timeout(&s) == reported_us + c[i].due_us);
        assert_false(rtcp_schedule_take(&s, reported_us + c[i].due_us - 1));
        assert_true(rtcp_schedule_take(&s, reported_us + c[i].due_us));
    }
}

/* The first report is early as it is, and news never makes one later. */
static void news_changes_nothing_before_the_first_report_and_delays_none(void **state)
{
    (void)state;
    struct rtcp_schedule s;
    rtcp_schedule_init(&s, 1);
    rtcp_schedule_hasten(&s, START_US);
    assert_true(rtcp_schedule_next_timeout(&s) == TIME_NEVER);
    rtcp_schedule_first_packet(&s, START_US);
    rtcp_schedule_hasten(&s, START_US + 1);
    assert_true(rtcp_schedule_next_timeout(&s) == START_US + 500 * US_PER_MS);
    assert_true(rtcp_schedule_take(&s, START_US + 500 * US_PER_MS));
    const uint64_t due_us = rtcp_schedule_next_timeout(&s);
    rtcp_schedule_hasten(&s, due_us + 1);
    assert_true(rtcp_schedule_next_timeout(&s) == due_us);
}

static void intervals_fill_their_range_and_never_leave_it(void **state)
{
    (void)state;
    uint64_t dense_min_us = TIME_NEVER;
    uint64_t dense_max_us = 0;
    uint64_t relaxed_min_us = TIME_NEVER;
    uint64_t relaxed_max_us = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct rtcp_schedule s;
        rtcp_schedule_init(&s, seed);
        rtcp_schedule_first_packet(&s, START_US);
        uint64_t now_us = rtcp_schedule_next_timeout(&s);
        while (now_us < START_US + 40 * US_PER_S) {
            assert_true(rtcp_schedule_take(&s, now_us));
            const uint64_t interval_us = rtcp_schedule_next_timeout(&s) - now_us;
            if (now_us < START_US + 10 * US_PER_S) {
                dense_min_us = time_earlier(dense_min_us, interval_us);
                dense_max_us = time_later(dense_max_us, interval_us);
            } else {
                relaxed_min_us = time_earlier(relaxed_min_us, interval_us);
                relaxed_max_us = time_later(relaxed_max_us, interval_us);
            }
            now_us += interval_us;
        }
    }
    assert_in_range(dense_min_us, 500 * US_PER_MS, 510 * US_PER_MS);
    assert_in_range(dense_max_us, 1490 * US_PER_MS, 1500 * US_PER_MS);
    assert_in_range(relaxed_min_us, 2500 * US_PER_MS, 2525 * US_PER_MS);
    assert_in_range(relaxed_max_us, 4975 * US_PER_MS, 5000 * US_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_due_before_the_first_packet),
        cmocka_unit_test(the_first_report_is_due_500_ms_after_the_first_packet),
        cmocka_unit_test(the_first_packet_of_the_other_direction_hastens_the_next_report),
        cmocka_unit_test(news_hastens_the_next_report_to_250_ms_after_the_one_before),
        cmocka_unit_test(news_changes_nothing_before_the_first_report_and_delays_none),
        cmocka_unit_test(intervals_fill_their_range_and_never_leave_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
