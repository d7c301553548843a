/* playout_queue_test.c - every sample once and in order, every utterance done exactly once */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/playout_queue.h"

#include <stdlib.h>

#define RATE_HZ      24000
#define FRAME        480
#define FADE         120
#define FRAME_US     (20 * US_PER_MS)
#define WINDOW_US    US_PER_S
#define PREBUFFER_US (40 * US_PER_MS)

static struct playout_queue *create(void)
{
    const struct playout_queue_config config = {.rate_hz = RATE_HZ, .window_us = WINDOW_US};
    struct playout_queue *q = playout_queue_create(&config);
    assert_non_null(q);
    playout_queue_attach(q, PREBUFFER_US, 0, 0);
    return q;
}

static int setup(void **state)
{
    *state = create();
    return 0;
}

static int teardown(void **state)
{
    playout_queue_destroy(*state);
    return 0;
}

static enum playout_put_result put_piece(struct playout_queue *q, struct playout_piece piece,
                                         int16_t level, size_t count)
{
    uint8_t *pcm = malloc(count * 2 + 1);
    assert_non_null(pcm);
    for (size_t i = 0; i < count; i++) {
        pcm[2 * i] = (uint8_t)level;
        pcm[2 * i + 1] = (uint8_t)((uint16_t)level >> 8);
    }
    piece.media = bytes_view_of(pcm, count * 2);
    const enum playout_put_result result = playout_queue_put(q, &piece);
    free(pcm);
    return result;
}

/* `count` samples of one level. */
static enum playout_put_result put(struct playout_queue *q, uint32_t utterance, int16_t level,
                                   size_t count, bool is_last)
{
    return put_piece(q, (struct playout_piece){.utterance = utterance, .is_last = is_last}, level,
                     count);
}

static enum playout_put_result put_at(struct playout_queue *q, uint32_t utterance,
                                      uint64_t offset_us, int16_t level, size_t count)
{
    return put_piece(q, (struct playout_piece){.utterance = utterance, .offset_us = offset_us},
                     level, count);
}

static int16_t frame[FRAME];

static void expect_slot(struct playout_queue *q, enum playout_slot slot, uint64_t now_us)
{
    memset(frame, 0x55, sizeof(frame));
    assert_int_equal(playout_queue_take(q, frame, now_us), slot);
}

/* frame[from..to) has one level. */
static void expect_level(size_t from, size_t to, int16_t level)
{
    for (size_t i = from; i < to; i++) {
        assert_int_equal(frame[i], level);
    }
}

/* frame[from..from + 5 ms) falls from a level to zero, and the rest of it is zero. */
static void expect_fade(size_t from, int16_t level)
{
    for (size_t i = 0; i < FADE; i++) {
        assert_int_equal(frame[from + i], level * (FADE - 1 - (int)i) / FADE);
    }
    expect_level(from + FADE, FRAME, 0);
}

static struct utterance_event expect_event(struct playout_queue *q, enum utterance_event_type type,
                                           uint32_t utterance)
{
    struct utterance_event event;
    assert_true(playout_queue_poll_event(q, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, utterance);
    return event;
}

static void expect_no_event(struct playout_queue *q)
{
    struct utterance_event event;
    assert_false(playout_queue_poll_event(q, &event));
}

static uint64_t expect_credit(struct playout_queue *q)
{
    uint64_t limit_us = 0;
    assert_true(playout_queue_poll_credit(q, &limit_us));
    return limit_us;
}

static void expect_no_credit(struct playout_queue *q)
{
    uint64_t limit_us = 0;
    assert_false(playout_queue_poll_credit(q, &limit_us));
}

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

static void heard_is_what_left_less_half_the_way_and_the_buffer(void **state)
{
    (void)state;
    assert_int_equal(playout_queue_heard_us(1240000, 100000), 1130000);
    assert_int_equal(playout_queue_heard_us(110000, 100000), 0);
    assert_int_equal(playout_queue_heard_us(110001, 100000), 1);
    assert_int_equal(playout_queue_heard_us(0, 0), 0);
    assert_int_equal(playout_queue_heard_us(1000, UINT64_MAX), 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_utterance_is_spoken_to_the_sample_and_fades_out),
        TEST(a_fade_goes_on_in_the_frame_after),
        TEST(an_utterance_waits_for_its_prebuffer_or_its_end),
        TEST(utterances_that_touch_share_a_frame_and_the_encoder),
        TEST(half_a_sample_is_refused),
        TEST(an_underrun_fades_out_and_goes_on_with_20_ms),
        TEST(an_underrun_at_the_edge_of_a_frame_is_told_in_the_next_slot),
        TEST(speech_that_resumes_in_the_tail_keeps_the_encoder),
        TEST(a_flush_cuts_the_queue_and_leaves_only_the_fade),
        TEST(a_flush_of_what_was_spoken_last_takes_its_copies_back),
        TEST(a_window_is_of_whole_samples),
        TEST(a_reply_right_behind_a_flush_follows_the_fade),
        TEST(credit_is_the_window_and_what_was_consumed),
        TEST(speech_may_start_at_once_only_where_nothing_sounds),
        TEST(after_a_resume_what_was_received_is_dropped_to_the_sample),
        TEST(an_offset_of_another_than_the_newest_is_stale_or_a_gap),
        TEST(an_end_finishes_all_and_begins_anew),
        TEST(heard_is_what_left_less_half_the_way_and_the_buffer),
        TEST(every_sample_is_spoken_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
