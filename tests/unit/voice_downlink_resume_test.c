/* voice_downlink_resume_test.c - backends are lost and come back, or others come in their place */
#include "tests/unit/voice_downlink_world.h"

#define MS(n) ((n)*US_PER_MS)

static void lose(struct world *w)
{
    voice_downlink_detach(w->downlink);
}

static void come_back(struct world *w)
{
    const struct backend_accept accept = world_accept();
    assert_true(voice_downlink_attach(w->downlink, &accept, w->now_us));
}

/* What began or ended while nobody was there is told to who comes back. */
static void what_is_queued_plays_on_and_is_told_later(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 100, true);
    (void)world_say(&w, 2, 200, false);
    world_slot(&w);
    world_expect(&w, 1, "started");
    lose(&w);
    world_slots(&w, 30);
    outbox_frames_end(&w.frames);
    assert_true(voice_downlink_is_drained(w.downlink));
    come_back(&w);
    world_expect_done(&w, 1, "played");
    world_expect(&w, 2, "started");
    world_expect(&w, 2, "underrun");
    world_close(&w);
}

static void the_position_tells_a_backend_where_to_go_on(void **state)
{
    (void)state;
    struct world w;
    world_open_early(&w);
    assert_int_equal(voice_downlink_position(w.downlink).credit_us, WORLD_CREDIT_US);
    assert_int_equal(voice_downlink_position(w.downlink).utterance, 0);
    world_close(&w);

    world_open(&w);
    (void)world_say(&w, 1, 100, true);
    (void)world_say(&w, 3, 400, false);
    (void)world_say(&w, 2, 50, false); /* dropped for its number, and counted */
    world_slots(&w, 10);
    lose(&w);
    world_slot(&w);
    const struct backend_position position = voice_downlink_position(w.downlink);
    assert_int_equal(position.utterance, 3);
    assert_int_equal(position.received_us, MS(400));
    assert_int_equal(position.received_total_us, MS(550));
    assert_int_equal(position.sent_us, MS(120));
    assert_int_equal(position.credit_us, WORLD_CREDIT_US + MS(100 + 50 + 120));
    world_ignore_frames(&w);
    world_close(&w);
}

static void a_resumed_utterance_goes_on_without_a_sample_lost_or_doubled(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 100, false);
    world_slot(&w);
    world_expect(&w, 1, "started");
    lose(&w);
    world_slots(&w, 2);
    come_back(&w);
    struct backend_frame frame = world_audio(1, 100, true);
    frame.time_us = MS(60); /* 40 ms of it were received before */
    assert_int_equal(world_hear(&w, &frame), VOICE_DOWNLINK_TAKEN);
    assert_int_equal(voice_downlink_position(w.downlink).received_us, MS(160));
    assert_int_equal(voice_downlink_position(w.downlink).received_total_us, MS(160));
    world_slots(&w, 5);
    const struct backend_frame done = world_expect(&w, 1, "played");
    outbox_frames_assert_holds(&done, "\"sent_us\":160000");
    world_close(&w);
}

static void a_gap_behind_what_was_received_is_an_error_and_the_session_goes_on(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 100, false);
    lose(&w);
    come_back(&w);
    struct backend_frame frame = world_audio(1, 100, false);
    frame.time_us = MS(101);
    frame.sequence = 12;
    assert_int_equal(world_hear(&w, &frame), VOICE_DOWNLINK_SEQUENCE);
    const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
    outbox_frames_assert_holds(&error, "\"code\":\"sequence\"");
    outbox_frames_assert_holds(&error, "\"fatal\":false");
    outbox_frames_assert_holds(&error, "\"sequence\":12");
    frame.time_us = MS(100);
    assert_int_equal(world_hear(&w, &frame), VOICE_DOWNLINK_TAKEN);
    world_close(&w);
}

static void older_utterances_play_to_their_end_and_a_flushed_one_stays_dead(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 60, true);
    (void)world_say(&w, 2, 60, false);
    (void)world_order(&w, BACKEND_FLUSH, 0);
    outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    world_expect_done(&w, 1, "flushed");
    world_expect_done(&w, 2, "flushed");
    (void)world_say(&w, 3, 40, false);
    (void)world_say(&w, 4, 20, false);
    lose(&w);
    come_back(&w);
    world_expect_done(&w, 1, "flushed");
    world_expect_done(&w, 2, "flushed");
    struct backend_frame frame = world_audio(2, 60, true);
    frame.time_us = MS(60);
    assert_int_equal(world_hear(&w, &frame), VOICE_DOWNLINK_STALE);
    world_slots(&w, 3);
    world_expect(&w, 3, "started");
    world_expect_done(&w, 3, "played");
    world_expect(&w, 4, "started");
    world_close(&w);
}

static void each_done_of_the_last_10_s_is_told_once_per_connection(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 20, true);
    world_slot(&w);
    world_expect(&w, 1, "started");
    world_expect_done(&w, 1, "played");
    world_slots(&w, 250);
    (void)world_say(&w, 2, 20, true);
    world_slot(&w);
    world_expect(&w, 2, "started");
    world_expect_done(&w, 2, "played");
    for (int i = 0; i < 2; i++) {
        lose(&w);
        come_back(&w);
        world_expect_done(&w, 1, "played");
        world_expect_done(&w, 2, "played");
        outbox_frames_end(&w.frames);
    }
    world_slots(&w, 250); /* 10.02 s after the first */
    lose(&w);
    come_back(&w);
    world_expect_done(&w, 2, "played");
    world_close(&w);
}

