/* dialogue_test.c - the parrot: turns and barge-in, in virtual time; what holds in every mode */
#include "tests/unit/dialogue_world.h"

#include "services/inference-stub/sound/turn_recorder.h"

/* --- parrot ----------------------------------------------------------------------------------- */

static void a_parrot_greets_once_when_the_user_can_hear(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    assert_int_equal(c->said_in_all, 0);
    dialogue_connected(c->dialogue);
    drain(c);
    assert_int_equal(c->utterance, 1);
    assert_int_equal(c->finished, 1);
    assert_int_equal(c->said_samples, GREETING);
    assert_memory_equal(c->said, greeting, sizeof(greeting));
    dialogue_connected(c->dialogue);
    room(c, 1000);
    assert_int_equal(c->said_in_all, GREETING);
    close_call(c);
}

static void a_turn_is_said_back_whole_as_one_utterance(void **state)
{
    (void)state;
    static int16_t heard[SAMPLES(2000)];
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    for (size_t i = 0; i < COUNT_OF(heard); i += FRAME) {
        voice_frame(c, heard + i);
        drain(c);
    }
    assert_int_equal(c->said_in_all, 0); /* it listens to the end */
    room(c, 600);
    assert_int_equal(c->utterance, 1);
    assert_int_equal(c->finished, 1);
    assert_int_equal(metric_get(&c->counters.turns_said), 1);
    /* 300 ms of pre-roll hold what was said before the voice was noticed. */
    assert_in_range(MS(c->said_samples), 2000 + 200, 2000 + 400);
    size_t offset = 0;
    while (offset + COUNT_OF(heard) <= c->said_samples &&
           memcmp(c->said + offset, heard, sizeof(heard)) != 0) {
        offset++;
    }
    assert_in_range(MS(offset), TURN_PRE_ROLL_MS - 40, TURN_PRE_ROLL_MS);
    close_call(c);
}

static void a_turn_ends_half_a_second_after_the_last_sound(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    voice(c, 1000);
    room(c, 400);
    assert_int_equal(c->said_in_all, 0);
    voice(c, 1000); /* the same turn */
    room(c, 400);
    assert_int_equal(c->said_in_all, 0);
    room(c, 120);
    assert_int_equal(c->finished, 1);
    assert_in_range(MS(c->said_samples), 2600, 2800);
    close_call(c);
}

static void a_cough_is_not_a_turn(void **state)
{
    (void)state;
    static const struct {
        size_t voice_ms;
        bool is_turn;
    } cases[] = {{20, false}, {100, false}, {160, false}, {260, true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
        room(c, 1000);
        voice(c, cases[i].voice_ms);
        room(c, 1000);
        assert_int_equal(c->finished, cases[i].is_turn);
        voice(c, 1000); /* and it spoils nothing that follows */
        room(c, 600);
        assert_int_equal(c->finished, 1 + (size_t)cases[i].is_turn);
        assert_in_range(MS(c->said_samples), 1200, 1400);
        close_call(c);
    }
}

static void a_cough_in_a_pause_does_not_end_the_turn(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    voice(c, 1000);
    room(c, 300);
    voice(c, 100);
    room(c, 300);
    assert_int_equal(c->said_in_all, 0);
    voice(c, 1000);
    room(c, 600);
    assert_int_equal(c->finished, 1);
    assert_in_range(MS(c->said_samples), 2900, 3100);
    close_call(c);
}

/* The user speaks while a reply of 4 s has been handed over and is being played. */
static void barge_in_flushes_in_the_frame_that_gives_the_voice_away(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    voice(c, 4000);
    room(c, 600);
    assert_int_equal(c->utterance, 1);
    room(c, 1000);
    assert_int_equal(c->flushes, 0);
    int16_t frame[FRAME];
    size_t frames = 0;
    while (c->flushes == 0 && frames < 10) {
        voice_frame(c, frame);
        drain(c);
        frames++;
    }
    /* 3 of 4 steps of 10 ms: the second frame of speech at the latest. */
    assert_in_range(frames, 1, 2);
    assert_int_equal(c->flushed, 1);
    assert_int_equal(metric_get(&c->counters.barge_ins), 1);
    voice(c, 1000);
    assert_int_equal(c->flushes, 1);
    room(c, 600);
    assert_int_equal(c->utterance, 2);
    assert_in_range(MS(c->said_samples), 1240, 1440);
    close_call(c);
}

/* The same with most of the reply still here: not one sample of it follows the FLUSH. */
static void after_a_flush_nothing_of_the_old_reply_is_sent(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, 2 * US_PER_S);
    room(c, 1000);
    voice(c, 4000);
    room(c, 600);
    assert_int_equal(MS(c->said_samples), 2000);
    voice(c, 100);
    assert_int_equal(c->flushed, 1);
    dialogue_credit(c->dialogue, PLENTY_US);
    room(c, 300);
    assert_int_equal(MS(c->said_in_all), 2000);
    room(c, 1000);
    assert_int_equal(metric_get(&c->counters.turns_dismissed), 1);
    assert_int_equal(MS(c->said_in_all), 2000);
    close_call(c);
}

static void a_reply_that_was_heard_to_its_end_is_not_flushed(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    dialogue_connected(c->dialogue);
    room(c, 1000);
    playback_done(c);
    voice(c, 1000);
    assert_int_equal(c->flushes, 0);
    room(c, 600);
    assert_int_equal(c->utterance, 2);
    close_call(c);
}

static void who_speaks_before_the_greeting_is_not_greeted(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    voice(c, 500);
    dialogue_connected(c->dialogue);
    voice(c, 500);
    assert_int_equal(c->said_in_all, 0);
    room(c, 600);
    assert_int_equal(c->finished, 1);
    close_call(c);
}

