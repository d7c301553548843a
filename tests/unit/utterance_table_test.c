/* utterance_table_test.c - the life cycle, line by line (docs/backend-protocol.md, "Utterances") */
#include "tests/unit/utterance_world.h"

#define PREBUFFER (2 * FRAME)
#define FRAME_US  (20 * US_PER_MS)

static const struct utterance_pace pace = {.prebuffer_ticks = PREBUFFER};

static int setup(void **state)
{
    return open_table(state, &pace);
}

/* A slot of 20 ms: how much of it is speech. */
static uint64_t slot(struct utterance_table *t, uint64_t now_us)
{
    uint64_t spoken = 0;
    while (spoken < FRAME) {
        const uint64_t ticks = utterance_table_turn(t, now_us);
        if (ticks == 0) {
            break;
        }
        const uint64_t count = ticks < FRAME - spoken ? ticks : FRAME - spoken;
        utterance_table_spoke(t, count, now_us);
        spoken += count;
    }
    return spoken;
}

static struct utterance_event expect(struct utterance_table *t, enum utterance_event_type type,
                                     uint32_t id)
{
    struct utterance_event event;
    assert_true(utterance_table_poll_event(t, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, id);
    return event;
}

static void expect_done(struct utterance_table *t, uint32_t id, enum utterance_reason reason,
                        uint64_t sent_ticks)
{
    const struct utterance_event done = expect(t, UTTERANCE_EVENT_DONE, id);
    assert_int_equal(done.reason, reason);
    assert_int_equal(done.sent_ticks, sent_ticks);
    assert_int_equal(done.queued_ticks, 0);
}

static void a_queued_one_starts_with_its_prebuffer_or_complete(void **state)
{
    (void)state;
    static const struct {
        uint64_t ticks;
        bool is_last;
        bool starts;
    } c[] = {
        {PREBUFFER - 1, false, false},
        {PREBUFFER, false, true},
        {1, true, true},
        {0, true, false}, /* nothing to say: done, and never started */
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        void *world = NULL;
        assert_int_equal(setup(&world), 0);
        struct utterance_table *t = world;
        (void)piece(t, 3, c[i].ticks, c[i].is_last);
        assert_int_equal(utterance_table_may_start(t), c[i].starts);
        expect_nothing(t);
        assert_int_equal(slot(t, NOW_US) > 0, c[i].starts);
        if (c[i].starts) {
            (void)expect(t, UTTERANCE_EVENT_STARTED, 3);
        }
        if (c[i].is_last) {
            expect_done(t, 3, UTTERANCE_PLAYED, c[i].ticks);
        }
        (void)close_table(&world);
    }
}

static void last_and_empty_is_played(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, 3 * FRAME, false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot(t, NOW_US), FRAME);
    }
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    (void)piece(t, 1, 0, true); /* LAST may be empty */
    assert_int_equal(slot(t, NOW_US), 0);
    expect_done(t, 1, UTTERANCE_PLAYED, 3 * FRAME);
    expect_nothing(t);
}

static void a_higher_id_completes_the_lower_one(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, FRAME / 2, false);
    (void)piece(t, 2, PREBUFFER, false);
    assert_int_equal(slot(t, NOW_US), FRAME); /* half of each */
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect_done(t, 1, UTTERANCE_PLAYED, FRAME / 2);
    assert_int_equal(expect(t, UTTERANCE_EVENT_STARTED, 2).sent_ticks, FRAME / 2);
    expect_nothing(t);
}

static void empty_without_last_is_an_underrun_told_at_once_and_goes_on_with_20_ms(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, PREBUFFER + 1, false);
    (void)slot(t, NOW_US);
    (void)slot(t, NOW_US);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect_nothing(t);
    assert_int_equal(slot(t, NOW_US), 1);
    assert_int_equal(expect(t, UTTERANCE_EVENT_UNDERRUN, 1).sent_ticks, PREBUFFER + 1);
    (void)piece(t, 1, FRAME - 1, false);
    assert_int_equal(slot(t, NOW_US), 0);
    assert_false(utterance_table_may_start(t));
    (void)piece(t, 1, 1, false);
    assert_true(utterance_table_may_start(t));
    assert_int_equal(slot(t, NOW_US), FRAME);
    expect_nothing(t); /* it has started before */
    assert_int_equal(slot(t, NOW_US), 0);
    (void)expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
    assert_int_equal(utterance_table_underruns(t), 2);
}

