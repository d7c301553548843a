/* net_stats_test.c - one report a second, of that second */
#include "tests/testing.h"

#include "services/transceiver/core/session/net_stats.h"

#define BEGIN_US UINT64_C(9000000)

static const struct voice_uplink_quality at_begin = {.expected = 1000,
                                                     .received = 990,
                                                     .late = 7,
                                                     .concealed_us = 100000,
                                                     .fec_us = 60000,
                                                     .red_us = 40000};

static void nothing_is_told_before_begin_and_after_stop(void **state)
{
    (void)state;
    struct net_stats n;
    struct backend_net_stats out;
    net_stats_init(&n);
    assert_false(net_stats_poll(&n, &at_begin, 0, &out, TIME_NEVER - 1));
    net_stats_begin(&n, &at_begin, BEGIN_US);
    net_stats_stop(&n);
    assert_false(net_stats_poll(&n, &at_begin, 0, &out, TIME_NEVER - 1));
    assert_true(n.next_us == TIME_NEVER);
}

static void a_report_is_of_its_second(void **state)
{
    (void)state;
    struct net_stats n;
    struct backend_net_stats out;
    struct voice_uplink_quality now = at_begin;
    net_stats_init(&n);
    net_stats_begin(&n, &at_begin, BEGIN_US);
    now.expected += 50;
    now.received += 45;
    now.late += 2;
    now.concealed_us += 40000;
    now.fec_us += 20000;
    now.red_us += 60000;
    now.jitter_us = 1875;
    now.level_dbov = -31;
    now.drift_ppm = -40;
    assert_false(net_stats_poll(&n, &now, 48000, &out, BEGIN_US + US_PER_S - 1));
    assert_true(net_stats_poll(&n, &now, 48000, &out, BEGIN_US + US_PER_S));
    assert_int_equal(out.loss_per_mille, 100);
    assert_int_equal(out.jitter_us, 1875);
    assert_int_equal(out.rtt_us, 48000);
    assert_int_equal(out.concealed_ms, 40);
    assert_int_equal(out.fec_ms, 20);
    assert_int_equal(out.red_ms, 60);
    assert_int_equal(out.late, 2);
    assert_int_equal(out.level_dbov, -31);
    assert_int_equal(out.drift_ppm, -40);
    assert_true(n.next_us == BEGIN_US + 2 * US_PER_S);
    assert_true(net_stats_poll(&n, &now, 48000, &out, BEGIN_US + 2 * US_PER_S));
    assert_int_equal(out.loss_per_mille, 0); /* nothing came, nothing was missed */
    assert_int_equal(out.concealed_ms, 0);
}

static void packets_that_come_late_or_twice_are_no_negative_loss(void **state)
{
    (void)state;
    static const struct {
        uint64_t expected;
        uint64_t received;
        uint32_t loss_per_mille;
    } c[] = {{50, 51, 0}, {0, 3, 0}, {1, 0, 1000}, {3, 1, 666}, {0, 0, 0}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct net_stats n;
        struct backend_net_stats out;
        struct voice_uplink_quality now = at_begin;
        net_stats_init(&n);
        net_stats_begin(&n, &at_begin, BEGIN_US);
        now.expected += c[i].expected;
        now.received += c[i].received;
        assert_true(net_stats_poll(&n, &now, 0, &out, BEGIN_US + US_PER_S));
        assert_int_equal(out.loss_per_mille, c[i].loss_per_mille);
    }
}

/* Another SSRC may begin its counts anew. */
static void totals_that_shrink_give_zero(void **state)
{
    (void)state;
    struct net_stats n;
    struct backend_net_stats out;
    const struct voice_uplink_quality now = {0};
    net_stats_init(&n);
    net_stats_begin(&n, &at_begin, BEGIN_US);
    assert_true(net_stats_poll(&n, &now, 0, &out, BEGIN_US + US_PER_S));
    assert_int_equal(out.loss_per_mille, 0);
    assert_int_equal(out.concealed_ms, 0);
    assert_int_equal(out.late, 0);
}

static void seconds_that_were_missed_are_not_made_up_for(void **state)
{
    (void)state;
    struct net_stats n;
    struct backend_net_stats out;
    net_stats_init(&n);
    net_stats_begin(&n, &at_begin, BEGIN_US);
    const uint64_t late_us = BEGIN_US + 3 * US_PER_S + 500000;
    assert_true(net_stats_poll(&n, &at_begin, 0, &out, late_us));
    assert_false(net_stats_poll(&n, &at_begin, 0, &out, late_us));
    assert_true(n.next_us == BEGIN_US + 4 * US_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_told_before_begin_and_after_stop),
        cmocka_unit_test(a_report_is_of_its_second),
        cmocka_unit_test(packets_that_come_late_or_twice_are_no_negative_loss),
        cmocka_unit_test(totals_that_shrink_give_zero),
        cmocka_unit_test(seconds_that_were_missed_are_not_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
