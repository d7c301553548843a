/* playout_queue_test.c - every sample once and in order, every utterance done exactly once */
#include "tests/unit/playout_queue_world.h"

#include "common/base/random.h"

static void an_utterance_is_spoken_to_the_sample_and_fades_out(void **state)
{
    struct playout_queue *q = *state;
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    assert_int_equal(put(q, 1, 1000, FRAME, false), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 1, 2000, FRAME + 100, true), PLAYOUT_PUT_OK);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_level(0, FRAME, 1000);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, 2000);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 100, 2000);
    expect_fade(100, 2000);
    const struct utterance_event done = expect_event(q, UTTERANCE_EVENT_DONE, 1);
    assert_int_equal(done.reason, UTTERANCE_PLAYED);
    assert_int_equal(utterance_us_of_ticks(done.sent_ticks),
                     (2 * FRAME + 100) * US_PER_S / RATE_HZ);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0); /* what the encoder still holds */
    expect_level(0, FRAME, 0);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    expect_no_event(q);
}

static void a_fade_goes_on_in_the_frame_after(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, -8000, 2 * FRAME - 20, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME - 20, -8000);
    assert_int_equal(frame[FRAME - 1], -8000 * (FADE - 20) / FADE);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    assert_int_equal(frame[0], -8000 * (FADE - 21) / FADE);
    assert_int_equal(frame[FADE - 21], 0);
    expect_level(FADE - 20, FRAME, 0);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
}

static void an_utterance_waits_for_its_prebuffer_or_its_end(void **state)
{
    (void)state;
    static const struct {
        size_t samples;
        bool is_last;
        enum playout_slot slot;
    } start[] = {
        {2 * FRAME - 1, false, PLAYOUT_SLOT_SILENCE},
        {2 * FRAME, false, PLAYOUT_SLOT_FIRST},
        {2 * FRAME - 1, true, PLAYOUT_SLOT_FIRST},
        {1, true, PLAYOUT_SLOT_FIRST},
        {0, true, PLAYOUT_SLOT_SILENCE},
    };
    for (size_t i = 0; i < COUNT_OF(start); i++) {
        struct playout_queue *q = create();
        (void)put(q, 1, 9, start[i].samples, start[i].is_last);
        expect_slot(q, start[i].slot, 0);
        playout_queue_destroy(q);
    }
}

static void utterances_that_touch_share_a_frame_and_the_encoder(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 100, 500, false);
    (void)put(q, 2, 200, FRAME, false); /* the higher id completes the lower one */
    (void)put(q, 3, 300, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_level(0, FRAME, 100);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 20, 100);
    expect_level(20, FRAME, 200);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 1).reason, UTTERANCE_PLAYED);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 2);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 20, 200);
    expect_level(20, FRAME, 300);
    (void)expect_event(q, UTTERANCE_EVENT_DONE, 2);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 3);
}

static void an_underrun_fades_out_and_goes_on_with_20_ms(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 5000, 2 * FRAME + 100, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 100, 5000);
    expect_fade(100, 5000);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    const struct utterance_event dry = expect_event(q, UTTERANCE_EVENT_UNDERRUN, 1);
    assert_int_equal(utterance_us_of_ticks(dry.sent_ticks), (2 * FRAME + 100) * US_PER_S / RATE_HZ);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    (void)put(q, 1, 5000, FRAME - 1, false);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    (void)put(q, 1, 5000, 1, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_level(0, FRAME, 5000);
    expect_no_event(q); /* it has started before */
}

static void an_underrun_at_the_edge_of_a_frame_is_told_in_the_next_slot(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 5000, 2 * FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_fade(0, 5000);
    (void)expect_event(q, UTTERANCE_EVENT_UNDERRUN, 1);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    (void)put(q, 1, 0, 0, true); /* its end comes late */
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 1).reason, UTTERANCE_PLAYED);
}

static void speech_that_resumes_in_the_tail_keeps_the_encoder(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 5000, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    (void)put(q, 2, 6000, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0); /* no silence packet lies between */
    expect_level(0, FRAME, 6000);
}

static void a_flush_cuts_the_queue_and_leaves_only_the_fade(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 5, 9000, 10 * FRAME, true);
    (void)put(q, 6, 9000, 5 * FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 5);
    const struct playout_flushed flushed = playout_queue_flush(q, 6, 0);
    assert_int_equal(flushed.flush, 6);
    assert_int_equal(flushed.utterance, 5);
    assert_int_equal(flushed.sent_us, FRAME_US);
    assert_int_equal(flushed.dropped_us, 14 * FRAME_US);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 5).reason, UTTERANCE_FLUSHED);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 6).reason, UTTERANCE_FLUSHED);
    assert_int_equal(put(q, 6, 9000, FRAME, true), PLAYOUT_PUT_STALE);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_fade(0, 9000);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
}

