/* voice_downlink_hold_test.c - PAUSE, RESUME, FLUSH and the ends, as the backend sees them */
#include "tests/unit/voice_downlink_world.h"

static void pause_and_resume_are_told_with_how_far_it_was(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 4, 100, true);
    world_slots(&w, 2);
    world_expect(&w, 4, "started");
    assert_int_equal(world_order(&w, BACKEND_PAUSE, 4), VOICE_DOWNLINK_TAKEN);
    const struct backend_frame paused = world_expect(&w, 4, "paused");
    outbox_frames_assert_holds(&paused, "\"sent_us\":40000");
    outbox_frames_assert_holds(&paused, "\"queued_us\":60000");
    world_slots(&w, 500);
    outbox_frames_end(&w.frames);
    assert_int_equal(world_order(&w, BACKEND_RESUME, 4), VOICE_DOWNLINK_TAKEN);
    world_expect(&w, 4, "resumed");
    world_slots(&w, 3);
    const struct backend_frame done = world_expect(&w, 4, "played");
    outbox_frames_assert_holds(&done, "\"sent_us\":100000");
    world_close(&w);
}

static void silence_is_sent_while_it_is_held(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 4, 1000, true);
    world_slots(&w, 2);
    (void)world_order(&w, BACKEND_PAUSE, 4);
    world_slot(&w); /* it falls to silence */
    const struct voice_sender_stats *stats = voice_sender_stats(voice_downlink_sender(w.downlink));
    const uint64_t speech_before = stats->speech_packets;
    const uint64_t packets_before = stats->packets;
    world_slots(&w, 10);
    assert_int_equal(stats->packets - packets_before, 10);
    assert_int_equal(stats->speech_packets - speech_before, 0);
    world_ignore_frames(&w);
    world_close(&w);
}

static void an_utterance_that_is_paused_before_it_came_begins_paused(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_order(&w, BACKEND_PAUSE, 2);
    outbox_frames_end(&w.frames);
    (void)world_say(&w, 2, 100, false);
    world_expect(&w, 2, "paused");
    world_slots(&w, 10);
    (void)world_order(&w, BACKEND_FLUSH, 2); /* a pause dies with its utterance */
    outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    world_expect_done(&w, 2, "flushed");
    (void)world_say(&w, 3, 100, false);
    world_slot(&w);
    world_expect(&w, 3, "started");
    world_close(&w);
}

static void pause_and_resume_name_an_utterance(void **state)
{
    (void)state;
    static const enum backend_frame_type type[] = {BACKEND_PAUSE, BACKEND_RESUME};
    for (size_t i = 0; i < COUNT_OF(type); i++) {
        struct world w;
        world_open(&w);
        assert_int_equal(world_order(&w, type[i], 0), VOICE_DOWNLINK_BAD_FRAME);
        const struct backend_frame error = outbox_frames_expect(&w.frames, BACKEND_ERROR);
        outbox_frames_assert_holds(&error, "\"code\":\"bad_frame\"");
        assert_int_equal(world_order(&w, type[i], 3), VOICE_DOWNLINK_TAKEN);
        world_close(&w);
    }
}

static void speech_of_the_client_pauses_only_a_backend_that_asked_for_it(void **state)
{
    (void)state;
    for (int asked = 0; asked <= 1; asked++) {
        struct world w;
        struct backend_accept accept = world_accept();
        accept.pauses_on_speech = asked == 1;
        world_open_as(&w, &accept);
        voice_downlink_speech_started(w.downlink, w.now_us);
        (void)world_say(&w, 1, 100, true);
        world_slot(&w);
        world_expect(&w, 1, "started");
        voice_downlink_speech_started(w.downlink, w.now_us);
        if (asked == 1) {
            world_expect(&w, 1, "paused");
        }
        outbox_frames_end(&w.frames);
        (void)world_order(&w, BACKEND_RESUME, 1);
        if (asked == 1) {
            world_expect(&w, 1, "resumed");
        }
        world_slots(&w, 4);
        world_expect_done(&w, 1, "played");
        world_close(&w);
    }
}

/* The order at a flush: what was untold of before, FLUSHED, done. */
static void started_leaves_before_flushed_and_done_after(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 5, 1000, true);
    world_slot(&w); /* its PLAYBACK started is still unsent */
    (void)world_order(&w, BACKEND_FLUSH, 5);
    world_expect(&w, 5, "started");
    const struct backend_frame flushed = outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    assert_int_equal(flushed.utterance, 5);
    world_expect_done(&w, 5, "flushed");
    outbox_frames_expect(&w.frames, BACKEND_CREDIT);
    world_close(&w);
}

static void heard_is_never_more_than_sent_nor_negative(void **state)
{
    (void)state;
    static const struct {
        size_t ms;
        const char *heard;
    } c[] = {{20, "\"heard_us\":0"}, {60, "\"heard_us\":0"}, {80, "\"heard_us\":20000"}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        world_open(&w);
        (void)world_say(&w, 1, c[i].ms, true);
        world_slots(&w, (int)c[i].ms / 20);
        world_expect(&w, 1, "started");
        const struct backend_frame done = world_expect(&w, 1, "played");
        outbox_frames_assert_holds(&done, c[i].heard);
        world_close(&w);
    }
}

