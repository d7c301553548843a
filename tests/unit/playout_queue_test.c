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
    const struct playout_queue_config config = {
        .rate_hz = RATE_HZ, .window_us = WINDOW_US, .prebuffer_us = PREBUFFER_US};
    struct playout_queue *q = playout_queue_create(&config);
    assert_non_null(q);
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

/* `count` samples of one level. */
static enum playout_put_result put(struct playout_queue *q, uint32_t utterance, int16_t level,
                                   size_t count, bool is_last)
{
    uint8_t *pcm = malloc(count * 2 + 1);
    assert_non_null(pcm);
    for (size_t i = 0; i < count; i++) {
        pcm[2 * i] = (uint8_t)level;
        pcm[2 * i + 1] = (uint8_t)((uint16_t)level >> 8);
    }
    const enum playout_put_result result =
        playout_queue_put(q, utterance, bytes_view_of(pcm, count * 2), is_last);
    free(pcm);
    return result;
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

static struct playout_event expect_event(struct playout_queue *q, enum playout_event_type type,
                                         uint32_t utterance)
{
    struct playout_event event;
    assert_true(playout_queue_poll_event(q, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, utterance);
    return event;
}

static void expect_no_event(struct playout_queue *q)
{
    struct playout_event event;
    assert_false(playout_queue_poll_event(q, &event));
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
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, 2000);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 100, 2000);
    expect_fade(100, 2000);
    const struct playout_event done = expect_event(q, PLAYOUT_EVENT_DONE, 1);
    assert_int_equal(done.reason, PLAYOUT_DONE_PLAYED);
    assert_int_equal(done.sent_us, (2 * FRAME + 100) * US_PER_S / RATE_HZ);
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
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 1).reason, PLAYOUT_DONE_PLAYED);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 2);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, 20, 200);
    expect_level(20, FRAME, 300);
    (void)expect_event(q, PLAYOUT_EVENT_DONE, 2);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 3);
}

static void an_utterance_of_nothing_is_done_without_having_started(void **state)
{
    struct playout_queue *q = *state;
    assert_int_equal(put(q, 4, 0, 0, true), PLAYOUT_PUT_OK);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    const struct playout_event done = expect_event(q, PLAYOUT_EVENT_DONE, 4);
    assert_int_equal(done.reason, PLAYOUT_DONE_PLAYED);
    assert_int_equal(done.sent_us, 0);
    expect_no_event(q);
}

static void pieces_of_other_than_the_newest_open_utterance_are_dropped(void **state)
{
    struct playout_queue *q = *state;
    assert_int_equal(put(q, 0, 1, 1, false), PLAYOUT_PUT_STALE);
    assert_int_equal(put(q, 5, 1, 1, false), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 4, 1, 1, false), PLAYOUT_PUT_STALE); /* lower */
    assert_int_equal(put(q, 7, 1, 1, true), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 5, 1, 1, false), PLAYOUT_PUT_STALE); /* completed by 7 */
    assert_int_equal(put(q, 7, 1, 1, false), PLAYOUT_PUT_STALE); /* after its last piece */
    (void)playout_queue_flush(q, 9);
    assert_int_equal(put(q, 8, 1, 1, false), PLAYOUT_PUT_STALE); /* flushed before it came */
    assert_int_equal(put(q, 9, 1, 1, false), PLAYOUT_PUT_STALE);
    assert_int_equal(put(q, 10, 1, 1, false), PLAYOUT_PUT_OK);
    assert_int_equal(playout_queue_stats(q).stale_pieces, 6);
}

static void half_a_sample_is_refused(void **state)
{
    struct playout_queue *q = *state;
    static const uint8_t pcm[3];
    assert_int_equal(playout_queue_put(q, 1, bytes_view_of(pcm, 3), false), PLAYOUT_PUT_ODD_BYTES);
    assert_int_equal(playout_queue_put(q, 1, bytes_view_of(pcm, 2), false), PLAYOUT_PUT_OK);
    assert_int_equal(playout_queue_stats(q).received_us, US_PER_S / RATE_HZ);
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
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    const struct playout_event dry = expect_event(q, PLAYOUT_EVENT_UNDERRUN, 1);
    assert_int_equal(dry.sent_us, (2 * FRAME + 100) * US_PER_S / RATE_HZ);
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
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_fade(0, 5000);
    (void)expect_event(q, PLAYOUT_EVENT_UNDERRUN, 1);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    (void)put(q, 1, 0, 0, true); /* its end comes late */
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 1).reason, PLAYOUT_DONE_PLAYED);
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

