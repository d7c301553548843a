/* rtp_receiver_test.c - RFC 3550 A.1, A.3, A.8 across every wrap, and the capture clock */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtp_clock.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"

#define SSRC       UINT32_C(0xa0b0c0d0)
#define EXTENDED   (UINT64_C(1) << 32)
#define START_US   (100 * US_PER_S)
#define SLOT_US    (20 * US_PER_MS)
#define SLOT_UNITS RTP_CLOCK_SLOT_UNITS
#define EVENT_TYPE 110

static int setup(void **state)
{
    *state = rtp_receiver_create(RTP_CLOCK_HZ, EVENT_TYPE);
    return *state == NULL;
}

static int teardown(void **state)
{
    rtp_receiver_destroy(*state);
    return 0;
}

static struct rtp_packet packet(uint32_t sequence, uint32_t timestamp)
{
    return (struct rtp_packet){.payload_type = 111,
                               .sequence_number = (uint16_t)sequence,
                               .timestamp = timestamp,
                               .ssrc = SSRC};
}

/* Packet n of a stream that begins at `sequence` with timestamp 0, on time. */
static enum rtp_receiver_result input_on_time(struct rtp_receiver *r, uint32_t sequence, uint32_t n,
                                              struct rtp_arrival *out)
{
    const struct rtp_packet p = packet(sequence + n, n * SLOT_UNITS);
    return rtp_receiver_input(r, &p, out, START_US + n * SLOT_US);
}

static struct rtcp_report_block report(struct rtp_receiver *r, uint64_t now_us)
{
    struct rtcp_report_block b;
    assert_true(rtp_receiver_report(r, &b, now_us));
    return b;
}

static void sequence_and_timestamp_go_through_their_wraps(void **state)
{
    struct rtp_receiver *r = *state;
    /* Both wrap within the first 536 packets, and the sequence 3 times more. */
    for (uint32_t n = 0; n < 200000; n++) {
        const struct rtp_packet p = packet(65000 + n, UINT32_C(4294919296) + n * SLOT_UNITS);
        struct rtp_arrival a;
        const enum rtp_receiver_result result =
            rtp_receiver_input(r, &p, &a, START_US + n * SLOT_US);
        assert_int_equal(result, n == 0 ? RTP_RECEIVER_NEW_SSRC : RTP_RECEIVER_NEXT);
        assert_true(a.sequence == EXTENDED + 65000 + n);
        assert_true(a.timestamp == EXTENDED + UINT32_C(4294919296) + (uint64_t)n * SLOT_UNITS);
        assert_true(rtp_receiver_capture_us(r, a.timestamp) == START_US + n * SLOT_US);
    }
    const struct rtcp_report_block b = report(r, START_US + 200000 * SLOT_US);
    assert_int_equal(b.highest_sequence, 65000 + 199999);
    assert_int_equal(b.cumulative_lost, 0);
    assert_int_equal(b.fraction_lost, 0);
    assert_int_equal(b.jitter, 0);
}

static void a_reordered_packet_keeps_its_number_across_a_wrap(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    (void)input_on_time(r, 65535, 0, &a);
    assert_int_equal(input_on_time(r, 65535, 2, &a), RTP_RECEIVER_NEXT);
    assert_true(a.sequence == EXTENDED + 65537);
    assert_int_equal(input_on_time(r, 65535, 1, &a), RTP_RECEIVER_NEXT);
    assert_true(a.sequence == EXTENDED + 65536);
    assert_true(a.timestamp == EXTENDED + SLOT_UNITS);
    assert_int_equal(input_on_time(r, 65535, 1, &a), RTP_RECEIVER_NEXT);
    assert_true(a.sequence == EXTENDED + 65536);
}

static void a_packet_before_the_first_has_a_number_too(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    (void)input_on_time(r, 0, 0, &a);
    struct rtp_packet p = packet(65535, (uint32_t)-SLOT_UNITS);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_NEXT);
    assert_true(a.sequence == EXTENDED - 1);
    assert_true(a.timestamp == EXTENDED - SLOT_UNITS);
    assert_true(rtp_receiver_capture_us(r, a.timestamp) == START_US - SLOT_US);
    assert_true(rtp_receiver_capture_us(r, 0) == 0); /* not before the clock's own begin */
}