/* The last word of a backend is said, held or open or not. */
static void after_the_last_word_what_is_held_or_open_is_played(void **state)
{
    (void)state;
    struct world w;
    struct backend_accept accept = world_accept();
    accept.pauses_on_speech = true;
    world_open_as(&w, &accept);
    (void)world_say(&w, 1, 100, false);
    (void)world_order(&w, BACKEND_PAUSE, 1);
    world_expect(&w, 1, "paused");
    voice_downlink_drain(w.downlink, w.now_us);
    world_expect(&w, 1, "resumed");
    assert_false(voice_downlink_is_drained(w.downlink));
    world_slot(&w);
    world_expect(&w, 1, "started");
    voice_downlink_speech_started(w.downlink, w.now_us); /* nobody would let it go on */
    world_slots(&w, 4);
    assert_true(voice_downlink_is_drained(w.downlink));
    voice_downlink_end(w.downlink, false, w.now_us);
    world_expect_done(&w, 1, "session_end"); /* it never said LAST */
    world_close(&w);
}

/* Else one PAUSE would hold the call for as long as a call may last. */
static void after_the_last_word_only_a_flush_is_taken(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    (void)world_say(&w, 1, 100, false);
    voice_downlink_drain(w.downlink, w.now_us);
    assert_int_equal(world_order(&w, BACKEND_PAUSE, 1), VOICE_DOWNLINK_IGNORED);
    assert_int_equal(world_order(&w, BACKEND_RESUME, 1), VOICE_DOWNLINK_IGNORED);
    assert_int_equal(world_say(&w, 1, 100, true), VOICE_DOWNLINK_IGNORED);
    assert_int_equal(world_say(&w, 2, 100, true), VOICE_DOWNLINK_IGNORED);
    world_slots(&w, 2);
    world_expect(&w, 1, "started");
    outbox_frames_end(&w.frames);
    assert_int_equal(world_order(&w, BACKEND_FLUSH, 1), VOICE_DOWNLINK_TAKEN);
    outbox_frames_expect(&w.frames, BACKEND_FLUSHED);
    world_expect_done(&w, 1, "flushed");
    assert_true(voice_downlink_is_drained(w.downlink));
    world_close(&w);
}

/* Nothing woke the sender before: it was paused, or too short. */
static void the_last_words_leave_at_once(void **state)
{
    (void)state;
    static const struct {
        size_t ms;
        bool is_paused;
    } c[] = {{10, false}, {100, true}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        world_open(&w);
        if (c[i].is_paused) {
            (void)world_order(&w, BACKEND_PAUSE, 1);
        }
        (void)world_say(&w, 1, c[i].ms, false);
        world_slot(&w);
        assert_true(world_is_silent(&w));
        w.now_us += US_PER_MS;
        voice_downlink_drain(w.downlink, w.now_us);
        assert_int_equal(voice_downlink_next_timeout(w.downlink), w.now_us);
        world_slot(&w);
        assert_false(world_is_silent(&w));
        assert_true(w.packet.marker);
        world_ignore_frames(&w);
        world_close(&w);
    }
}

/* An utterance may end in a slot that sends nothing. */
static void with_sparse_silence_a_done_is_told_in_its_slot(void **state)
{
    (void)state;
    struct world w;
    const struct backend_accept accept = world_accept();
    world_open_idle(&w, true);
    assert_true(voice_downlink_attach(w.downlink, &accept, w.now_us));
    voice_downlink_start(w.downlink, w.now_us);
    (void)world_say(&w, 1, 20, false);
    world_slots(&w, 3); /* speech, its tail, the first silence */
    world_ignore_frames(&w);
    (void)world_say(&w, 1, 0, true);
    outbox_frames_end(&w.frames);
    w.now_us = voice_downlink_next_timeout(w.downlink);
    assert_int_equal(voice_downlink_poll_packet(w.downlink, w.bytes, w.now_us), 0);
    world_expect_done(&w, 1, "played");
    world_close(&w);
}

static void each_result_has_its_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VOICE_DOWNLINK_RESULT_COUNT; i++) {
        const char *name = voice_downlink_result_name((enum voice_downlink_result)i);
        assert_non_null(name);
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(name,
                                    voice_downlink_result_name((enum voice_downlink_result)k));
        }
    }
}

static void what_is_not_about_speech_is_ignored(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    uint64_t ignored = 0;
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        if (type != BACKEND_AUDIO_OUT && type != BACKEND_FLUSH && type != BACKEND_PAUSE &&
            type != BACKEND_RESUME) {
            ignored++;
            assert_int_equal(world_order(&w, (enum backend_frame_type)type, 1),
                             VOICE_DOWNLINK_IGNORED);
        }
    }
    assert_int_equal(voice_downlink_stats(w.downlink).frames[VOICE_DOWNLINK_IGNORED], ignored);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_and_resume_are_told_with_how_far_it_was),
        cmocka_unit_test(silence_is_sent_while_it_is_held),
        cmocka_unit_test(an_utterance_that_is_paused_before_it_came_begins_paused),
        cmocka_unit_test(pause_and_resume_name_an_utterance),
        cmocka_unit_test(speech_of_the_client_pauses_only_a_backend_that_asked_for_it),
        cmocka_unit_test(started_leaves_before_flushed_and_done_after),
        cmocka_unit_test(heard_is_never_more_than_sent_nor_negative),
        cmocka_unit_test(after_the_last_word_what_is_held_or_open_is_played),
        cmocka_unit_test(after_the_last_word_only_a_flush_is_taken),
        cmocka_unit_test(the_last_words_leave_at_once),
        cmocka_unit_test(with_sparse_silence_a_done_is_told_in_its_slot),
        cmocka_unit_test(each_result_has_its_name),
        cmocka_unit_test(what_is_not_about_speech_is_ignored),
    };
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