static void a_queued_one_short_of_its_prebuffer_is_an_underrun_told_once(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, 1, false);
    expect_nothing(t);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot(t, NOW_US), 0);
        (void)piece(t, 1, 1, false);
    }
    const struct utterance_event dry = expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
    assert_int_equal(dry.sent_ticks, 0);
    expect_nothing(t);
    (void)piece(t, 1, PREBUFFER, false);
    assert_int_equal(slot(t, NOW_US), FRAME);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
}

static void two_seconds_of_underrun_are_starved(void **state)
{
    (void)state;
    for (int has_begun = 0; has_begun <= 1; has_begun++) {
        void *world = NULL;
        assert_int_equal(setup(&world), 0);
        struct utterance_table *t = world;
        const uint64_t sent = has_begun ? PREBUFFER : 0;
        (void)piece(t, 1, has_begun ? PREBUFFER : 10, false);
        (void)slot(t, NOW_US);
        (void)slot(t, NOW_US);
        (void)slot(t, NOW_US);
        if (has_begun) {
            (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
        }
        (void)expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
        (void)slot(t, NOW_US + UTTERANCE_STARVE_US - 1);
        (void)piece(t, 1, 10, false); /* a sign of life */
        const uint64_t again_us = NOW_US + UTTERANCE_STARVE_US + FRAME_US;
        (void)slot(t, again_us);
        (void)slot(t, again_us + UTTERANCE_STARVE_US - 1);
        expect_nothing(t);
        (void)slot(t, again_us + UTTERANCE_STARVE_US);
        expect_done(t, 1, UTTERANCE_STARVED, sent);
        assert_int_equal(utterance_table_queued(t), 0);
        assert_int_equal(piece(t, 1, 10, false), UTTERANCE_STALE);
        (void)close_table(&world);
    }
}

static void one_that_waits_behind_another_does_not_starve(void **state)
{
    struct utterance_table *t = *state;
    uint64_t now_us = NOW_US;
    (void)piece(t, 1, 45 * FRAME, true);
    (void)piece(t, 2, 10, false);
    for (int i = 0; i < 45; i++) {
        now_us += 100 * US_PER_MS; /* slots late by far: 4.5 s in all */
        assert_int_equal(slot(t, now_us), FRAME);
    }
    (void)slot(t, now_us);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect_done(t, 1, UTTERANCE_PLAYED, 45 * FRAME);
    (void)expect(t, UTTERANCE_EVENT_UNDERRUN, 2);
    expect_nothing(t);
}

static void a_paused_one_goes_on_at_the_next_sample(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, 4 * FRAME, true);
    (void)slot(t, NOW_US);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    assert_true(utterance_table_pause(t, 1));
    assert_int_equal(expect(t, UTTERANCE_EVENT_PAUSED, 1).queued_ticks, 3 * FRAME);
    assert_true(utterance_table_pause(t, 1)); /* it changes nothing */
    expect_nothing(t);
    assert_int_equal(slot(t, NOW_US), 0);
    assert_false(utterance_table_may_start(t));
    utterance_table_resume(t, 1);
    assert_int_equal(expect(t, UTTERANCE_EVENT_RESUMED, 1).sent_ticks, FRAME);
    utterance_table_resume(t, 1); /* likewise */
    expect_nothing(t);
    assert_true(utterance_table_may_start(t));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slot(t, NOW_US), FRAME);
    }
    expect_done(t, 1, UTTERANCE_PLAYED, 4 * FRAME);
}