static void an_open_utterance_without_audio_starves_after_2_s(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, 5000, 10, false);
    const uint64_t start_us = 50 * US_PER_S;
    expect_slot(q, PLAYOUT_SLOT_SILENCE, start_us);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, start_us + PLAYOUT_QUEUE_STARVE_US - 1);
    (void)put(q, 1, 5000, 10, false); /* a sign of life */
    const uint64_t again_us = start_us + PLAYOUT_QUEUE_STARVE_US + FRAME_US;
    expect_slot(q, PLAYOUT_SLOT_SILENCE, again_us);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, again_us + PLAYOUT_QUEUE_STARVE_US - 1);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, again_us + PLAYOUT_QUEUE_STARVE_US);
    const struct playout_event done = expect_event(q, PLAYOUT_EVENT_DONE, 1);
    assert_int_equal(done.reason, PLAYOUT_DONE_STARVED);
    assert_int_equal(done.sent_us, 0);
    assert_int_equal(playout_queue_stats(q).queued_us, 0);
    assert_int_equal(put(q, 1, 5000, 10, false), PLAYOUT_PUT_STALE);
}

static void an_utterance_behind_another_does_not_starve(void **state)
{
    struct playout_queue *q = *state;
    uint64_t now_us = 0;
    (void)put(q, 1, 5000, 45 * FRAME, true);
    (void)put(q, 2, 6000, 10, false);
    for (int i = 0; i < 45; i++) {
        now_us += 100 * US_PER_MS; /* slots late by far: 4.5 s in all */
        expect_slot(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, now_us);
    }
    (void)put(q, 2, 6000, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, now_us + FRAME_US);
    expect_level(0, FRAME, 6000);
}

static void a_flush_cuts_the_queue_and_leaves_only_the_fade(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 5, 9000, 10 * FRAME, true);
    (void)put(q, 6, 9000, 5 * FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 5);
    const struct playout_flushed flushed = playout_queue_flush(q, 6);
    assert_int_equal(flushed.flush, 6);
    assert_int_equal(flushed.utterance, 5);
    assert_int_equal(flushed.sent_us, FRAME_US);
    assert_int_equal(flushed.dropped_us, 14 * FRAME_US);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 5).reason, PLAYOUT_DONE_FLUSHED);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 6).reason, PLAYOUT_DONE_FLUSHED);
    assert_int_equal(put(q, 6, 9000, FRAME, true), PLAYOUT_PUT_STALE);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_fade(0, 9000);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
}

static void a_reply_right_behind_a_flush_follows_the_fade(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 5, 9000, 10 * FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)playout_queue_flush(q, 5);
    (void)put(q, 6, -700, 2 * FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    assert_int_equal(frame[0], 9000 * (FADE - 1) / FADE);
    assert_int_equal(frame[FADE - 1], 0);
    expect_level(FADE, FRAME, -700);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, -700);
}

static void a_flush_names_what_is_dead_and_nothing_else(void **state)
{
    struct playout_queue *q = *state;
    struct playout_flushed flushed = playout_queue_flush(q, PLAYOUT_QUEUE_ALL);
    assert_int_equal(flushed.flush, 0); /* nothing was seen */
    (void)put(q, 5, 9000, FRAME, true);
    (void)put(q, 6, 9000, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 5);
    (void)expect_event(q, PLAYOUT_EVENT_DONE, 5);
    flushed = playout_queue_flush(q, 5); /* 5 is done, 6 is alive */
    assert_int_equal(flushed.flush, 5);
    assert_int_equal(flushed.utterance, 0);
    assert_int_equal(flushed.dropped_us, 0);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    expect_level(0, FRAME, 9000);

    (void)put(q, 7, 9000, FRAME, true);
    flushed = playout_queue_flush(q, 0); /* all: 7 never began */
    assert_int_equal(flushed.flush, 7);
    assert_int_equal(flushed.utterance, 0);
    assert_int_equal(flushed.dropped_us, FRAME_US);
    (void)playout_queue_flush(q, 20); /* what did not come yet, too */
    assert_int_equal(playout_queue_flush(q, 3).dropped_us, 0);
    assert_int_equal(put(q, 20, 9000, FRAME, true), PLAYOUT_PUT_STALE); /* it was not lowered */
    assert_int_equal(put(q, 21, 9000, FRAME, true), PLAYOUT_PUT_OK);    /* a flush is no mode */
}