static void a_reply_waits_for_credit_and_ends_with_last(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, 0);
    dialogue_connected(c->dialogue);
    drain(c);
    assert_int_equal(c->said_in_all, 0);
    for (uint64_t us = 70000; c->finished == 0; us += 70000) {
        dialogue_credit(c->dialogue, us);
        dialogue_credit(c->dialogue, us / 2); /* a repeated or older one changes nothing */
        drain(c);
        const size_t allowed = pcm_samples_of_us(RATE_HZ, us);
        assert_int_equal(c->said_in_all, allowed < GREETING ? allowed : GREETING);
    }
    assert_memory_equal(c->said, greeting, sizeof(greeting));
    close_call(c);
}

static void a_turn_of_more_than_30_s_is_said_back_cut(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    voice(c, TURN_MAX_MS - 320);
    assert_int_equal(c->finished, 0);
    voice(c, 1000);
    assert_int_equal(c->finished, 1);
    assert_in_range(MS(c->said_samples), TURN_MAX_MS - 500, TURN_MAX_MS);
    voice(c, 2000); /* not kept, and no flush: the user has not stopped since */
    room(c, 600);
    assert_int_equal(c->finished, 1);
    assert_int_equal(c->flushes, 0);
    voice(c, 500);
    room(c, 600);
    assert_int_equal(c->finished, 2);
    close_call(c);
}

static void audio_that_stops_without_a_word_ends_the_turn(void **state)
{
    (void)state;
    struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
    room(c, 1000);
    assert_true(dialogue_next_timeout(c->dialogue) == TIME_NEVER);
    voice(c, 1000);
    const uint64_t timeout_us = dialogue_next_timeout(c->dialogue);
    assert_int_equal(timeout_us, c->now_us + 500 * US_PER_MS);
    dialogue_tick(c->dialogue, timeout_us - 1);
    drain(c);
    assert_int_equal(c->finished, 0);
    dialogue_tick(c->dialogue, timeout_us);
    drain(c);
    assert_int_equal(c->finished, 1);
    assert_true(dialogue_next_timeout(c->dialogue) == TIME_NEVER);
    close_call(c);
}

static void frames_of_any_length_are_heard_alike(void **state)
{
    (void)state;
    static const size_t length[] = {1, 37, 160, 161, 333, 960, 2000};
    for (size_t i = 0; i < COUNT_OF(length); i++) {
        struct call *c = open_call(DIALOGUE_PARROT, PLENTY_US);
        static int16_t sound[SAMPLES(3000)];
        speech_like_noise(&c->noise, -65, sound, COUNT_OF(sound));
        speech_like_voice(&c->noise, -20, RATE_HZ, 0, sound + SAMPLES(1000), SAMPLES(1000));
        for (size_t at = 0; at < COUNT_OF(sound); at += length[i]) {
            const size_t left = COUNT_OF(sound) - at;
            const size_t count = left < length[i] ? left : length[i];
            dialogue_audio_in(c->dialogue, (struct pcm_view){sound + at, count}, 0, c->now_us);
        }
        drain(c);
        assert_int_equal(c->finished, 1);
        assert_in_range(MS(c->said_samples), 1250, 1400);
        close_call(c);
    }
}

/* --- all modes -------------------------------------------------------------------------------- */

/* drain() checks each frame: ids rise, nothing follows its flush, credit is never passed. */
static void ids_rise_and_credit_holds_whatever_happens(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 30; seed++) {
        struct call *c = open_call((enum dialogue_mode)(seed % 3), US_PER_S);
        struct random_generator g;
        random_generator_init(&g, seed);
        uint64_t credit_us = US_PER_S;
        for (int i = 0; i < 2000; i++) {
            int16_t frame[FRAME];
            const uint64_t dice = random_generator_next(&g) % 100;
            if (dice < 5) {
                credit_us += random_generator_next(&g) % US_PER_S;
                dialogue_credit(c->dialogue, credit_us);
            } else if (dice < 8 && c->utterance > 0) {
                playback_done(c);
            } else if (dice < 9) {
                dialogue_connected(c->dialogue);
            } else if (i / 50 % 2 == 0) {
                voice_frame(c, frame);
            } else {
                speech_like_noise(&c->noise, -65, frame, FRAME);
                hear_frame(c, frame, dice < 12 ? BACKEND_AUDIO_DISCONTINUITY : 0);
            }
            drain_some(c, dice % 7);
            assert_true(c->said_in_all <= pcm_samples_of_us(RATE_HZ, credit_us));
        }
        assert_true(c->said_in_all > 0);
        close_call(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parrot_greets_once_when_the_user_can_hear),
        cmocka_unit_test(a_turn_is_said_back_whole_as_one_utterance),
        cmocka_unit_test(a_turn_ends_half_a_second_after_the_last_sound),
        cmocka_unit_test(a_cough_is_not_a_turn),
        cmocka_unit_test(a_cough_in_a_pause_does_not_end_the_turn),
        cmocka_unit_test(barge_in_flushes_in_the_frame_that_gives_the_voice_away),
        cmocka_unit_test(after_a_flush_nothing_of_the_old_reply_is_sent),
        cmocka_unit_test(a_reply_that_was_heard_to_its_end_is_not_flushed),
        cmocka_unit_test(who_speaks_before_the_greeting_is_not_greeted),
        cmocka_unit_test(a_reply_waits_for_credit_and_ends_with_last),
        cmocka_unit_test(a_turn_of_more_than_30_s_is_said_back_cut),
        cmocka_unit_test(audio_that_stops_without_a_word_ends_the_turn),
        cmocka_unit_test(frames_of_any_length_are_heard_alike),
        cmocka_unit_test(ids_rise_and_credit_holds_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