static void credit_freed_meanwhile_is_told_to_who_comes_back(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 1000, true);
    world_slot(&w);
    world_expect(&w, 1, "started");
    lose(&w);
    world_slots(&w, 49);
    outbox_frames_end(&w.frames);
    come_back(&w);
    world_expect_done(&w, 1, "played");
    const struct backend_frame credit = outbox_frames_expect(&w.frames, BACKEND_CREDIT);
    struct byte_reader r;
    byte_reader_init(&r, credit.payload);
    assert_int_equal(byte_reader_u64_le(&r), WORLD_CREDIT_US + US_PER_S);
    world_close(&w);
}

static void a_resume_with_another_format_is_refused(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = world_accept();
    world_open(&w);
    lose(&w);
    accept.out.rate_khz = 16;
    assert_false(voice_downlink_attach(w.downlink, &accept, w.now_us));
    world_close(&w);
}

/* Ids, credit and flushes begin at 0; what was queued is told as lost, so that no id of the new
 * backend can be meant. */
static void a_backend_that_knows_nothing_begins_anew(void **state)
{
    (void)state;
    for (unsigned rate_khz = 16; rate_khz <= 24; rate_khz += 8) { /* it may choose another rate */
        struct world w;
        world_open(&w);
        (void)world_say(&w, 7, 20, true);
        world_slot(&w);
        world_expect(&w, 7, "started");
        world_expect_done(&w, 7, "played");
        (void)world_say(&w, 8, 1000, true);
        (void)world_say(&w, 9, 500, false);
        lose(&w);
        world_slots(&w, 3);
        voice_downlink_restart(w.downlink, w.now_us);
        world_expect_done(&w, 8, "backend_lost");
        world_expect_done(&w, 9, "backend_lost");
        outbox_frames_end(&w.frames);
        assert_true(voice_downlink_is_drained(w.downlink));
        assert_int_equal(voice_downlink_position(w.downlink).utterance, 0);
        assert_int_equal(voice_downlink_position(w.downlink).credit_us, WORLD_CREDIT_US);
        world_slots(&w, 3);
        struct backend_accept accept = world_accept();
        accept.out.rate_khz = (uint8_t)rate_khz;
        assert_true(voice_downlink_attach(w.downlink, &accept, w.now_us));
        outbox_frames_end(&w.frames);
        struct backend_frame frame = world_audio(1, 100, true);
        frame.rate_khz = (uint8_t)rate_khz;
        assert_int_equal(world_hear(&w, &frame), VOICE_DOWNLINK_TAKEN);
        world_slot(&w);
        world_expect(&w, 1, "started");
        lose(&w);
        accept.out.rate_khz ^= 16 ^ 24; /* and then stays with it */
        assert_false(voice_downlink_attach(w.downlink, &accept, w.now_us));
        world_close(&w);
    }
}

static void a_smaller_prebuffer_of_who_comes_back_counts_at_once(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = world_accept();
    accept.prebuffer_ms = 200;
    world_open_as(&w, &accept);
    (void)world_say(&w, 1, 100, false);
    world_slot(&w);
    world_expect(&w, 1, "underrun");
    lose(&w);
    w.now_us += US_PER_MS;
    come_back(&w);
    assert_int_equal(voice_downlink_next_timeout(w.downlink), w.now_us);
    world_slot(&w);
    assert_false(world_is_silent(&w));
    world_expect(&w, 1, "started");
    world_close(&w);
}

static void counters_outlive_the_backends(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    for (uint8_t rate_khz = 24; rate_khz >= 16; rate_khz -= 8) {
        struct backend_accept accept = world_accept();
        struct backend_frame frame = world_audio(1, 5, false);
        frame.rate_khz = accept.out.rate_khz = rate_khz;
        lose(&w);
        voice_downlink_restart(w.downlink, w.now_us);
        assert_true(voice_downlink_attach(w.downlink, &accept, w.now_us));
        (void)world_hear(&w, &frame);
        world_slot(&w);
    }
    const struct voice_downlink_stats stats = voice_downlink_stats(w.downlink);
    assert_int_equal(stats.underruns, 2);
    assert_int_equal(stats.frames[VOICE_DOWNLINK_TAKEN], 2);
    world_ignore_frames(&w);
    world_close(&w);
}

static void frames_of_a_backend_that_is_gone_have_no_effect(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    lose(&w);
    assert_int_equal(world_say(&w, 1, 20, true), VOICE_DOWNLINK_IGNORED);
    assert_int_equal(world_order(&w, BACKEND_FLUSH, 0), VOICE_DOWNLINK_IGNORED);
    assert_true(voice_downlink_is_drained(w.downlink));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_queued_plays_on_and_is_told_later),
        cmocka_unit_test(the_position_tells_a_backend_where_to_go_on),
        cmocka_unit_test(a_resumed_utterance_goes_on_without_a_sample_lost_or_doubled),
        cmocka_unit_test(a_gap_behind_what_was_received_is_an_error_and_the_session_goes_on),
        cmocka_unit_test(older_utterances_play_to_their_end_and_a_flushed_one_stays_dead),
        cmocka_unit_test(each_done_of_the_last_10_s_is_told_once_per_connection),
        cmocka_unit_test(credit_freed_meanwhile_is_told_to_who_comes_back),
        cmocka_unit_test(a_resume_with_another_format_is_refused),
        cmocka_unit_test(a_backend_that_knows_nothing_begins_anew),
        cmocka_unit_test(a_smaller_prebuffer_of_who_comes_back_counts_at_once),
        cmocka_unit_test(counters_outlive_the_backends),
        cmocka_unit_test(frames_of_a_backend_that_is_gone_have_no_effect),
    };
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