static void the_bounds_of_a_jump_are_those_of_the_rfc(void **state)
{
    (void)state;
    static const struct {
        uint16_t ahead;
        enum rtp_receiver_result result;
    } jump_case[] = {
        {1, RTP_RECEIVER_NEXT},      {2999, RTP_RECEIVER_NEXT},  {3000, RTP_RECEIVER_JUMP},
        {0x8000, RTP_RECEIVER_JUMP}, {65436, RTP_RECEIVER_JUMP}, {65437, RTP_RECEIVER_NEXT},
        {65535, RTP_RECEIVER_NEXT},  {0, RTP_RECEIVER_NEXT},
    };
    for (size_t i = 0; i < COUNT_OF(jump_case); i++) {
        struct rtp_receiver *r = rtp_receiver_create(RTP_CLOCK_HZ, EVENT_TYPE);
        struct rtp_arrival a;
        (void)input_on_time(r, 50000, 0, &a);
        const struct rtp_packet p = packet(50000 + jump_case[i].ahead, 0);
        assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), jump_case[i].result);
        rtp_receiver_destroy(r);
    }
}

static void two_packets_in_a_row_make_a_jump_a_restart(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    for (uint32_t n = 0; n < 10; n++) {
        (void)input_on_time(r, 100, n, &a);
    }
    const uint64_t now_us = START_US + 10 * SLOT_US;
    struct rtp_packet p = packet(20000, 5);
    assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), RTP_RECEIVER_JUMP);
    /* The stream in between takes the suspicion away. */
    assert_int_equal(input_on_time(r, 100, 10, &a), RTP_RECEIVER_NEXT);
    p = packet(20001, 965);
    assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), RTP_RECEIVER_JUMP);
    p = packet(20003, 965); /* not the next one */
    assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), RTP_RECEIVER_JUMP);
    p = packet(20004, 2885);
    assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), RTP_RECEIVER_RESTART);
    assert_true(a.sequence == EXTENDED + 20004);
    assert_true(a.timestamp == EXTENDED + 2885);
    assert_true(rtp_receiver_capture_us(r, a.timestamp) == now_us);
    const struct rtcp_report_block b = report(r, now_us);
    assert_int_equal(b.highest_sequence, 20004);
    assert_int_equal(b.cumulative_lost, 0);
}

static void a_jump_over_the_wrap_of_the_sequence_restarts_too(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    (void)input_on_time(r, 30000, 0, &a);
    struct rtp_packet p = packet(65535, 0);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_JUMP);
    p = packet(0, 960);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_RESTART);
    assert_true(a.sequence == EXTENDED);
}

static void a_new_ssrc_begins_anew_and_retires_the_old_one(void **state)
{
    struct rtp_receiver *r = *state;
    uint32_t followed = 0;
    assert_false(rtp_receiver_ssrc(r, &followed));
    struct rtp_arrival a;
    (void)input_on_time(r, 100, 0, &a);
    (void)input_on_time(r, 100, 5, &a);
    struct rtp_packet fresh = packet(7, 77);
    fresh.ssrc = SSRC + 1;
    const uint64_t now_us = START_US + 6 * SLOT_US;
    assert_int_equal(rtp_receiver_input(r, &fresh, &a, now_us), RTP_RECEIVER_NEW_SSRC);
    assert_true(a.sequence == EXTENDED + 7);
    assert_true(rtp_receiver_ssrc(r, &followed));
    assert_int_equal(followed, SSRC + 1);
    assert_int_equal(report(r, now_us).ssrc, SSRC + 1);

    assert_int_equal(input_on_time(r, 100, 7, &a), RTP_RECEIVER_RETIRED);
    const struct rtp_packet old = packet(200, 0);
    assert_int_equal(rtp_receiver_input(r, &old, &a, now_us + RTP_RECEIVER_ALIVE_US - 1),
                     RTP_RECEIVER_RETIRED);
    assert_int_equal(rtp_receiver_input(r, &old, &a, now_us + RTP_RECEIVER_ALIVE_US),
                     RTP_RECEIVER_NEW_SSRC);
}

