/* utterance_done_test.c - done exactly once, in the order of ids, also when backends come and go */
#include "tests/unit/utterance_world.h"

static const struct utterance_pace pace = {.prebuffer_ticks = FRAME};

static int setup(void **state)
{
    return open_table(state, &pace);
}

/* One frame is spoken, to its end. */
static void speak(struct utterance_table *t, uint64_t now_us)
{
    assert_true(utterance_table_turn(t, now_us) >= FRAME);
    utterance_table_spoke(t, FRAME, now_us);
}

static void expect(struct utterance_table *t, enum utterance_event_type type, uint32_t id)
{
    struct utterance_event event;
    assert_true(utterance_table_poll_event(t, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, id);
}

static void expect_done(struct utterance_table *t, uint32_t id, enum utterance_reason reason)
{
    struct utterance_event event;
    assert_true(utterance_table_poll_event(t, &event));
    assert_int_equal(event.type, UTTERANCE_EVENT_DONE);
    assert_int_equal(event.utterance, id);
    assert_int_equal(event.reason, reason);
}

/* Said to the end at now_us, and told so. */
static void play_and_tell(struct utterance_table *t, uint32_t id, uint64_t now_us)
{
    (void)piece(t, id, FRAME, true);
    speak(t, now_us);
    expect(t, UTTERANCE_EVENT_STARTED, id);
    expect_done(t, id, UTTERANCE_PLAYED);
}

static void a_64th_is_taken_and_a_65th_is_refused_and_dead(void **state)
{
    struct utterance_table *t = *state;
    for (uint32_t id = 1; id <= UTTERANCE_TABLE_MAX; id++) {
        assert_int_equal(piece(t, id, FRAME, false), UTTERANCE_WELCOME);
    }
    assert_int_equal(piece(t, 65, FRAME, false), UTTERANCE_NO_ROOM);
    assert_int_equal(utterance_table_position(t).utterance, 65);
    assert_int_equal(utterance_table_position(t).received_ticks, 0);
    speak(t, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect_done(t, 1, UTTERANCE_PLAYED);
    /* There is room now, but its beginning is lost. */
    assert_int_equal(piece(t, 65, FRAME, false), UTTERANCE_STALE);
    assert_int_equal(piece(t, 66, FRAME, false), UTTERANCE_WELCOME);
    assert_int_equal(piece(t, 67, FRAME, false), UTTERANCE_NO_ROOM);
}

static void the_end_finishes_each_with_its_reason_in_order(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 3, 2 * FRAME, true);
    (void)piece(t, 5, FRAME, true);
    (void)piece(t, 8, FRAME, false);
    speak(t, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 3);
    utterance_table_end(t, UTTERANCE_SESSION_END, NOW_US);
    expect_done(t, 3, UTTERANCE_SESSION_END);
    expect_done(t, 5, UTTERANCE_SESSION_END);
    expect_done(t, 8, UTTERANCE_SESSION_END);
    utterance_table_end(t, UTTERANCE_SESSION_END, NOW_US);
    expect_nothing(t);
    assert_int_equal(utterance_table_queued(t), 0);
}

/* What ended in a slot that nobody asked about yet is told as it ended. */
static void the_end_leaves_nothing_untold_to_who_is_there(void **state)
{
    struct utterance_table *t = *state;
    play_and_tell(t, 1, NOW_US);
    (void)piece(t, 2, FRAME, true);
    speak(t, NOW_US);
    (void)piece(t, 3, FRAME, true);
    utterance_table_end(t, UTTERANCE_SESSION_END, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 2);
    expect_done(t, 2, UTTERANCE_PLAYED);
    expect_done(t, 3, UTTERANCE_SESSION_END);
    expect_nothing(t);
}

static void without_a_backend_nothing_starves_and_what_is_queued_plays_on(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, 2 * FRAME, false);
    speak(t, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 1);
    utterance_table_detach(t);
    speak(t, NOW_US + 20000);
    uint64_t now_us = NOW_US;
    for (int i = 0; i < 10; i++) {
        now_us += US_PER_S;
        assert_int_equal(utterance_table_turn(t, now_us), 0);
    }
    utterance_table_attach(t, &pace, now_us);
    expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
    assert_int_equal(utterance_table_turn(t, now_us), 0);
    assert_int_equal(utterance_table_turn(t, now_us + UTTERANCE_STARVE_US - 1), 0);
    expect_nothing(t);
    assert_int_equal(utterance_table_turn(t, now_us + UTTERANCE_STARVE_US), 0);
    expect_done(t, 1, UTTERANCE_STARVED);
}