static void credit_is_the_window_and_what_was_consumed(void **state)
{
    struct playout_queue *q = *state;
    const size_t window = RATE_HZ;
    assert_int_equal(put(q, 1, 1, window, false), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 1, 2, 1, false), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_stats(q).credit_errors, 1);
    assert_int_equal(playout_queue_stats(q).received_us, WINDOW_US);
    expect_no_event(q);
    for (int i = 0; i < 12; i++) {
        expect_slot(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, 0);
    }
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    expect_no_event(q); /* 240 ms are not a quarter */
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_CREDIT, 0).limit_us, WINDOW_US + 13 * FRAME_US);
    expect_no_event(q);
    /* The part within the limit is taken, the excess is not counted. */
    assert_int_equal(put(q, 1, 3, 13 * FRAME + 1, false), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_stats(q).received_us, WINDOW_US + 13 * FRAME_US);
    (void)playout_queue_flush(q, 1);
    (void)expect_event(q, PLAYOUT_EVENT_DONE, 1);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_CREDIT, 0).limit_us,
                     2 * WINDOW_US + 13 * FRAME_US);
    /* What is dropped for its number is received and consumed. */
    assert_int_equal(put(q, 1, 4, window, false), PLAYOUT_PUT_STALE);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_CREDIT, 0).limit_us,
                     3 * WINDOW_US + 13 * FRAME_US);
}

static void a_65th_utterance_is_refused_until_one_is_polled(void **state)
{
    struct playout_queue *q = *state;
    for (uint32_t id = 1; id <= PLAYOUT_QUEUE_UTTERANCES_MAX; id++) {
        assert_int_equal(put(q, id, 1, 1, true), PLAYOUT_PUT_OK);
    }
    assert_int_equal(put(q, 65, 1, 1, true), PLAYOUT_PUT_FULL);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    assert_int_equal(put(q, 65, 1, 1, true), PLAYOUT_PUT_FULL);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
    (void)expect_event(q, PLAYOUT_EVENT_DONE, 1);
    assert_int_equal(put(q, 65, 1, 1, true), PLAYOUT_PUT_OK);
}

static void an_end_finishes_all_and_begins_anew(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 8, 1, 4 * FRAME, true);
    (void)put(q, 9, 1, FRAME, false);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 8);
    (void)playout_queue_flush(q, 7);
    playout_queue_end(q, PLAYOUT_DONE_BACKEND_LOST);
    assert_int_equal(put(q, 1, 1, RATE_HZ, true), PLAYOUT_PUT_OK); /* ids and credit are new */
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 8).reason, PLAYOUT_DONE_BACKEND_LOST);
    assert_int_equal(expect_event(q, PLAYOUT_EVENT_DONE, 9).reason, PLAYOUT_DONE_BACKEND_LOST);
    expect_no_event(q);
    expect_slot(q, PLAYOUT_SLOT_SPEECH, 0); /* fades out of 8, and goes on with 1 */
    (void)expect_event(q, PLAYOUT_EVENT_STARTED, 1);
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
    (void)playout_queue_flush(q, 2);
    expect_slot(q, PLAYOUT_SLOT_TAIL, 0);
    expect_slot(q, PLAYOUT_SLOT_SILENCE, 0);
    assert_false(playout_queue_may_start(q));
    (void)put(q, 3, 1, 0, true); /* nothing to say */
    assert_false(playout_queue_may_start(q));
    (void)put(q, 4, 1, 1, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0);
}

