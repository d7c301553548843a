/* playout_rest_test.c - who says nothing holds no memory for it, and loses nothing by that */
#include "tests/unit/playout_queue_world.h"

#include <malloc.h>

#define WINDOW_BYTES  (RATE_HZ * 2)
#define RESTING_BYTES 512

static size_t allocated_bytes(void)
{
    const struct mallinfo2 m = mallinfo2(); /* zeros below a sanitizer */
    return m.uordblks + m.hblkhd;
}

static bool is_counted(void)
{
    return allocated_bytes() > 0;
}

/* What the queue holds more than at `before`. */
static void expect_working(size_t before)
{
    assert_true(!is_counted() || allocated_bytes() - before > WINDOW_BYTES);
}

static void expect_resting(size_t before)
{
    assert_in_range(allocated_bytes() - before, 0, RESTING_BYTES);
}

static void be_silent(struct playout_queue *q, uint64_t from_us, uint64_t until_us)
{
    for (uint64_t now_us = from_us; now_us <= until_us; now_us += FRAME_US) {
        expect_slot(q, PLAYOUT_SLOT_SILENCE, now_us);
    }
}

/* One utterance of three frames, whose last slot is at now_us. */
static void speak(struct playout_queue *q, uint32_t utterance, uint64_t now_us)
{
    assert_int_equal(put(q, utterance, 1000, 3 * FRAME, true), PLAYOUT_PUT_OK);
    expect_slot(q, PLAYOUT_SLOT_FIRST, now_us - 2 * FRAME_US);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, now_us - FRAME_US);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, now_us);
    expect_slot(q, PLAYOUT_SLOT_TAIL, now_us + FRAME_US);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, utterance);
    (void)expect_event(q, UTTERANCE_EVENT_DONE, utterance);
}

static void memory_comes_with_the_first_words_and_goes_after_a_long_silence(void **state)
{
    (void)state;
    const size_t before = allocated_bytes();
    struct playout_queue *q = create();
    uint64_t now_us = US_PER_S;
    for (uint32_t utterance = 1; utterance <= 3; utterance++) {
        be_silent(q, now_us, now_us + FRAME_US);
        expect_resting(before);
        now_us += US_PER_S;
        speak(q, utterance, now_us);
        be_silent(q, now_us + 2 * FRAME_US, now_us + PLAYOUT_QUEUE_REST_US - 2 * FRAME_US);
        expect_working(before);
        now_us += PLAYOUT_QUEUE_REST_US;
        be_silent(q, now_us, now_us + FRAME_US);
    }
    playout_queue_destroy(q);
}

static void packets_take_memory_in_the_same_way(void **state)
{
    (void)state;
    static const uint8_t packet[] = {0x08, 1, 2, 3}; /* 20 ms */
    const struct playout_queue_config config = {.window_us = 10 * US_PER_S};
    const struct playout_piece piece = {
        .utterance = 1, .media = bytes_view_of(packet, sizeof(packet)), .is_last = true};
    const size_t before = allocated_bytes();
    struct playout_queue *q = playout_queue_create(&config);
    struct playout_packet out;
    struct utterance_event event;
    assert_non_null(q);
    playout_queue_attach(q, 0, 0, 0);
    expect_resting(before);
    assert_int_equal(playout_queue_put(q, &piece), PLAYOUT_PUT_OK);
    expect_working(before);
    assert_int_equal(playout_queue_take_packet(q, &out, 0), PLAYOUT_SLOT_FIRST);
    while (playout_queue_poll_event(q, &event)) {
    }
    const uint64_t rest_us = PLAYOUT_QUEUE_REST_US + FRAME_US;
    assert_int_equal(playout_queue_take_packet(q, &out, rest_us), PLAYOUT_SLOT_SILENCE);
    expect_resting(before);
    playout_queue_destroy(q);
}

/* Held, or short of its prebuffer while no backend is there to let it starve. */
static void what_waits_is_kept_for_as_long_as_it_waits(void **state)
{
    struct playout_queue *q = *state;
    assert_true(playout_queue_pause(q, 1));
    (void)put(q, 1, 1000, FRAME, true);
    be_silent(q, 0, 3 * PLAYOUT_QUEUE_REST_US);
    playout_queue_resume(q, 1);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 3 * PLAYOUT_QUEUE_REST_US + FRAME_US);
    expect_level(0, FRAME, 1000);
}

static void words_that_come_and_are_flushed_before_their_slot_are_no_reason_to_rest(void **state)
{
    (void)state;
    const size_t before = allocated_bytes();
    struct playout_queue *q = create();
    for (uint32_t utterance = 1; utterance <= 3; utterance++) {
        const uint64_t now_us = utterance * 2 * PLAYOUT_QUEUE_REST_US;
        (void)put(q, utterance, 1000, FRAME, true);
        (void)playout_queue_flush(q, utterance, now_us);
        (void)expect_event(q, UTTERANCE_EVENT_DONE, utterance);
        expect_slot(q, PLAYOUT_SLOT_SILENCE, now_us);
        expect_working(before);
    }
    playout_queue_destroy(q);
}

/* A backend that comes back is told how far the one before had come. */
static void the_position_is_known_and_the_past_is_stale_after_a_rest(void **state)
{
    struct playout_queue *q = *state;
    const uint64_t spoken_us = US_PER_S;
    const uint64_t rested_us = spoken_us + PLAYOUT_QUEUE_REST_US + 2 * FRAME_US;
    speak(q, 7, spoken_us);
    const struct playout_position before = playout_queue_position(q);
    be_silent(q, spoken_us + 2 * FRAME_US, rested_us);
    const struct playout_position after = playout_queue_position(q);
    assert_int_equal(after.utterance, 7);
    assert_true(after.received_us == 3 * FRAME_US && after.sent_us == 3 * FRAME_US);
    assert_true(after.received_total_us == before.received_total_us);
    assert_true(after.limit_us == before.limit_us);
    assert_int_equal(put(q, 7, 1000, FRAME, false), PLAYOUT_PUT_STALE);
    assert_int_equal(put(q, 6, 1000, FRAME, false), PLAYOUT_PUT_STALE);
    assert_int_equal(playout_queue_position(q).utterance, 7);
    playout_queue_end(q, UTTERANCE_BACKEND_LOST, rested_us);
    assert_int_equal(playout_queue_position(q).utterance, 0);
    assert_int_equal(playout_queue_position(q).received_us, 0);
}

/* Nobody was there to hear that it is done: it is told to the next backend, however late. */
static void what_could_not_be_told_is_told_after_a_long_silence(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 1000, FRAME, true);
    playout_queue_detach(q);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_slot(q, PLAYOUT_SLOT_TAIL, FRAME_US);
    be_silent(q, 2 * FRAME_US, 2 * PLAYOUT_QUEUE_REST_US);
    playout_queue_attach(q, PREBUFFER_US, 0, 2 * PLAYOUT_QUEUE_REST_US);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    (void)expect_event(q, UTTERANCE_EVENT_DONE, 1);
    expect_no_event(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_with_the_first_words_and_goes_after_a_long_silence),
        cmocka_unit_test(packets_take_memory_in_the_same_way),
        TEST(what_waits_is_kept_for_as_long_as_it_waits),
        cmocka_unit_test(words_that_come_and_are_flushed_before_their_slot_are_no_reason_to_rest),
        TEST(the_position_is_known_and_the_past_is_stale_after_a_rest),
        TEST(what_could_not_be_told_is_told_after_a_long_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
