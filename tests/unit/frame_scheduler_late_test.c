/* frame_scheduler_late_test.c - a backend that does not read: what goes, and what stays */
#include "tests/unit/frame_scheduler_world.h"

/* --- a backend that does not read ------------------------------------------------------------- */

static void audio_that_waited_half_a_second_goes_and_the_next_one_says_so(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_AUDIO_IN, 0);
    w.now_us = BEGIN_US + 20 * US_PER_MS;
    put(&w, 0, BACKEND_AUDIO_IN, 1);
    put(&w, 0, BACKEND_PLAYBACK, 2); /* what steers is never late */
    w.now_us = BEGIN_US + FRAME_AUDIO_WAIT_US;
    expect(&w, 0, BACKEND_PLAYBACK, 2);
    const struct backend_frame frame = expect(&w, 0, BACKEND_AUDIO_IN, 1);
    assert_int_equal(frame.flags, BACKEND_AUDIO_DISCONTINUITY);
    assert_int_equal(frame.sequence, 1); /* no number for what was not written */
    put(&w, 0, BACKEND_AUDIO_IN, 3);
    assert_int_equal(expect(&w, 0, BACKEND_AUDIO_IN, 3).flags, 0);
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), 1);
    close_world(&w);
}

static void audio_one_microsecond_younger_stays(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_AUDIO_IN, 0);
    w.now_us = BEGIN_US + FRAME_AUDIO_WAIT_US - 1;
    assert_int_equal(expect(&w, 0, BACKEND_AUDIO_IN, 0).flags, 0);
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), 0);
    close_world(&w);
}

static void a_replay_is_not_dropped_for_its_waiting(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    assert_int_equal(put_marked(&w, 0, BACKEND_AUDIO_IN, 0, AUDIO, true), FRAME_PUT_OK);
    put(&w, 0, BACKEND_AUDIO_IN, 1);
    w.now_us = BEGIN_US + 4 * US_PER_S;
    expect(&w, 0, BACKEND_AUDIO_IN, 0);
    assert_nothing_waits(&w);
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), 1);
    close_world(&w);
}

/* Nobody reads for a minute: half a second of each session waits, no more. */
static void what_waits_is_half_a_second_of_audio_however_long_it_takes(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    for (uint32_t i = 0; i < 3000; i++) {
        w.now_us = BEGIN_US + i * 20 * US_PER_MS;
        put(&w, 0, BACKEND_AUDIO_IN, i);
        put(&w, 1, BACKEND_AUDIO_IN, i);
        write_some(&w, 0);
    }
    uint32_t heard = 0;
    while (hear(&w, &frame)) {
        assert_in_range(frame.utterance, 3000 - 25, 2999);
        heard++;
    }
    assert_int_equal(heard, 2 * 25);
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), 2 * (3000 - 25));
    close_world(&w);
}

static void without_room_new_audio_takes_the_place_of_the_oldest_of_its_session(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(put_marked(&w, 0, BACKEND_AUDIO_IN, i, AUDIO, true), FRAME_PUT_OK);
    }
    /* Another session has nothing that could go. */
    assert_int_equal(put_marked(&w, 1, BACKEND_AUDIO_IN, 0, AUDIO, false), FRAME_PUT_REFUSED);
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), BLOCKS / 4 + 1);
    frame = expect(&w, 0, BACKEND_AUDIO_IN, BLOCKS / 4);
    assert_int_equal(frame.flags, BACKEND_AUDIO_DISCONTINUITY);
    for (uint32_t i = BLOCKS / 4 + 1; i < BLOCKS; i++) {
        expect(&w, 0, BACKEND_AUDIO_IN, i);
    }
    assert_nothing_waits(&w);
    close_world(&w);
}

static void a_quarter_of_the_room_is_for_what_steers(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < BLOCKS / 4 * 3; i++) {
        put(&w, 0, BACKEND_EVENT, i);
    }
    assert_int_equal(put_marked(&w, 0, BACKEND_NET_STATS, 0, 0, false), FRAME_PUT_REFUSED);
    assert_int_equal(put_marked(&w, 1, BACKEND_SESSION_START, 0, 0, false), FRAME_PUT_REFUSED);
    assert_int_equal(frame_scheduler_messages_dropped(w.frames), 1);
    for (uint32_t i = 0; i < BLOCKS / 4; i++) {
        put(&w, 0, BACKEND_PLAYBACK, i);
    }
    assert_int_equal(put_marked(&w, 0, BACKEND_PLAYBACK, 0, 0, false), FRAME_PUT_FULL);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(audio_that_waited_half_a_second_goes_and_the_next_one_says_so),
        cmocka_unit_test(audio_one_microsecond_younger_stays),
        cmocka_unit_test(a_replay_is_not_dropped_for_its_waiting),
        cmocka_unit_test(what_waits_is_half_a_second_of_audio_however_long_it_takes),
        cmocka_unit_test(without_room_new_audio_takes_the_place_of_the_oldest_of_its_session),
        cmocka_unit_test(a_quarter_of_the_room_is_for_what_steers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