static void a_paused_one_never_starves_and_holds_those_behind_it(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, 1, false);
    assert_true(utterance_table_pause(t, 1));
    (void)piece(t, 2, 4 * FRAME, true);
    (void)expect(t, UTTERANCE_EVENT_PAUSED, 1);
    assert_int_equal(slot(t, NOW_US), 0);
    assert_int_equal(slot(t, NOW_US + 3600 * US_PER_S), 0);
    expect_nothing(t);
    utterance_table_resume(t, 1);
    assert_int_equal(slot(t, NOW_US + 3600 * US_PER_S), FRAME);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    (void)expect(t, UTTERANCE_EVENT_RESUMED, 1);
    expect_done(t, 1, UTTERANCE_PLAYED, 1);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 2);
}

static void an_underrun_that_is_paused_does_not_starve(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, PREBUFFER, false);
    for (int i = 0; i < 3; i++) {
        (void)slot(t, NOW_US);
    }
    (void)slot(t, NOW_US + UTTERANCE_STARVE_US - 1);
    utterance_table_pause_speaker(t);
    (void)slot(t, NOW_US + 10 * UTTERANCE_STARVE_US);
    utterance_table_resume(t, 1);
    const uint64_t again_us = NOW_US + 20 * UTTERANCE_STARVE_US;
    (void)slot(t, again_us); /* it has its time again */
    (void)slot(t, again_us + UTTERANCE_STARVE_US - 1);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    (void)expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
    (void)expect(t, UTTERANCE_EVENT_PAUSED, 1);
    (void)expect(t, UTTERANCE_EVENT_RESUMED, 1);
    expect_nothing(t);
}

static void an_id_not_seen_yet_begins_paused(void **state)
{
    struct utterance_table *t = *state;
    assert_true(utterance_table_pause(t, 5));
    expect_nothing(t);
    (void)piece(t, 5, 4 * FRAME, false);
    (void)expect(t, UTTERANCE_EVENT_PAUSED, 5);
    assert_int_equal(slot(t, NOW_US), 0);
    utterance_table_resume(t, 5);
    assert_int_equal(slot(t, NOW_US), FRAME);
}

static void what_is_held_ahead_is_let_go_by_resume_flush_or_a_higher_id(void **state)
{
    struct utterance_table *t = *state;
    for (uint32_t id = 5; id <= 8; id++) {
        assert_true(utterance_table_pause(t, id));
    }
    utterance_table_resume(t, 5);
    (void)piece(t, 5, PREBUFFER, true);
    assert_int_equal(slot(t, NOW_US), FRAME);
    (void)utterance_table_flush(t, 6, NOW_US);
    (void)piece(t, 8, PREBUFFER, true); /* 7 never comes; 8 is held */
    assert_int_equal(slot(t, NOW_US), 0);
    (void)utterance_table_flush(t, 8, NOW_US); /* and dies held */
    for (uint32_t id = 1; id <= 8; id++) {     /* over: nothing to hold */
        assert_true(utterance_table_pause(t, id));
    }
    (void)piece(t, 9, PREBUFFER, true);
    assert_int_equal(slot(t, NOW_US), FRAME);
}

static void so_many_are_held_ahead_and_no_more(void **state)
{
    struct utterance_table *t = *state;
    for (uint32_t id = 1; id <= HELD_IDS_MAX; id++) {
        assert_true(utterance_table_pause(t, id));
    }
    assert_true(utterance_table_pause(t, 1)); /* it is held already */
    assert_false(utterance_table_pause(t, HELD_IDS_MAX + 1));
    (void)piece(t, 1, FRAME, true);
    assert_true(utterance_table_pause(t, HELD_IDS_MAX + 1));
    (void)utterance_table_flush(t, HELD_IDS_MAX, NOW_US); /* all but one */
    for (uint32_t id = 1; id < HELD_IDS_MAX; id++) {
        assert_true(utterance_table_pause(t, HELD_IDS_MAX + 1 + id));
    }
    assert_false(utterance_table_pause(t, 100));
}

static void only_one_that_has_begun_is_paused_by_the_speech_of_the_client(void **state)
{
    struct utterance_table *t = *state;
    utterance_table_pause_speaker(t);
    (void)piece(t, 1, PREBUFFER, true);
    utterance_table_pause_speaker(t);
    expect_nothing(t);
    (void)slot(t, NOW_US);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
    utterance_table_pause_speaker(t);
    (void)expect(t, UTTERANCE_EVENT_PAUSED, 1);
    assert_int_equal(slot(t, NOW_US), 0);
}