static void a_clock_that_leaves_arrival_by_over_10_s_restarts(void **state)
{
    (void)state;
    static const struct {
        int64_t timestamp_ahead_us; /* of arrival */
        enum rtp_receiver_result result;
    } clock_case[] = {
        {10000000, RTP_RECEIVER_NEXT},
        {10001000, RTP_RECEIVER_RESTART},
        {-10000000, RTP_RECEIVER_NEXT},
        {-10001000, RTP_RECEIVER_RESTART},
    };
    for (size_t i = 0; i < COUNT_OF(clock_case); i++) {
        struct rtp_receiver *r = rtp_receiver_create(RTP_CLOCK_HZ, EVENT_TYPE);
        struct rtp_arrival a;
        (void)input_on_time(r, 100, 0, &a);
        const uint64_t now_us = START_US + 30 * US_PER_S;
        const uint64_t sent_us = (uint64_t)(30000000 + clock_case[i].timestamp_ahead_us);
        const struct rtp_packet p = packet(101, (uint32_t)rtp_clock_from_us(sent_us));
        assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), clock_case[i].result);
        if (clock_case[i].result == RTP_RECEIVER_RESTART) {
            assert_true(rtp_receiver_capture_us(r, a.timestamp) == now_us);
        }
        rtp_receiver_destroy(r);
    }
}

static void a_timestamp_that_runs_back_restarts_but_not_a_telephone_event(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    for (uint32_t n = 0; n < 5; n++) {
        (void)input_on_time(r, 100, n, &a);
    }
    struct rtp_packet event = packet(105, 3 * SLOT_UNITS);
    event.payload_type = EVENT_TYPE;
    assert_int_equal(rtp_receiver_input(r, &event, &a, START_US), RTP_RECEIVER_NEXT);
    struct rtp_packet p = packet(106, 6 * SLOT_UNITS);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_NEXT);
    p = packet(107, 6 * SLOT_UNITS);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_NEXT);
    p = packet(108, 6 * SLOT_UNITS - 1);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_RESTART);
    assert_true(a.sequence == EXTENDED + 108);
}

/* Packet 5 of 10 comes last. What it says of its time counts only if it can be true. */
static void an_overtaken_packet_whose_timestamp_lies_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        int64_t ahead_us; /* of the time at which it comes */
        uint8_t payload_type;
        enum rtp_receiver_result result;
    } lie[] = {
        {-(10 - 5) * (int64_t)SLOT_US, 111, RTP_RECEIVER_NEXT}, /* the truth */
        {-(int64_t)SLOT_US, 111, RTP_RECEIVER_NEXT},            /* the time of the newest */
        {0, 111, RTP_RECEIVER_MISPLACED},                       /* newer than the newest */
        {0, EVENT_TYPE, RTP_RECEIVER_NEXT},                     /* of another payload type */
        {10000000, EVENT_TYPE, RTP_RECEIVER_NEXT},
        {10001000, EVENT_TYPE, RTP_RECEIVER_MISPLACED},
        {5 * INT64_C(3600000000), 111, RTP_RECEIVER_MISPLACED},
        {-10000000, 111, RTP_RECEIVER_NEXT},
        {-10001000, 111, RTP_RECEIVER_MISPLACED},
        {-5 * INT64_C(3600000000), 111, RTP_RECEIVER_MISPLACED},
    };
    for (size_t i = 0; i < COUNT_OF(lie); i++) {
        struct rtp_receiver *r = rtp_receiver_create(RTP_CLOCK_HZ, EVENT_TYPE);
        const uint64_t now_us = START_US + 10 * SLOT_US;
        struct rtp_arrival a;
        for (uint32_t n = 0; n < 10; n++) {
            if (n != 5) {
                (void)input_on_time(r, 100, n, &a);
            }
        }
        struct rtp_packet p = packet(105, 0);
        p.payload_type = lie[i].payload_type;
        p.timestamp = (uint32_t)((10 * (int64_t)SLOT_US + lie[i].ahead_us) * 48 / 1000);
        assert_int_equal(rtp_receiver_input(r, &p, &a, now_us), lie[i].result);
        if (lie[i].result == RTP_RECEIVER_MISPLACED) {
            assert_int_equal(rtp_receiver_stats(r).jitter_us, 0);
            assert_int_equal(rtp_receiver_stats(r).received, 9);
            assert_int_equal(input_on_time(r, 100, 10, &a), RTP_RECEIVER_NEXT);
            assert_int_equal(rtp_receiver_lateness_us(r, a.timestamp, now_us), 0);
        }
        rtp_receiver_destroy(r);
    }
}