static void a_done_of_the_last_10_s_is_told_again_to_who_comes_back(void **state)
{
    struct utterance_table *t = *state;
    play_and_tell(t, 1, NOW_US - 1);
    play_and_tell(t, 2, NOW_US);
    (void)piece(t, 3, FRAME, true);
    (void)utterance_table_flush(t, 3, NOW_US + 1);
    expect_done(t, 3, UTTERANCE_FLUSHED);
    (void)piece(t, 4, 2 * FRAME, true);
    speak(t, NOW_US + 2);
    expect(t, UTTERANCE_EVENT_STARTED, 4);
    utterance_table_detach(t);
    speak(t, NOW_US + 3);         /* 4 ends while nobody is there */
    for (int i = 0; i < 2; i++) { /* exactly once each time it comes back */
        utterance_table_attach(t, &pace, NOW_US + UTTERANCE_DONE_KEPT_US);
        expect_done(t, 2, UTTERANCE_PLAYED);
        expect_done(t, 3, UTTERANCE_FLUSHED);
        expect_done(t, 4, UTTERANCE_PLAYED);
        expect_nothing(t);
    }
    utterance_table_attach(t, &pace, NOW_US + 3 + UTTERANCE_DONE_KEPT_US + 1);
    expect_nothing(t);
}

static void dones_that_are_kept_give_way_to_what_is_new(void **state)
{
    struct utterance_table *t = *state;
    for (uint32_t id = 1; id <= 10 * UTTERANCE_TABLE_MAX; id++) {
        play_and_tell(t, id, NOW_US);
    }
    for (uint32_t id = 1001; id <= 1000 + UTTERANCE_TABLE_MAX; id++) {
        assert_int_equal(piece(t, id, FRAME, false), UTTERANCE_WELCOME);
    }
    utterance_table_attach(t, &pace, NOW_US);
    expect_nothing(t);
}

/* One that knows nothing of the call is not told of what ended before it came, and of what it could
 * mistake for its own only that a backend was lost. */
static void a_new_backend_is_told_backend_lost_once_and_nothing_of_before(void **state)
{
    struct utterance_table *t = *state;
    play_and_tell(t, 7, NOW_US);
    (void)piece(t, 8, FRAME, true);
    (void)piece(t, 9, FRAME, true);
    (void)utterance_table_flush(t, 100, NOW_US); /* forgotten, too */
    (void)piece(t, 101, 2 * FRAME, true);
    assert_true(utterance_table_pause(t, 3000));
    utterance_table_detach(t);
    speak(t, NOW_US);
    utterance_table_end(t, UTTERANCE_BACKEND_LOST, NOW_US);
    for (int i = 0; i < 2; i++) {
        utterance_table_attach(t, &pace, NOW_US);
        if (i == 0) {
            expect_done(t, 101, UTTERANCE_BACKEND_LOST);
        }
        expect_nothing(t);
    }
    assert_int_equal(utterance_table_position(t).utterance, 0);
    assert_int_equal(piece(t, 1, FRAME, true), UTTERANCE_WELCOME);
    assert_false(utterance_table_flush(t, 101, NOW_US).was_spoken); /* another's 101 was */
    expect_done(t, 1, UTTERANCE_FLUSHED);
    assert_int_equal(piece(t, 102, FRAME, true), UTTERANCE_WELCOME);
    speak(t, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 102);
    expect_done(t, 102, UTTERANCE_PLAYED);
    (void)piece(t, 3000, FRAME, true); /* who held it is gone */
    speak(t, NOW_US);
}

