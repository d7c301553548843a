/* agent_voice_test.c - sounds leave in order, within credit, once, and not when they are flushed */
#include "tests/testing.h"

#include "services/inference-stub/agent/agent_voice.h"

#include <stdlib.h>

#define RATE_HZ 16000
#define CHUNK   (RATE_HZ / 1000 * AGENT_VOICE_CHUNK_MS)

static struct agent_voice *voice;
static struct utterance_audio audio;
static int16_t next_made; /* samples are numbered over all sounds of a test */

static int set_up(void **state)
{
    (void)state;
    next_made = 0;
    voice = agent_voice_create(RATE_HZ, 60 * US_PER_S);
    return voice == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    agent_voice_destroy(voice);
    return 0;
}

static struct sound *make_sound(size_t count)
{
    int16_t *samples = calloc(count, sizeof(*samples));
    for (size_t i = 0; i < count; i++) {
        samples[i] = next_made++;
    }
    return sound_create((struct pcm_view){samples, count}, RATE_HZ);
}

/* Takes frames until there is none; samples must go on at `first`. */
static size_t take_all(int16_t first, bool *is_last)
{
    size_t count = 0;
    *is_last = false;
    while (agent_voice_take_audio(voice, &audio)) {
        assert_false(*is_last); /* nothing follows it */
        assert_true(audio.pcm.count <= CHUNK);
        for (size_t i = 0; i < audio.pcm.count; i++) {
            assert_int_equal(audio.pcm.samples[i], first + (int16_t)count++);
        }
        *is_last = audio.is_last;
    }
    return count;
}

static void sounds_leave_one_behind_the_other_and_the_last_is_marked(void **state)
{
    (void)state;
    bool is_last;
    assert_int_equal(agent_voice_open(voice), 1);
    agent_voice_add(voice, make_sound(2500), UINT64_MAX);
    agent_voice_add(voice, make_sound(1), UINT64_MAX);
    agent_voice_add(voice, make_sound(CHUNK), UINT64_MAX);
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 2501 + CHUNK);
    assert_true(is_last);
    assert_int_equal(audio.utterance, 1);
    assert_int_equal(audio.offset_us, 0);
}

static void an_end_that_comes_late_is_an_empty_frame(void **state)
{
    (void)state;
    bool is_last;
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(100), UINT64_MAX);
    assert_int_equal(take_all(0, &is_last), 100);
    assert_false(is_last);
    agent_voice_close(voice);
    assert_int_equal(take_all(100, &is_last), 0);
    assert_true(is_last);
    agent_voice_close(voice);
    assert_int_equal(take_all(100, &is_last), 0);
    assert_false(is_last);
}

static void an_utterance_without_a_sound_ends_too(void **state)
{
    (void)state;
    bool is_last;
    assert_int_equal(take_all(0, &is_last), 0); /* before the first */
    assert_false(is_last);
    (void)agent_voice_open(voice);
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 0);
    assert_true(is_last);
}

static void nothing_leaves_without_credit(void **state)
{
    (void)state;
    bool is_last;
    agent_voice_destroy(voice);
    voice = agent_voice_create(RATE_HZ, 10 * US_PER_MS);
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(1000), UINT64_MAX);
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 160);
    agent_voice_credit(voice, 5 * US_PER_MS); /* a repeated frame */
    assert_int_equal(take_all(160, &is_last), 0);
    agent_voice_credit(voice, 20 * US_PER_MS);
    assert_int_equal(take_all(160, &is_last), 160);
    assert_false(is_last);
    agent_voice_credit(voice, US_PER_S);
    assert_int_equal(take_all(320, &is_last), 680);
    assert_true(is_last);
}

static void a_flush_silences_what_it_names(void **state)
{
    (void)state;
    bool is_last;
    uint32_t flushed;
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(1000), UINT64_MAX);
    assert_true(agent_voice_flush(voice, 1));
    assert_true(agent_voice_take_flush(voice, &flushed));
    assert_int_equal(flushed, 1);
    assert_false(agent_voice_take_flush(voice, &flushed));
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 0);
    assert_false(is_last);
}