static void a_flush_cuts_what_was_spoken_last_once(void **state)
{
    struct playout_queue *q = *state;
    assert_false(playout_queue_flush(q, 4).is_cut);
    (void)put(q, 5, 1, FRAME, true);
    expect_slot(q, PLAYOUT_SLOT_FIRST, 0); /* 5 is done, and its copies may be on the way */
    (void)put(q, 6, 1, 2 * FRAME, true);
    assert_false(playout_queue_flush(q, 4).is_cut);
    assert_true(playout_queue_flush(q, 5).is_cut);
    assert_false(playout_queue_flush(q, 5).is_cut);
    assert_false(playout_queue_flush(q, 6).is_cut); /* nothing of 6 was spoken */
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
            RATE_HZ - (size_t)(playout_queue_stats(q).queued_us * RATE_HZ / US_PER_S) - 1;
        size_t count = random_generator_next(&random) % 3000;
        count = count < room ? count : room;
        count = count < (size_t)(60000 - next_in) ? count : (size_t)(60000 - next_in);
        uint8_t pcm[6000];
        for (size_t i = 0; i < count; i++) {
            pcm[2 * i] = (uint8_t)next_in;
            pcm[2 * i + 1] = (uint8_t)(next_in >> 8);
            next_in++;
        }
        (void)playout_queue_put(q, 1, bytes_view_of(pcm, count * 2), next_in == 60000);
        if (playout_queue_take(q, frame, 0) == PLAYOUT_SLOT_SILENCE) {
            continue;
        }
        for (size_t i = 0; i < FRAME && next_out < 60000 && (uint16_t)frame[i] == next_out; i++) {
            next_out++;
        }
    }
    assert_int_equal(playout_queue_stats(q).received_us, UINT64_C(59999) * US_PER_S / RATE_HZ);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void progress_comes_each_time_so_much_was_taken(void **state)
{
    (void)state;
    const struct playout_queue_config config = {.rate_hz = RATE_HZ,
                                                .window_us = WINDOW_US,
                                                .prebuffer_us = PREBUFFER_US,
                                                .progress_us = 60 * US_PER_MS};
    struct playout_queue *q = playout_queue_create(&config);
    struct playout_event event;
    assert_int_equal(put(q, 1, 1000, 10 * FRAME, false), PLAYOUT_PUT_OK);
    uint64_t progress = 0;
    for (uint64_t slot = 0; slot < 8; slot++) {
        (void)playout_queue_take(q, frame, slot * FRAME_US);
        while (playout_queue_poll_event(q, &event)) {
            if (event.type == PLAYOUT_EVENT_PROGRESS) {
                progress++;
                assert_int_equal(event.sent_us, progress * 60 * US_PER_MS);
                assert_int_equal(event.queued_us, 200 * US_PER_MS - event.sent_us);
            }
        }
    }
    assert_int_equal(progress, 2);
    playout_queue_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_comes_each_time_so_much_was_taken),
        TEST(an_utterance_is_spoken_to_the_sample_and_fades_out),
        TEST(a_fade_goes_on_in_the_frame_after),
        TEST(an_utterance_waits_for_its_prebuffer_or_its_end),
        TEST(utterances_that_touch_share_a_frame_and_the_encoder),
        TEST(an_utterance_of_nothing_is_done_without_having_started),
        TEST(pieces_of_other_than_the_newest_open_utterance_are_dropped),
        TEST(half_a_sample_is_refused),
        TEST(an_underrun_fades_out_and_goes_on_with_20_ms),
        TEST(an_underrun_at_the_edge_of_a_frame_is_told_in_the_next_slot),
        TEST(speech_that_resumes_in_the_tail_keeps_the_encoder),
        TEST(an_open_utterance_without_audio_starves_after_2_s),
        TEST(an_utterance_behind_another_does_not_starve),
        TEST(a_flush_cuts_the_queue_and_leaves_only_the_fade),
        TEST(a_reply_right_behind_a_flush_follows_the_fade),
        TEST(a_flush_names_what_is_dead_and_nothing_else),
        TEST(credit_is_the_window_and_what_was_consumed),
        TEST(a_65th_utterance_is_refused_until_one_is_polled),
        TEST(speech_may_start_at_once_only_where_nothing_sounds),
        TEST(a_flush_cuts_what_was_spoken_last_once),
        TEST(an_end_finishes_all_and_begins_anew),
        TEST(heard_is_what_left_less_half_the_way_and_the_buffer),
        TEST(every_sample_is_spoken_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