static void the_position_is_that_of_the_newest_also_when_it_is_done(void **state)
{
    struct utterance_table *t = *state;
    assert_int_equal(utterance_table_position(t).utterance, 0);
    (void)piece(t, 4, 2 * FRAME, true);
    (void)piece(t, 6, 3 * FRAME, false);
    speak(t, NOW_US);
    struct utterance_position position = utterance_table_position(t);
    assert_int_equal(position.utterance, 6);
    assert_int_equal(position.received_ticks, 3 * FRAME);
    assert_int_equal(position.sent_ticks, 0);
    speak(t, NOW_US);
    speak(t, NOW_US);
    (void)utterance_table_flush(t, 6, NOW_US);
    position = utterance_table_position(t);
    assert_int_equal(position.utterance, 6);
    assert_int_equal(position.received_ticks, 3 * FRAME);
    assert_int_equal(position.sent_ticks, FRAME);
}

static void when_the_backend_says_no_more_the_rest_is_said_and_stays_open(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, FRAME, false);
    assert_true(utterance_table_pause(t, 1));
    (void)piece(t, 2, FRAME / 2, false);
    assert_int_equal(utterance_table_turn(t, NOW_US), 0);
    utterance_table_drain(t);
    speak(t, NOW_US);
    assert_int_equal(utterance_table_turn(t, NOW_US), FRAME / 2);
    utterance_table_spoke(t, FRAME / 2, NOW_US);
    expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect(t, UTTERANCE_EVENT_PAUSED, 1);
    expect(t, UTTERANCE_EVENT_RESUMED, 1);
    expect_done(t, 1, UTTERANCE_PLAYED);
    expect(t, UTTERANCE_EVENT_STARTED, 2);
    expect_nothing(t);
    utterance_table_end(t, UTTERANCE_SESSION_END, NOW_US);
    expect_done(t, 2, UTTERANCE_SESSION_END);
}

static void when_the_backend_says_no_more_nothing_starves(void **state)
{
    struct utterance_table *t = *state;
    (void)piece(t, 1, FRAME, false);
    speak(t, NOW_US);
    assert_int_equal(utterance_table_turn(t, NOW_US), 0);
    utterance_table_drain(t);
    assert_int_equal(utterance_table_turn(t, NOW_US + 3 * US_PER_S), 0);
    expect(t, UTTERANCE_EVENT_STARTED, 1);
    expect(t, UTTERANCE_EVENT_UNDERRUN, 1);
    expect_nothing(t);
}

static void ticks_and_microseconds_tell_the_same_place(void **state)
{
    (void)state;
    static const uint64_t unit[] = {1, 2, 3, 6}; /* samples at 48, 24, 16 and 8 kHz */
    for (size_t i = 0; i < COUNT_OF(unit); i++) {
        for (uint64_t ticks = 0; ticks < 100000; ticks += unit[i]) {
            const uint64_t us = utterance_us_of_ticks(ticks);
            assert_int_equal(utterance_ticks_of_us(us, unit[i]), ticks);     /* as we round */
            assert_int_equal(utterance_ticks_of_us(us + 1, unit[i]), ticks); /* or up */
        }
    }
    assert_int_equal(utterance_ticks_of_us(20, 2), 0);
    assert_int_equal(utterance_ticks_of_us(21, 2), 2);
    assert_true(utterance_ticks_of_us(UINT64_MAX, 1) > UINT64_MAX / 1000 * 47);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_64th_is_taken_and_a_65th_is_refused_and_dead),
        TEST(the_end_finishes_each_with_its_reason_in_order),
        TEST(the_end_leaves_nothing_untold_to_who_is_there),
        TEST(without_a_backend_nothing_starves_and_what_is_queued_plays_on),
        TEST(a_done_of_the_last_10_s_is_told_again_to_who_comes_back),
        TEST(dones_that_are_kept_give_way_to_what_is_new),
        TEST(a_new_backend_is_told_backend_lost_once_and_nothing_of_before),
        TEST(the_position_is_that_of_the_newest_also_when_it_is_done),
        TEST(when_the_backend_says_no_more_the_rest_is_said_and_stays_open),
        TEST(when_the_backend_says_no_more_nothing_starves),
        cmocka_unit_test(ticks_and_microseconds_tell_the_same_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
