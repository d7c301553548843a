/* dialogue_echo_test.c - echo and tone: sample for sample, bounded, as far as credit goes */
#include "tests/unit/dialogue_world.h"

#include "services/inference-stub/sound/tone.h"

/* --- echo ------------------------------------------------------------------------------------- */

static void numbered_frame(int16_t frame[FRAME], size_t number)
{
    for (size_t i = 0; i < FRAME; i++) {
        frame[i] = (int16_t)((number * FRAME + i) % 30000 + 1);
    }
}

static void echo_frames(struct call *c, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        int16_t frame[FRAME];
        numbered_frame(frame, i);
        hear_frame(c, frame, 0);
        drain(c);
    }
}

static void an_echo_returns_every_sample_at_once_in_one_utterance(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    for (size_t i = 0; i < 500; i++) {
        echo_frames(c, i, 1);
        assert_int_equal(c->said_in_all, (i + 1) * FRAME); /* nothing is held back */
    }
    assert_int_equal(c->utterance, 1);
    assert_int_equal(c->finished, 0);
    for (size_t i = 0; i < c->said_samples; i++) {
        assert_int_equal(c->said[i], i % 30000 + 1);
    }
    close_call(c);
}

static void an_echo_without_credit_is_dropped_and_not_played_late(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, 10 * 20 * US_PER_MS);
    echo_frames(c, 0, 50);
    assert_int_equal(c->said_in_all, 10 * FRAME);
    assert_int_equal(metric_get(&c->counters.echo_dropped_samples), 40 * FRAME);
    dialogue_credit(c->dialogue, 12 * 20 * US_PER_MS);
    drain(c);
    assert_int_equal(c->said_in_all, 10 * FRAME);
    echo_frames(c, 50, 5);
    assert_int_equal(c->said_in_all, 12 * FRAME);
    assert_int_equal(c->said[10 * FRAME], 50 * FRAME % 30000 + 1);
    assert_int_equal(c->utterance, 1);
    close_call(c);
}

static void an_echo_nobody_takes_is_bounded(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    int16_t frame[FRAME];
    for (size_t i = 0; i < 200; i++) {
        numbered_frame(frame, i);
        hear_frame(c, frame, 0);
    }
    drain(c);
    assert_int_equal(MS(c->said_in_all), 1000);
    close_call(c);
}

static void an_echo_begins_anew_after_a_gap_and_after_its_end(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    int16_t frame[FRAME];
    numbered_frame(frame, 0);
    echo_frames(c, 0, 5);
    hear_frame(c, frame, BACKEND_AUDIO_DISCONTINUITY);
    drain(c);
    assert_int_equal(c->utterance, 2);
    echo_frames(c, 0, 5);
    assert_int_equal(c->utterance, 2);
    playback_done(c);
    echo_frames(c, 0, 5);
    assert_int_equal(c->utterance, 3);
    dialogue_playback(c->dialogue, &(struct backend_playback){.utterance = 2, .state = "done"});
    echo_frames(c, 0, 5);
    assert_int_equal(c->utterance, 3); /* the end of an older one changes nothing */
    close_call(c);
}

static void first_words_that_come_late_are_not_echoed(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    int16_t frame[FRAME] = {1};
    for (size_t i = 0; i < 100; i++) {
        hear_frame(c, frame, BACKEND_AUDIO_LATE);
        drain(c);
    }
    assert_int_equal(c->said_in_all, 0);
    echo_frames(c, 0, 1);
    assert_int_equal(c->said_in_all, FRAME);
    close_call(c);
}

static void an_echo_that_fell_behind_catches_up(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    echo_frames(c, 0, 10);
    const struct backend_playback on_time = {
        .utterance = 1, .state = "progress", .queued_us = 200 * US_PER_MS};
    dialogue_playback(c->dialogue, &on_time);
    echo_frames(c, 10, 10);
    assert_int_equal(c->said_in_all, 20 * FRAME);
    const struct backend_playback behind = {
        .utterance = 1, .state = "progress", .queued_us = 240 * US_PER_MS};
    dialogue_playback(c->dialogue, &behind);
    echo_frames(c, 20, 20);
    assert_int_equal(c->said_in_all, 30 * FRAME); /* 200 ms were left out */
    close_call(c);
}

static void an_echo_may_be_delayed_by_silence_ahead_of_it(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_ECHO, PLENTY_US);
    dialogue_destroy(c->dialogue);
    c->dialogue = dialogue_create(&(struct dialogue_config){.mode = DIALOGUE_ECHO,
                                                            .rate_hz = RATE_HZ,
                                                            .echo_delay_us = 250 * US_PER_MS,
                                                            .credit_us = PLENTY_US,
                                                            .counters = &c->counters});
    echo_frames(c, 0, 10);
    assert_int_equal(c->said_samples, SAMPLES(250) + 10 * FRAME);
    for (size_t i = 0; i < SAMPLES(250); i++) {
        assert_int_equal(c->said[i], 0);
    }
    assert_int_equal(c->said[SAMPLES(250)], 1);
    /* After a gap the old utterance is still being played: that is the delay already. */
    int16_t frame[FRAME];
    numbered_frame(frame, 0);
    hear_frame(c, frame, BACKEND_AUDIO_DISCONTINUITY);
    drain(c);
    assert_int_equal(c->utterance, 2);
    assert_int_equal(c->said_samples, FRAME);
    playback_done(c);
    echo_frames(c, 0, 1);
    assert_int_equal(c->said_samples, SAMPLES(250) + FRAME);
    close_call(c);
}

/* --- tone ------------------------------------------------------------------------------------- */

static void a_tone_fills_the_credit_and_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_TONE, 2 * US_PER_S);
    drain(c);
    assert_int_equal(c->said_in_all, 2 * RATE_HZ);
    room(c, 100);
    assert_int_equal(c->said_in_all, 2 * RATE_HZ);
    dialogue_credit(c->dialogue, 2 * US_PER_S + 33333);
    drain(c);
    assert_int_equal(c->said_in_all, 2 * RATE_HZ + 533);
    static int16_t want[2 * RATE_HZ + 533];
    struct tone tone;
    tone_init(&tone, 1000, RATE_HZ);
    tone_generate(&tone, want, COUNT_OF(want));
    assert_memory_equal(c->said, want, sizeof(want));
    assert_int_equal(c->utterance, 1);
    /* Flushed by somebody else: the next utterance starts at phase 0. */
    playback_done(c);
    dialogue_credit(c->dialogue, 3 * US_PER_S);
    drain(c);
    assert_int_equal(c->utterance, 2);
    assert_memory_equal(c->said, want, 100);
    close_call(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_echo_returns_every_sample_at_once_in_one_utterance),
        cmocka_unit_test(an_echo_without_credit_is_dropped_and_not_played_late),
        cmocka_unit_test(an_echo_nobody_takes_is_bounded),
        cmocka_unit_test(an_echo_begins_anew_after_a_gap_and_after_its_end),
        cmocka_unit_test(first_words_that_come_late_are_not_echoed),
        cmocka_unit_test(an_echo_that_fell_behind_catches_up),
        cmocka_unit_test(an_echo_may_be_delayed_by_silence_ahead_of_it),
        cmocka_unit_test(a_tone_fills_the_credit_and_goes_on_where_it_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