static void a_flush_of_what_was_spoken_last_takes_its_copies_back(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 5, 1, FRAME, true);
    (void)put(q, 6, 9000, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0); /* all of 5 */
    assert_true(playout_queue_flush(q, 5, 0).is_cut);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, 9000); /* 5 was at its end: no fall from it */
}

static void a_reply_right_behind_a_flush_follows_the_fade(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 5, 9000, 10 * FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)playout_queue_flush(q, 5, 0);
    (void)put(q, 6, -700, 2 * FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    assert_int_equal(frame[0], 9000 * (FADE - 1) / FADE);
    assert_int_equal(frame[FADE - 1], 0);
    expect_level(FADE, FRAME, -700);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, -700);
}

static void an_end_finishes_all_and_begins_anew(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 8, 9000, 4 * FRAME, true);
    (void)put(q, 9, 1, FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 8);
    (void)playout_queue_flush(q, 7, 0);
    playout_queue_end(q, UTTERANCE_BACKEND_LOST, 0);
    assert_int_equal(put(q, 1, 1, RATE_HZ, true), PLAYOUT_PUT_OK); /* ids and credit are new */
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 8).reason, UTTERANCE_BACKEND_LOST);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 9).reason, UTTERANCE_BACKEND_LOST);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0); /* fades out of 8, and goes on with 1 */
    assert_int_equal(frame[0], 9000 * (FADE - 1) / FADE);
    expect_level(FADE, FRAME, 1);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
}

static void speech_may_start_at_once_only_where_nothing_sounds(void **state)
{
    struct playout_queue *q = *state;
    assert_false(playout_queue_may_start(q));
    (void)put(q, 1, 1, 2 * FRAME - 1, false);
    assert_false(playout_queue_may_start(q)); /* a sample short of the prebuffer */
    (void)put(q, 1, 1, 1, true);
    assert_true(playout_queue_may_start(q));
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    assert_false(playout_queue_may_start(q));
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    (void)put(q, 2, 1, 2 * FRAME, true);
    assert_false(playout_queue_may_start(q)); /* it touches the one before */
    (void)playout_queue_flush(q, 2, 0);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    assert_false(playout_queue_may_start(q));
    (void)put(q, 3, 1, 0, true); /* nothing to say */
    assert_false(playout_queue_may_start(q));
    (void)put(q, 4, 1, 1, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
}

static void every_sample_is_spoken_once_and_in_order(void **state)
{
    struct playout_queue *q = *state;
    struct random_generator random;
    random_generator_init(&random, 7);
    uint16_t next_in = 1;
    uint16_t next_out = 1;
    while (next_out < 60000) {
        const size_t room =
            RATE_HZ - (size_t)(playout_queue_position(q).queued_us * RATE_HZ / US_PER_S) - 1;
        size_t count = random_generator_next(&random) % 3000;
        count = count < room ? count : room;
        count = count < (size_t)(60000 - next_in) ? count : (size_t)(60000 - next_in);
        uint8_t pcm[6000];
        for (size_t i = 0; i < count; i++) {
            pcm[2 * i] = (uint8_t)next_in;
            pcm[2 * i + 1] = (uint8_t)(next_in >> 8);
            next_in++;
        }
        const struct playout_piece piece = {
            .utterance = 1, .media = bytes_view_of(pcm, count * 2), .is_last = next_in == 60000};
        (void)playout_queue_put(q, &piece);
        if (playout_queue_take(q, frame, 0) == PLAYOUT_SLOT_SILENCE) {
            continue;
        }
        for (size_t i = 0; i < FRAME && next_out < 60000 && (uint16_t)frame[i] == next_out; i++) {
            next_out++;
        }
    }
    assert_int_equal(playout_queue_position(q).received_total_us,
                     UINT64_C(59999) * US_PER_S / RATE_HZ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_utterance_is_spoken_to_the_sample_and_fades_out),
        TEST(a_fade_goes_on_in_the_frame_after),
        TEST(an_utterance_waits_for_its_prebuffer_or_its_end),
        TEST(utterances_that_touch_share_a_frame_and_the_encoder),
        TEST(an_underrun_fades_out_and_goes_on_with_20_ms),
        TEST(an_underrun_at_the_edge_of_a_frame_is_told_in_the_next_slot),
        TEST(speech_that_resumes_in_the_tail_keeps_the_encoder),
        TEST(a_flush_cuts_the_queue_and_leaves_only_the_fade),
        TEST(a_flush_of_what_was_spoken_last_takes_its_copies_back),
        TEST(a_reply_right_behind_a_flush_follows_the_fade),
        TEST(speech_may_start_at_once_only_where_nothing_sounds),
        TEST(an_end_finishes_all_and_begins_anew),
        TEST(every_sample_is_spoken_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