static void a_flush_of_the_one_before_leaves_the_new_one_alone(void **state)
{
    (void)state;
    bool is_last;
    uint32_t flushed;
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(1000), UINT64_MAX);
    assert_int_equal(agent_voice_open(voice), 2);
    assert_false(agent_voice_flush(voice, 1));
    agent_voice_add(voice, make_sound(100), UINT64_MAX);
    assert_true(agent_voice_take_flush(voice, &flushed));
    assert_int_equal(flushed, 1);
    assert_int_equal(take_all(1000, &is_last), 100);
    assert_int_equal(audio.utterance, 2);
}

static void a_sound_is_cut_where_the_speech_is_to_end(void **state)
{
    (void)state;
    bool is_last;
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(1000), 300);
    agent_voice_add(voice, make_sound(10), 0);
    agent_voice_close(voice);
    assert_int_equal(agent_voice_added_samples(voice), 300);
    assert_int_equal(take_all(0, &is_last), 300);
    assert_true(is_last);
}

static void what_is_too_long_or_too_many_is_not_said(void **state)
{
    (void)state;
    bool is_last;
    (void)agent_voice_open(voice);
    for (size_t i = 0; i < AGENT_VOICE_SOUNDS + 5; i++) {
        agent_voice_add(voice, make_sound(10), UINT64_MAX);
    }
    assert_int_equal(take_all(0, &is_last), 10 * AGENT_VOICE_SOUNDS);
    (void)agent_voice_open(voice);
    const uint64_t most = (uint64_t)RATE_HZ / 1000 * AGENT_VOICE_MS;
    const struct pcm_view silence = {calloc(most + 1, 2), most + 1};
    agent_voice_add(voice, sound_create(silence, RATE_HZ), UINT64_MAX);
    assert_int_equal(agent_voice_added_samples(voice), most);
}

static struct backend_position position(uint32_t utterance, uint64_t samples)
{
    return (struct backend_position){.utterance = utterance,
                                     .received_us = samples * US_PER_S / RATE_HZ,
                                     .received_total_us = samples * US_PER_S / RATE_HZ,
                                     .credit_us = 60 * US_PER_S};
}

static void what_was_lost_with_a_connection_is_said_again(void **state)
{
    (void)state;
    bool is_last;
    const struct backend_position arrived = position(1, 1600);
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(1000), UINT64_MAX);
    agent_voice_add(voice, make_sound(2000), UINT64_MAX);
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 3000);
    agent_voice_resume(voice, &arrived);
    assert_true(agent_voice_take_audio(voice, &audio));
    assert_int_equal(audio.offset_us, 100 * US_PER_MS);
    assert_int_equal(audio.pcm.samples[0], 1600);
    assert_int_equal(audio.pcm.count, 1400);
    assert_true(audio.is_last);
}

static void a_lost_end_is_said_again(void **state)
{
    (void)state;
    bool is_last;
    const struct backend_position arrived = position(1, 160);
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(160), UINT64_MAX);
    agent_voice_close(voice);
    assert_int_equal(take_all(0, &is_last), 160);
    agent_voice_resume(voice, &arrived);
    assert_int_equal(take_all(160, &is_last), 0);
    assert_true(is_last);
    assert_int_equal(audio.offset_us, 10 * US_PER_MS);
}

static void an_utterance_that_never_arrived_is_said_from_its_start(void **state)
{
    (void)state;
    bool is_last;
    const struct backend_position arrived = position(0, 0);
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(200), UINT64_MAX);
    assert_int_equal(take_all(0, &is_last), 200);
    agent_voice_resume(voice, &arrived);
    assert_int_equal(take_all(0, &is_last), 200);
}

static void what_is_done_is_not_said_again(void **state)
{
    (void)state;
    bool is_last;
    const struct backend_position arrived = position(1, 160);
    (void)agent_voice_open(voice);
    agent_voice_add(voice, make_sound(200), UINT64_MAX);
    agent_voice_done(voice, 1);
    agent_voice_resume(voice, &arrived);
    agent_voice_add(voice, make_sound(200), UINT64_MAX);
    assert_int_equal(take_all(0, &is_last), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sounds_leave_one_behind_the_other_and_the_last_is_marked,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_that_comes_late_is_an_empty_frame, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_utterance_without_a_sound_ends_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_leaves_without_credit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flush_silences_what_it_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flush_of_the_one_before_leaves_the_new_one_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sound_is_cut_where_the_speech_is_to_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_too_long_or_too_many_is_not_said, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_lost_with_a_connection_is_said_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_lost_end_is_said_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_utterance_that_never_arrived_is_said_from_its_start,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_done_is_not_said_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