static void a_piece_of_what_is_over_or_lower_than_the_newest_is_stale(void **state)
{
    struct utterance_table *t = *state;
    assert_int_equal(piece(t, 0, 1, false), UTTERANCE_STALE);
    assert_int_equal(piece(t, 5, 1, false), UTTERANCE_WELCOME);
    assert_int_equal(piece(t, 4, 1, false), UTTERANCE_STALE); /* lower */
    assert_int_equal(piece(t, 7, 1, true), UTTERANCE_WELCOME);
    assert_int_equal(piece(t, 5, 1, false), UTTERANCE_STALE); /* completed by 7 */
    assert_int_equal(piece(t, 7, 1, false), UTTERANCE_STALE); /* after its last piece */
    assert_int_equal(utterance_table_queued(t), 2);
    (void)utterance_table_flush(t, 9, NOW_US);
    assert_int_equal(piece(t, 7, 1, false), UTTERANCE_STALE); /* done */
    assert_int_equal(piece(t, 8, 1, false), UTTERANCE_STALE); /* flushed before it came */
    assert_int_equal(piece(t, 9, 1, false), UTTERANCE_STALE);
    assert_int_equal(piece(t, 10, 1, false), UTTERANCE_WELCOME);
}

static void a_flush_ends_all_up_to_its_id_queued_playing_and_paused(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 5, 10 * FRAME, true);
    (void)piece(t, 6, 5 * FRAME, true);
    (void)piece(t, 7, 3 * FRAME, true);
    (void)slot(t, NOW_US);
    (void)expect(t, UTTERANCE_EVENT_STARTED, 5);
    assert_true(utterance_table_pause(t, 5));
    (void)expect(t, UTTERANCE_EVENT_PAUSED, 5);
    const struct utterance_flushed flushed = utterance_table_flush(t, 6, NOW_US);
    assert_int_equal(flushed.flush, 6);
    assert_int_equal(flushed.utterance, 5);
    assert_int_equal(flushed.sent_ticks, FRAME);
    assert_int_equal(flushed.dropped_ticks, 14 * FRAME);
    expect_done(t, 5, UTTERANCE_FLUSHED, FRAME);
    expect_done(t, 6, UTTERANCE_FLUSHED, 0);
    assert_int_equal(slot(t, NOW_US), FRAME); /* a flush is no mode */
    (void)expect(t, UTTERANCE_EVENT_STARTED, 7);
}

static void flushed_up_to_is_raised_and_never_lowered(void **state)
{
    struct utterance_table *t = *state;
    struct utterance_flushed flushed = utterance_table_flush(t, 20, NOW_US);
    assert_int_equal(flushed.flush, 20);
    flushed = utterance_table_flush(t, 3, NOW_US); /* an old id is answered all the same */
    assert_int_equal(flushed.flush, 3);
    assert_int_equal(flushed.utterance, 0);
    assert_int_equal(flushed.dropped_ticks, 0);
    assert_int_equal(piece(t, 20, FRAME, true), UTTERANCE_STALE);
    assert_int_equal(piece(t, 21, FRAME, true), UTTERANCE_WELCOME);
    expect_nothing(t);
}

static void the_wildcard_is_all_that_were_seen(void **state)
{
    (void)state;
    static const uint32_t wildcard[] = {0, UTTERANCE_ALL};
    for (size_t i = 0; i < COUNT_OF(wildcard); i++) {
        void *world = NULL;
        assert_int_equal(setup(&world), 0);
        struct utterance_table *t = world;
        assert_int_equal(utterance_table_flush(t, wildcard[i], NOW_US).flush, 0);
        (void)piece(t, 5, FRAME, true);
        (void)piece(t, 9, FRAME, false);
        const struct utterance_flushed flushed = utterance_table_flush(t, wildcard[i], NOW_US);
        assert_int_equal(flushed.flush, 9);
        assert_int_equal(flushed.utterance, 0); /* none had begun */
        assert_int_equal(flushed.dropped_ticks, 2 * FRAME);
        assert_int_equal(piece(t, 9, FRAME, false), UTTERANCE_STALE);
        assert_int_equal(piece(t, 10, PREBUFFER, false), UTTERANCE_WELCOME);
        (void)close_table(&world);
    }
}

