/* reorder_buffer_test.c - no wait in order, a bounded one at a gap, and a timeline without holes */
#include "tests/unit/reorder_world.h"

static void what_comes_in_order_leaves_at_once(void **state)
{
    struct reorder_buffer *b = *state;
    for (uint64_t n = 0; n < 300; n++) {
        assert_int_equal(insert(b, n, slot_us(n)), REORDER_STORED);
        expect_packet(b, n, false, slot_us(n));
        expect_nothing(b, slot_us(n));
        expect_no_wait(b, slot_us(n));
    }
}

static void one_lost_packet_costs_the_time_to_the_next(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    expect_nothing(b, slot_us(20)); /* no gap is known yet */
    expect_no_wait(b, slot_us(0));
    (void)insert(b, 2, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, FRAME, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    expect_nothing(b, slot_us(2));
}

static void a_late_packet_is_dropped_and_makes_the_buffer_wait(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    (void)insert(b, 2, slot_us(2));
    expect_packet(b, 0, false, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, FRAME, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    assert_int_equal(insert(b, 1, slot_us(2) + 8000), REORDER_LATE);
    assert_int_equal(insert(b, 1, slot_us(2) + 8000), REORDER_DUPLICATE);
    expect_nothing(b, slot_us(2) + 8000);

    /* From here K is 2, and the window 1.25 x 8 ms. */
    (void)insert(b, 4, slot_us(4));
    expect_nothing(b, slot_us(4));
    const uint64_t deadline_us = reorder_buffer_next_timeout(b);
    assert_in_range(deadline_us, slot_us(4) + 9900, slot_us(4) + 10000);
    expect_nothing(b, deadline_us - 1);
    expect_filler(b, REORDER_SLOT_CONCEAL, 3 * FRAME, FRAME, deadline_us);
    expect_packet(b, 4, false, deadline_us);
    expect_no_wait(b, slot_us(4));
}

static void a_packet_that_comes_within_the_window_closes_the_gap(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    (void)insert(b, 2, slot_us(2));
    expect_packet(b, 0, false, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, FRAME, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    (void)insert(b, 1, slot_us(2) + 8000);
    (void)insert(b, 4, slot_us(4));
    expect_nothing(b, slot_us(4));
    assert_int_equal(insert(b, 3, slot_us(4) + 5000), REORDER_STORED);
    expect_packet(b, 3, false, slot_us(4) + 5000);
    expect_packet(b, 4, false, slot_us(4) + 5000);
    expect_nothing(b, slot_us(4) + 5000);
    assert_int_equal(reorder_buffer_stats(b)->reordered, 1);
    assert_int_equal(reorder_buffer_stats(b)->late, 1);
    assert_int_equal(reorder_buffer_stats(b)->missing, 1);
}

static void two_newer_packets_end_the_wait_before_the_window_does(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    (void)insert(b, 2, slot_us(2));
    struct reorder_slot slot;
    while (reorder_buffer_poll(b, &slot, slot_us(2))) {
    }
    (void)insert(b, 1, slot_us(5)); /* so late that the window is 60 ms */
    (void)insert(b, 4, slot_us(5));
    expect_nothing(b, slot_us(5));
    assert_in_range(reorder_buffer_next_timeout(b), slot_us(5) + 59900, slot_us(5) + 60000);
    (void)insert(b, 5, slot_us(5) + 100);
    expect_filler(b, REORDER_SLOT_CONCEAL, 3 * FRAME, FRAME, slot_us(5) + 100);
    expect_packet(b, 4, false, slot_us(5) + 100);
    expect_packet(b, 5, false, slot_us(5) + 100);
}

static void the_window_decays_with_the_packets(void **state)
{
    struct reorder_buffer *b = *state;
    struct reorder_slot slot;
    (void)insert(b, 0, START_US);
    (void)insert(b, 2, START_US);
    while (reorder_buffer_poll(b, &slot, START_US)) {
    }
    const uint64_t now_us = START_US + 16000;
    (void)insert(b, 1, now_us); /* 16 ms late: a window of 20 ms */
    for (uint64_t n = 3; n < 2003; n++) {
        (void)insert(b, n, now_us);
        expect_packet(b, n, false, now_us);
    }
    (void)insert(b, 2004, now_us);
    expect_nothing(b, now_us);
    /* 0.05 % a packet in whole microseconds: hardly more than 20 ms / e */
    assert_in_range(reorder_buffer_next_timeout(b) - now_us, 7300, 8000);
}

static void reordering_is_forgotten_after_10_s(void **state)
{
    struct reorder_buffer *b = *state;
    struct reorder_slot slot;
    (void)insert(b, 0, slot_us(0));
    (void)insert(b, 2, slot_us(2));
    while (reorder_buffer_poll(b, &slot, slot_us(2))) {
    }
    (void)insert(b, 1, slot_us(2));
    for (uint64_t n = 3; n < 502; n++) {
        (void)insert(b, n, slot_us(n));
        expect_packet(b, n, false, slot_us(n));
    }
    /* One microsecond before 10 s after the late packet it still waits. */
    (void)insert(b, 503, slot_us(502) - 1);
    expect_nothing(b, slot_us(502) - 1);
    expect_filler(b, REORDER_SLOT_CONCEAL, 502 * FRAME, FRAME, slot_us(502));
    expect_packet(b, 503, false, slot_us(502));
}

static void after_100_ms_of_concealment_time_jumps(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert(b, 9, slot_us(9));
    for (uint64_t n = 1; n <= 5; n++) {
        expect_filler(b, REORDER_SLOT_CONCEAL, n * FRAME, FRAME, slot_us(9));
    }
    expect_packet(b, 9, true, slot_us(9));
    (void)insert(b, 11, slot_us(11)); /* a packet begins the count anew */
    expect_filler(b, REORDER_SLOT_CONCEAL, 10 * FRAME, FRAME, slot_us(11));
    expect_packet(b, 11, false, slot_us(11));
    assert_int_equal(reorder_buffer_stats(b)->missing, 9);
    assert_int_equal(reorder_buffer_stats(b)->concealed, 6 * FRAME);
}

static void a_jump_of_the_timestamp_in_sequence_is_silence(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert_frame(b, 1, FRAME + 12000, FRAME, slot_us(20)); /* 250 ms later */
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME, 4800, slot_us(20));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME + 4800, 4800, slot_us(20));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME + 9600, 2400, slot_us(20));
    expect_packet(b, 1, false, slot_us(20));
    assert_int_equal(reorder_buffer_stats(b)->concealed, 0);
}

