/* playout_credit_test.c - windows, offsets, what was heard: the backend and the queue agree */
#include "tests/unit/playout_queue_world.h"

static void a_window_is_of_whole_samples(void **state)
{
    (void)state;
    const struct playout_queue_config config = {.rate_hz = 8000, .window_us = 60100};
    struct playout_queue *q = playout_queue_create(&config);
    assert_int_equal(put(q, 1, 1, 481, false), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_position(q).received_us, 60000);
    playout_queue_destroy(q);
}

static void half_a_sample_is_refused(void **state)
{
    struct playout_queue *q = *state;
    static const uint8_t pcm[3];
    struct playout_piece piece = {.utterance = 1, .media = bytes_view_of(pcm, 3)};
    assert_int_equal(playout_queue_put(q, &piece), PLAYOUT_PUT_BAD);
    piece.media.len = 2;
    assert_int_equal(playout_queue_put(q, &piece), PLAYOUT_PUT_OK);
    assert_int_equal(playout_queue_position(q).received_total_us, US_PER_S / RATE_HZ);
}

static void credit_is_the_window_and_what_was_consumed(void **state)
{
    struct playout_queue *q = *state;
    const size_t window = RATE_HZ;
    assert_int_equal(put(q, 1, 1, window, false), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 1, 2, 1, false), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_position(q).received_total_us, WINDOW_US);
    expect_no_event(q);
    for (int i = 0; i < 12; i++) {
        expect_slot(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, 0);
    }
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    expect_no_credit(q); /* 240 ms are not a quarter */
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    assert_int_equal(expect_credit(q), WINDOW_US + 13 * FRAME_US);
    expect_no_event(q);
    /* The part within the limit is taken, the excess is not counted. */
    assert_int_equal(put(q, 1, 3, 13 * FRAME + 1, false), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_position(q).received_total_us, WINDOW_US + 13 * FRAME_US);
    (void)playout_queue_flush(q, 1, 0);
    (void)expect_event(q, UTTERANCE_EVENT_DONE, 1);
    assert_int_equal(expect_credit(q), 2 * WINDOW_US + 13 * FRAME_US);
    /* What is dropped for its number is received and consumed. */
    assert_int_equal(put(q, 1, 4, window, false), PLAYOUT_PUT_STALE);
    assert_int_equal(expect_credit(q), 3 * WINDOW_US + 13 * FRAME_US);
}

static void after_a_resume_what_was_received_is_dropped_to_the_sample(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 100, 3 * FRAME, false); /* 60 ms */
    static const struct {
        uint64_t offset_us;
        size_t samples;
        enum playout_put_result result;
        uint64_t received_us;
    } c[] = {
        {20000, FRAME, PLAYOUT_PUT_OK, 60000},     /* known */
        {40000, 2 * FRAME, PLAYOUT_PUT_OK, 80000}, /* the second half is new */
        {80042, FRAME, PLAYOUT_PUT_GAP, 80000},    /* a sample is missing */
        {80020, FRAME, PLAYOUT_PUT_OK, 100000},    /* rounded, less than half a sample */
        {0, FRAME, PLAYOUT_PUT_OK, 120000},        /* behind what was received */
        {120000, 0, PLAYOUT_PUT_OK, 120000},
    };
    uint64_t total_us = 60000;
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        const uint64_t before_us = playout_queue_position(q).received_us;
        assert_int_equal(put_at(q, 1, c[i].offset_us, 200, c[i].samples), c[i].result);
        assert_int_equal(playout_queue_position(q).received_us, c[i].received_us);
        total_us += c[i].result == PLAYOUT_PUT_GAP ? FRAME_US : c[i].received_us - before_us;
        assert_int_equal(playout_queue_position(q).received_total_us, total_us);
    }
    for (int i = 0; i < 6; i++) {
        expect_slot(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, 0);
        expect_level(0, FRAME, i < 3 ? 100 : 200);
    }
}

static void an_offset_of_another_than_the_newest_is_stale_or_a_gap(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 4, 100, FRAME, true);
    (void)put(q, 5, 100, FRAME, false);
    assert_int_equal(put_at(q, 4, 20000, 1, FRAME), PLAYOUT_PUT_STALE);
    assert_int_equal(put_at(q, 6, 20000, 1, FRAME), PLAYOUT_PUT_GAP); /* it never began */
    assert_int_equal(playout_queue_position(q).utterance, 5);
    (void)playout_queue_flush(q, 5, 0);
    assert_int_equal(put_at(q, 5, 20000, 1, FRAME), PLAYOUT_PUT_STALE);
    assert_int_equal(put_at(q, 5, 90000, 1, FRAME), PLAYOUT_PUT_STALE); /* gap or not */
}

static void heard_is_what_left_less_half_the_way_and_the_buffer(void **state)
{
    (void)state;
    assert_int_equal(playout_queue_heard_us(1240000, 100000), 1130000);
    assert_int_equal(playout_queue_heard_us(110000, 100000), 0);
    assert_int_equal(playout_queue_heard_us(110001, 100000), 1);
    assert_int_equal(playout_queue_heard_us(0, 0), 0);
    assert_int_equal(playout_queue_heard_us(1000, UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(half_a_sample_is_refused),
        TEST(a_window_is_of_whole_samples),
        TEST(credit_is_the_window_and_what_was_consumed),
        TEST(after_a_resume_what_was_received_is_dropped_to_the_sample),
        TEST(an_offset_of_another_than_the_newest_is_stale_or_a_gap),
        TEST(heard_is_what_left_less_half_the_way_and_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
