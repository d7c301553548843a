/* agent_turns_test.c - the agent listens: turns, their ends, and who speaks over its answer */
#include "tests/unit/agent_talk.h"

static void a_spoken_turn_is_answered_with_what_was_heard(void **state)
{
    (void)state;
    connect_call(",\"session\":{\"audio\":{\"input\":{\"transcription\":{\"model\":\"m\"}}}}");
    const uint64_t began_us = call.now_us;
    speak_ms(&call, 2100);
    run_ms(&call, 6000);
    const size_t started = expect_event(&call, "input_audio_buffer.speech_started", 0);
    const size_t stopped = expect_event(&call, "input_audio_buffer.speech_stopped", started);
    (void)expect_event(&call, "input_audio_buffer.committed", stopped);
    assert_true(call.event_us[started] - began_us <= 200 * US_PER_MS);
    assert_in_range(call.event_us[stopped] - began_us, 2600 * US_PER_MS, 2700 * US_PER_MS);
    (void)assert_said("You spoke for 2.1 seconds, at -21 decibels.", stopped);
    const size_t text =
        expect_event(&call, "conversation.item.input_audio_transcription.completed", stopped);
    assert_says(&call, text, "\"transcript\":\"2.1 seconds of speech, -21 dBov\"");
    const size_t sound = expect_event(&call, "output_audio_buffer.started", stopped);
    assert_true(call.event_us[sound] - call.event_us[stopped] <= 300 * US_PER_MS);
    assert_int_equal(metric_get(&call.counters.agent.turns), 1);
    assert_int_equal(metric_get(&call.counters.agent.answers), 1);
}

static void speech_is_as_long_as_the_line_says_and_its_words_are_early(void **state)
{
    (void)state;
    static const unsigned speak_ms_of[] = {500, 9000, 30000};
    for (size_t i = 0; i < COUNT_OF(speak_ms_of); i++) {
        char start[128];
        close_call(&call);
        open_call(&call);
        (void)snprintf(start, sizeof(start),
                       ",\"session\":{\"instructions\":\"#stub {\\\"speak_ms\\\":%u}\"}",
                       speak_ms_of[i]);
        connect_call(start);
        type_text("go");
        run_ms(&call, speak_ms_of[i] + 1000);
        assert_int_equal(call.received_us, speak_ms_of[i] * US_PER_MS);
        const size_t created = expect_event(&call, "response.created", 0);
        const size_t done = expect_event(&call, "response.done", created);
        assert_true(call.event_us[done] - call.event_us[created] <= 3 * US_PER_S);
        (void)expect_event(&call, "output_audio_buffer.stopped", created);
    }
}

static void who_speaks_interrupts_it(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("go");
    run_ms(&call, 1000); /* it is still being made */
    const size_t before = call.event_count;
    const uint32_t utterance = call.utterance;
    const uint64_t began_us = call.now_us;
    speak_ms(&call, 1000);
    run_ms(&call, 3000);
    assert_int_equal(call.flush, utterance);
    assert_true(call.flush_us - began_us <= 200 * US_PER_MS);
    const size_t started = expect_event(&call, "input_audio_buffer.speech_started", before);
    const size_t done = expect_event(&call, "response.done", started);
    assert_says(&call, done, "\"status\":\"cancelled\"");
    assert_says(&call, done, "turn_detected");
    const size_t cleared = expect_event(&call, "output_audio_buffer.cleared", done);
    const size_t truncated = expect_event(&call, "conversation.item.truncated", cleared);
    const char *heard = strstr(call.event[truncated], "\"audio_end_ms\":");
    assert_non_null(heard);
    assert_in_range(strtoul(heard + 15, NULL, 10), 700, 1100);
    const size_t stopped = expect_event(&call, "input_audio_buffer.speech_stopped", truncated);
    (void)expect_event(&call, "response.created", stopped);
    assert_true(call.utterance > utterance);
    assert_int_equal(count_events(&call, "output_audio_buffer.cleared", 0), 1);
    assert_int_equal(metric_get(&call.counters.agent.barge_ins), 1);
}

static void who_speaks_after_its_words_were_made_interrupts_its_sound(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("go");
    run_ms(&call, 4000);
    const size_t done = expect_event(&call, "response.done", 0);
    assert_says(&call, done, "\"status\":\"completed\"");
    speak_ms(&call, 300);
    const size_t started = expect_event(&call, "input_audio_buffer.speech_started", done);
    const size_t cleared = expect_event(&call, "output_audio_buffer.cleared", started);
    (void)expect_event(&call, "conversation.item.truncated", cleared);
    assert_true(call.is_done);
}

static void without_turn_detection_the_client_commits(void **state)
{
    (void)state;
    connect_call(",\"session\":{\"audio\":{\"input\":{\"turn_detection\":null}}}");
    speak_ms(&call, 1500);
    run_ms(&call, 1000);
    assert_int_equal(find_event(&call, "input_audio_buffer.speech_started", 0), EVENTS_MAX);
    say("{\"type\":\"input_audio_buffer.commit\"}");
    (void)expect_event(&call, "input_audio_buffer.committed", 0);
    say("{\"type\":\"response.create\"}");
    run_ms(&call, 4000);
    (void)assert_said("You spoke for 1.5 seconds", 0);
}

/* Base64 of six samples of 3000, -3000, 3000 ...; 24,000 of them are a second. */
#define LOUD        "uAtI9LgLSPS4C0j0"
#define LOUD_GROUPS 4000

static void audio_that_is_appended_is_heard_as_if_it_had_come_by_rtp(void **state)
{
    (void)state;
    static char event[LOUD_GROUPS * sizeof(LOUD) + 128];
    size_t len = (size_t)snprintf(event, sizeof(event),
                                  "{\"type\":\"input_audio_buffer.append\",\"audio\":\"");
    for (size_t i = 0; i < LOUD_GROUPS; i++) {
        memcpy(event + len, LOUD, sizeof(LOUD) - 1);
        len += sizeof(LOUD) - 1;
    }
    memcpy(event + len, "\"}", 3);
    connect_call("");
    say(event);
    const size_t started = expect_event(&call, "input_audio_buffer.speech_started", 0);
    run_ms(&call, 6000);
    (void)expect_event(&call, "input_audio_buffer.speech_stopped", started);
    (void)assert_said("You spoke for 1.0 seconds, at -21 decibels.", started);
}

static void a_session_sets_how_long_silence_ends_a_turn(void **state)
{
    (void)state;
    connect_call(",\"session\":{\"audio\":{\"input\":{\"turn_detection\":{\"type\":\"server_vad\","
                 "\"silence_duration_ms\":1200,\"create_response\":false}}}}");
    speak_ms(&call, 500);
    run_ms(&call, 1100);
    assert_int_equal(find_event(&call, "input_audio_buffer.speech_stopped", 0), EVENTS_MAX);
    run_ms(&call, 200);
    (void)expect_event(&call, "input_audio_buffer.speech_stopped", 0);
    run_ms(&call, 1000);
    assert_int_equal(find_event(&call, "response.created", 0), EVENTS_MAX);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(a_spoken_turn_is_answered_with_what_was_heard),
        CLAIM(speech_is_as_long_as_the_line_says_and_its_words_are_early),
        CLAIM(who_speaks_interrupts_it),
        CLAIM(who_speaks_after_its_words_were_made_interrupts_its_sound),
        CLAIM(without_turn_detection_the_client_commits),
        CLAIM(audio_that_is_appended_is_heard_as_if_it_had_come_by_rtp),
        CLAIM(a_session_sets_how_long_silence_ends_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