static void the_second_packet_may_not_run_back(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    struct rtp_packet p = packet(0, SLOT_UNITS);
    (void)rtp_receiver_input(r, &p, &a, START_US);
    p = packet(1, 0);
    assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_RESTART);
}

static void loss_is_counted_as_in_a_3(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    for (uint32_t n = 0; n < 100; n++) {
        if (n % 4 != 1) {
            (void)input_on_time(r, 65500, n, &a);
        }
    }
    struct rtcp_report_block b = report(r, START_US);
    assert_int_equal(b.fraction_lost, 64); /* 25 of 100 */
    assert_int_equal(b.cumulative_lost, 25);
    b = report(r, START_US); /* an empty interval has no loss */
    assert_int_equal(b.fraction_lost, 0);
    assert_int_equal(b.cumulative_lost, 25);
    (void)input_on_time(r, 65500, 102, &a); /* two are lost, and */
    for (int i = 0; i < 40; i++) {
        if (i == 10) {
            b = report(r, START_US);
            assert_int_equal(b.fraction_lost, 0);
            assert_int_equal(b.cumulative_lost, 27 - 10);
        }
        (void)input_on_time(r, 65500, 102, &a); /* duplicates count as received */
    }
    b = report(r, START_US);
    assert_int_equal(b.fraction_lost, 0);
    assert_int_equal(b.cumulative_lost, 27 - 40);
}

static void a_fraction_of_everything_does_not_wrap_to_none(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    (void)input_on_time(r, 0, 0, &a);
    (void)report(r, START_US);
    struct rtp_packet p = packet(2900, 0);
    (void)rtp_receiver_input(r, &p, &a, START_US);
    assert_int_equal(report(r, START_US).fraction_lost, 255);
}

static void cumulative_loss_stays_within_24_bits(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    uint32_t sequence = 0;
    struct rtp_packet p = packet(sequence, 0);
    (void)rtp_receiver_input(r, &p, &a, START_US);
    for (uint32_t i = 0; i < 2900; i++) {
        sequence += 2999;
        p = packet(sequence, 0);
        assert_int_equal(rtp_receiver_input(r, &p, &a, START_US), RTP_RECEIVER_NEXT);
    }
    assert_int_equal(report(r, START_US).cumulative_lost, 0x7fffff);
}

/* A.8 in floating point, from the formula of s.6.4.1. */
static void jitter_follows_the_formula(void **state)
{
    struct rtp_receiver *r = *state;
    double expected = 0;
    uint64_t transit_us_before = 0;
    for (uint32_t n = 0; n < 500; n++) {
        const uint64_t delay_us = n * 7919 % 13 * US_PER_MS;
        const struct rtp_packet p = packet(n, n * SLOT_UNITS);
        struct rtp_arrival a;
        (void)rtp_receiver_input(r, &p, &a, START_US + n * SLOT_US + delay_us);
        if (n > 0) {
            const double d = (double)delay_us - (double)transit_us_before;
            expected += ((d < 0 ? -d : d) * 0.048 - expected) / 16;
        }
        transit_us_before = delay_us;
    }
    const double jitter = report(r, START_US).jitter;
    assert_true(expected > 150);
    assert_true(jitter > expected - 2 && jitter < expected + 2);
}