static void silence_beyond_10_s_is_a_discontinuity(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert_frame(b, 1, FRAME + 480000, FRAME, slot_us(1));
    for (uint64_t i = 0; i < 100; i++) {
        expect_filler(b, REORDER_SLOT_SILENCE, FRAME + i * 4800, 4800, slot_us(1));
    }
    expect_packet(b, 1, false, slot_us(1));
    (void)insert_frame(b, 2, 2 * FRAME + 480000 + 480001, FRAME, slot_us(2));
    expect_packet(b, 2, true, slot_us(2));
}

static void a_loss_with_silence_in_it_conceals_only_the_packets(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert_frame(b, 3, 3 * FRAME + 4800, FRAME, slot_us(8)); /* two lost, 100 ms of DTX */
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, FRAME, slot_us(8));
    expect_filler(b, REORDER_SLOT_CONCEAL, 2 * FRAME, FRAME, slot_us(8));
    expect_filler(b, REORDER_SLOT_SILENCE, 3 * FRAME, 4800, slot_us(8));
    expect_packet(b, 3, false, slot_us(8));
}

static void shorter_packets_in_a_loss_share_its_time(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert_frame(b, 3, FRAME + 1080, 480, slot_us(2)); /* two lost within 22.5 ms */
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, 480, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME + 480, 600, slot_us(2));
    expect_packet(b, 3, false, slot_us(2));
    (void)insert_frame(b, 5, FRAME + 1560, 480, slot_us(2)); /* lost, but it took no time */
    expect_packet(b, 5, false, slot_us(2));
}

static void a_packet_without_audio_fills_its_number(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert_frame(b, 1, FRAME, 0, slot_us(1));
    expect_nothing(b, slot_us(1));
    (void)insert_frame(b, 2, 2 * FRAME, 0, slot_us(2));
    expect_nothing(b, slot_us(2));
    (void)insert(b, 3, slot_us(3));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME, 2 * FRAME, slot_us(3));
    expect_packet(b, 3, false, slot_us(3));
    assert_int_equal(reorder_buffer_stats(b)->missing, 0);
    assert_int_equal(reorder_buffer_stats(b)->delivered, 4);
}