static void a_flush_takes_back_what_was_spoken_once(void **state)
{
    struct utterance_table *t = *state;
    assert_false(utterance_table_flush(t, 4, NOW_US).was_spoken);
    (void)piece(t, 5, FRAME, true);
    (void)slot(t, NOW_US); /* 5 is done, and copies of it may be on their way */
    (void)piece(t, 6, 2 * FRAME, true);
    assert_false(utterance_table_flush(t, 4, NOW_US).was_spoken);
    const struct utterance_flushed flushed = utterance_table_flush(t, 5, NOW_US);
    assert_true(flushed.was_spoken);
    assert_false(flushed.was_sounding);
    assert_false(utterance_table_flush(t, 5, NOW_US).was_spoken);
    assert_false(utterance_table_flush(t, 6, NOW_US).was_spoken); /* it never spoke */
}

static void a_flush_takes_back_what_was_spoken_before_the_one_that_speaks(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 5, FRAME, true);
    (void)piece(t, 7, 2 * FRAME, true);
    (void)slot(t, NOW_US);
    (void)slot(t, NOW_US);
    assert_true(utterance_table_flush(t, 5, NOW_US).was_spoken);
    assert_false(utterance_table_flush(t, 6, NOW_US).was_spoken);
    assert_true(utterance_table_flush(t, 7, NOW_US).was_spoken);
}

static void progress_is_told_each_time_so_much_was_spoken(void **state)
{
    struct utterance_table *t = *state;
    const struct utterance_pace eager = {.progress_ticks = 3 * FRAME};
    utterance_table_attach(t, &eager, NOW_US);
    (void)piece(t, 1, 9 * FRAME, true);
    for (uint64_t i = 1; i <= 9; i++) {
        (void)slot(t, NOW_US);
        if (i == 1) {
            (void)expect(t, UTTERANCE_EVENT_STARTED, 1);
        }
        if (i == 3 || i == 6) {
            const struct utterance_event e = expect(t, UTTERANCE_EVENT_PROGRESS, 1);
            assert_int_equal(e.sent_ticks, i * FRAME);
            assert_int_equal(e.queued_ticks, (9 - i) * FRAME);
        }
        if (i == 9) {
            expect_done(t, 1, UTTERANCE_PLAYED, 9 * FRAME);
        }
        expect_nothing(t);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queued_one_starts_with_its_prebuffer_or_complete),
        TEST(last_and_empty_is_played),
        TEST(a_higher_id_completes_the_lower_one),
        TEST(empty_without_last_is_an_underrun_told_at_once_and_goes_on_with_20_ms),
        TEST(a_queued_one_short_of_its_prebuffer_is_an_underrun_told_once),
        cmocka_unit_test(two_seconds_of_underrun_are_starved),
        TEST(one_that_waits_behind_another_does_not_starve),
        TEST(a_paused_one_goes_on_at_the_next_sample),
        TEST(a_paused_one_never_starves_and_holds_those_behind_it),
        TEST(an_underrun_that_is_paused_does_not_starve),
        TEST(an_id_not_seen_yet_begins_paused),
        TEST(what_is_held_ahead_is_let_go_by_resume_flush_or_a_higher_id),
        TEST(so_many_are_held_ahead_and_no_more),
        TEST(only_one_that_has_begun_is_paused_by_the_speech_of_the_client),
        TEST(a_piece_of_what_is_over_or_lower_than_the_newest_is_stale),
        TEST(a_flush_ends_all_up_to_its_id_queued_playing_and_paused),
        TEST(flushed_up_to_is_raised_and_never_lowered),
        cmocka_unit_test(the_wildcard_is_all_that_were_seen),
        TEST(a_flush_takes_back_what_was_spoken_once),
        TEST(a_flush_takes_back_what_was_spoken_before_the_one_that_speaks),
        TEST(progress_is_told_each_time_so_much_was_spoken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