/* RFC 4733 s.2.5.1.2: all packets of a press have the timestamp of its begin. */
static void a_telephone_event_tells_nothing_of_the_network(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    for (uint32_t n = 0; n < 100; n++) {
        struct rtp_packet p = packet(n, n * SLOT_UNITS);
        if (n >= 20 && n < 60) {
            p.payload_type = EVENT_TYPE;
            p.timestamp = 20 * SLOT_UNITS;
        }
        const uint64_t now_us = START_US + n * SLOT_US;
        assert_int_equal(rtp_receiver_input(r, &p, &a, now_us),
                         n == 0 ? RTP_RECEIVER_NEW_SSRC : RTP_RECEIVER_NEXT);
    }
    assert_int_equal(rtp_receiver_stats(r).jitter_us, 0);
    assert_int_equal(report(r, START_US).jitter, 0);
    /* Nor of the fastest way: one that came ahead of its time makes nobody late. */
    struct rtp_packet p = packet(100, 150 * SLOT_UNITS);
    p.payload_type = EVENT_TYPE;
    (void)rtp_receiver_input(r, &p, &a, START_US + 100 * SLOT_US);
    (void)input_on_time(r, 0, 101, &a);
    assert_int_equal(rtp_receiver_lateness_us(r, a.timestamp, START_US + 101 * SLOT_US), 0);
}

static void a_pause_of_the_sender_is_no_jitter(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    struct rtp_packet p = packet(0, 0);
    (void)rtp_receiver_input(r, &p, &a, START_US);
    p = packet(1, 48000); /* one second later by its clock, five by ours */
    (void)rtp_receiver_input(r, &p, &a, START_US + 5 * US_PER_S);
    assert_int_equal(report(r, START_US).jitter, 0);
    p = packet(2, 48960);
    (void)rtp_receiver_input(r, &p, &a, START_US + 5 * US_PER_S + 36 * US_PER_MS);
    assert_int_equal(report(r, START_US).jitter, 48); /* 16 ms / 16 */
}

static void a_sender_report_is_echoed_with_its_age(void **state)
{
    struct rtp_receiver *r = *state;
    struct rtp_arrival a;
    (void)input_on_time(r, 0, 0, &a);
    assert_int_equal(report(r, START_US).last_sr, 0);
    const struct rtcp_sender_info info = {.ntp_time = UINT64_C(0x1122334455667788)};
    rtp_receiver_sender_report(r, SSRC + 1, &info, START_US);
    assert_int_equal(report(r, START_US).last_sr, 0);
    rtp_receiver_sender_report(r, SSRC, &info, START_US);
    const struct rtcp_report_block b = report(r, START_US + 1500 * US_PER_MS);
    assert_int_equal(b.last_sr, 0x33445566);
    assert_int_equal(b.delay_since_last_sr, 0x18000); /* 1.5 s */
    struct rtp_packet p = packet(0, 0);
    p.ssrc = SSRC + 1;
    (void)rtp_receiver_input(r, &p, &a, START_US);
    assert_int_equal(report(r, START_US).last_sr, 0); /* that was another sender's */
}

static void there_is_no_report_before_the_first_packet(void **state)
{
    struct rtcp_report_block b;
    assert_false(rtp_receiver_report(*state, &b, START_US));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sequence_and_timestamp_go_through_their_wraps),
        TEST(a_reordered_packet_keeps_its_number_across_a_wrap),
        TEST(a_packet_before_the_first_has_a_number_too),
        TEST(the_bounds_of_a_jump_are_those_of_the_rfc),
        TEST(two_packets_in_a_row_make_a_jump_a_restart),
        TEST(a_jump_over_the_wrap_of_the_sequence_restarts_too),
        TEST(a_new_ssrc_begins_anew_and_retires_the_old_one),
        TEST(a_clock_that_leaves_arrival_by_over_10_s_restarts),
        TEST(a_timestamp_that_runs_back_restarts_but_not_a_telephone_event),
        TEST(an_overtaken_packet_whose_timestamp_lies_changes_nothing),
        TEST(the_second_packet_may_not_run_back),
        TEST(loss_is_counted_as_in_a_3),
        TEST(a_fraction_of_everything_does_not_wrap_to_none),
        TEST(cumulative_loss_stays_within_24_bits),
        TEST(jitter_follows_the_formula),
        TEST(a_telephone_event_tells_nothing_of_the_network),
        TEST(a_pause_of_the_sender_is_no_jitter),
        TEST(a_sender_report_is_echoed_with_its_age),
        TEST(there_is_no_report_before_the_first_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