static void the_span_ends_at_64(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
    (void)insert(b, 64, slot_us(64)); /* next is 1: 63 ahead */
    for (uint64_t n = 1; n <= 5; n++) {
        expect_filler(b, REORDER_SLOT_CONCEAL, n * FRAME, FRAME, slot_us(64));
    }
    expect_packet(b, 64, true, slot_us(64));
    (void)insert(b, 129, slot_us(129)); /* next is 65: 64 ahead */
    expect_packet(b, 129, true, slot_us(129));
    assert_int_equal(reorder_buffer_stats(b)->missing, 63 + 64);
    assert_int_equal(insert(b, 128, slot_us(129)), REORDER_DUPLICATE);
}

static void a_buffer_that_is_not_polled_refuses_the_newest(void **state)
{
    struct reorder_buffer *b = *state;
    for (uint64_t n = 0; n < REORDER_BUFFER_HELD_MAX; n++) {
        assert_int_equal(insert(b, n, START_US), REORDER_STORED);
        assert_int_equal(insert(b, n, START_US), REORDER_DUPLICATE);
    }
    assert_int_equal(insert(b, REORDER_BUFFER_HELD_MAX, START_US), REORDER_FULL);
    for (uint64_t n = 0; n < REORDER_BUFFER_HELD_MAX; n++) {
        expect_packet(b, n, false, START_US);
    }
    expect_nothing(b, START_US);
}

static void a_payload_is_held_up_to_the_size_of_opus(void **state)
{
    struct reorder_buffer *b = *state;
    static const uint8_t data[VOICE_PACKET_BYTES_MAX + 1];
    struct reorder_packet p = {.sequence = FIRST_SEQUENCE,
                               .duration = FRAME,
                               .payload = bytes_view_of(data, sizeof(data))};
    assert_int_equal(reorder_buffer_insert(b, &p, START_US), REORDER_TOO_LARGE);
    p.payload.len--;
    assert_int_equal(reorder_buffer_insert(b, &p, START_US), REORDER_STORED);
    struct reorder_slot slot;
    assert_true(reorder_buffer_poll(b, &slot, START_US));
    assert_int_equal(slot.payload.len, VOICE_PACKET_BYTES_MAX);
}

static void a_restart_begins_at_any_number_and_says_so(void **state)
{
    struct reorder_buffer *b = *state;
    (void)insert(b, 1000, slot_us(0));
    expect_packet(b, 1000, false, slot_us(0));
    (void)insert(b, 1002, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, 1001 * FRAME, FRAME, slot_us(2));
    expect_packet(b, 1002, false, slot_us(2));
    (void)insert(b, 1003, slot_us(3)); /* held when the numbering ends */
    reorder_buffer_restart(b);
    expect_nothing(b, slot_us(300));
    assert_true(reorder_buffer_next_timeout(b) == TIME_NEVER);
    (void)insert_frame(b, 1005, 77, FRAME, slot_us(4));
    expect_packet(b, 1005, true, slot_us(4));
    /* 1001 was given up in the other numbering: here it is only old. */
    assert_int_equal(insert(b, 1001, slot_us(4)), REORDER_DUPLICATE);
    (void)insert_frame(b, 1006, 77 + FRAME, FRAME, slot_us(5));
    expect_packet(b, 1006, false, slot_us(5));
}

static void a_fresh_buffer_that_is_restarted_has_no_discontinuity(void **state)
{
    struct reorder_buffer *b = *state;
    reorder_buffer_restart(b);
    (void)insert(b, 5, slot_us(0));
    expect_packet(b, 5, false, slot_us(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_comes_in_order_leaves_at_once),
        TEST(one_lost_packet_costs_the_time_to_the_next),
        TEST(a_late_packet_is_dropped_and_makes_the_buffer_wait),
        TEST(a_packet_that_comes_within_the_window_closes_the_gap),
        TEST(two_newer_packets_end_the_wait_before_the_window_does),
        TEST(the_window_decays_with_the_packets),
        TEST(reordering_is_forgotten_after_10_s),
        TEST(after_100_ms_of_concealment_time_jumps),
        TEST(a_jump_of_the_timestamp_in_sequence_is_silence),
        TEST(silence_beyond_10_s_is_a_discontinuity),
        TEST(a_loss_with_silence_in_it_conceals_only_the_packets),
        TEST(shorter_packets_in_a_loss_share_its_time),
        TEST(a_packet_without_audio_fills_its_number),
        TEST(the_span_ends_at_64),
        TEST(a_buffer_that_is_not_polled_refuses_the_newest),
        TEST(a_payload_is_held_up_to_the_size_of_opus),
        TEST(a_restart_begins_at_any_number_and_says_so),
        TEST(a_fresh_buffer_that_is_restarted_has_no_discontinuity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
