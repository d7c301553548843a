/* agent_call_test.c - whole calls of the agent in virtual time: what it says, and why it stops */
#include "tests/unit/agent_talk.h"

static void it_greets_where_the_script_says_so(void **state)
{
    (void)state;
    (void)strcpy(call.script.phrase[AGENT_PHRASE_GREETING], "Hello, who are you?");
    connect_call("");
    run_ms(&call, 4000);
    assert_int_equal(expect_event(&call, "session.created", 0), 0);
    (void)assert_said("Hello, who are you?", 0);
    const size_t started = expect_event(&call, "output_audio_buffer.started", 0);
    const size_t stopped = expect_event(&call, "output_audio_buffer.stopped", started);
    const uint64_t played_us = call.event_us[stopped] - call.event_us[started];
    assert_in_range(played_us, 4 * WORD_MS * US_PER_MS - SLOT_US,
                    4 * WORD_MS * US_PER_MS + SLOT_US);
    assert_in_range(call.event_us[started], US_PER_S, US_PER_S + 300 * US_PER_MS);
    assert_int_equal(count_events(&call, "response.created", 0), 1);
}

static void it_does_not_greet_otherwise(void **state)
{
    (void)state;
    static const struct {
        const char *greeting;
        const char *start;
        bool is_user_faster;
    } row[] = {
        {"", "", false},
        {"Hello.", STUB("{}"), false},
        {"Hello.", "", true},
        {"Hello.", ",\"restarted\":true", false},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        close_call(&call);
        open_call(&call);
        (void)strcpy(call.script.phrase[AGENT_PHRASE_GREETING], row[i].greeting);
        start_call(&call, row[i].start);
        call.is_speaking = row[i].is_user_faster;
        give_text(&call, BACKEND_CONNECTED, CONNECTED);
        run_ms(&call, 3000);
        assert_int_equal(call.utterance, 0);
    }
}

static void a_line_that_comes_with_the_first_update_is_in_time(void **state)
{
    (void)state;
    (void)strcpy(call.script.phrase[AGENT_PHRASE_GREETING], "Hello.");
    start_call(&call, "");
    give_text(&call, BACKEND_CONNECTED, CONNECTED);
    run_ms(&call, 900);
    say("{\"type\":\"session.update\",\"session\":{\"instructions\":\"a\\n#stub {}\"}}");
    run_ms(&call, 2000);
    (void)expect_event(&call, "session.updated", 0);
    assert_int_equal(call.utterance, 0);
}

static void a_tool_is_called_and_its_output_spoken(void **state)
{
    (void)state;
    connect_call(
        ",\"session\":{\"tools\":[{\"type\":\"function\",\"name\":\"get_weather\"}],"
        "\"instructions\":\"#stub {\\\"tool_on_turn\\\":1,\\\"tool\\\":\\\"get_weather\\\","
        "\\\"args\\\":{\\\"city\\\":\\\"Oslo\\\"},\\\"speak_ms\\\":3000}\"}");
    speak_ms(&call, 1000);
    run_ms(&call, 1000);
    const size_t called = expect_event(&call, "response.function_call_arguments.done", 0);
    assert_says(&call, called, "{\\\"city\\\":\\\"Oslo\\\"}");
    const size_t done = expect_event(&call, "response.done", called);
    assert_says(&call, done, "\"name\":\"get_weather\"");
    assert_int_equal(call.utterance, 0);
    char event[512];
    const char *id = strstr(call.event[called], "\"call_id\":\"");
    assert_non_null(id);
    (void)snprintf(event, sizeof(event),
                   "{\"type\":\"conversation.item.create\",\"item\":{\"type\":"
                   "\"function_call_output\",\"call_id\":\"%.*s\",\"output\":\"rain\"}}",
                   (int)strcspn(id + 11, "\""), id + 11);
    say(event);
    say("{\"type\":\"response.create\"}");
    run_ms(&call, 4000);
    (void)expect_event(&call, "response.output_audio_transcript.done", done);
    assert_int_equal(call.received_us, 3000 * US_PER_MS);
    assert_int_equal(metric_get(&call.counters.agent.calls), 1);
}

static void the_script_calls_a_tool_and_says_what_came_of_it(void **state)
{
    (void)state;
    call.script.tool_count = 1;
    call.script.tool[0] = (struct agent_tool_rule){"*", AGENT_CAUSE_TYPED, "weather", 0, "{}"};
    connect_call(",\"session\":{\"tools\":[{\"type\":\"function\",\"name\":\"t\"}]}");
    type_text("the weather?");
    run_ms(&call, 200);
    const size_t done = expect_event(&call, "response.done", 0);
    const size_t called = expect_event(&call, "response.function_call_arguments.done", 0);
    const char *id = strstr(call.event[called], "\"call_id\":\"");
    char event[512];
    (void)snprintf(event, sizeof(event),
                   "{\"type\":\"conversation.item.create\",\"item\":{\"type\":"
                   "\"function_call_output\",\"call_id\":\"%.*s\",\"output\":\"rain\"}}",
                   (int)strcspn(id + 11, "\""), id + 11);
    say(event);
    say("{\"type\":\"response.create\"}");
    run_ms(&call, 4000);
    (void)assert_said("The tool says: rain.", done);
}

static void typed_words_are_counted(void **state)
{
    (void)state;
    connect_call("");
    type_text("count to 5");
    run_ms(&call, 3000);
    (void)assert_said("1, 2, 3, 4, 5.", 0);
    assert_int_equal(call.received_us, 5 * WORD_MS * US_PER_MS);
}

static void a_response_of_text_alone_has_no_sound(void **state)
{
    (void)state;
    connect_call(",\"session\":{\"output_modalities\":[\"text\"]}");
    type_text("count to 5");
    run_ms(&call, 3000);
    const size_t whole = expect_event(&call, "response.output_text.done", 0);
    assert_says(&call, whole, "\"text\":\"1, 2, 3, 4, 5.\"");
    assert_int_equal(call.utterance, 0);
}

static void a_cancelled_response_says_no_more(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("go");
    run_ms(&call, 200); /* one sentence of three is made */
    say("{\"type\":\"response.cancel\"}");
    const size_t done = expect_event(&call, "response.done", 0);
    assert_says(&call, done, "\"status\":\"cancelled\"");
    run_ms(&call, 9000);
    assert_int_equal(find_event(&call, "response.output_audio_transcript.delta", done), EVENTS_MAX);
    assert_true(call.received_us < 9 * US_PER_S);
    (void)expect_event(&call, "output_audio_buffer.stopped", done);
}

static void what_a_client_clears_falls_silent_and_its_words_go_on(void **state)
{
    (void)state;
    (void)strcpy(call.script.phrase[AGENT_PHRASE_TYPED],
                 "One. Two. Three. Four. Five. Six. Seven.");
    connect_call("");
    type_text("go");
    run_ms(&call, 300);
    const size_t started = expect_event(&call, "output_audio_buffer.started", 0);
    const uint64_t made = speech_desk_counts(call.behaviour.desk).made;
    const uint64_t received_us = call.received_us;
    say("{\"type\":\"output_audio_buffer.clear\"}");
    run_ms(&call, 4000);
    (void)expect_event(&call, "output_audio_buffer.cleared", started);
    const size_t done = assert_said("One. Two. Three. Four. Five. Six. Seven.", 0);
    assert_true(call.event_us[done] - call.event_us[started] <= US_PER_S);
    assert_int_equal(call.received_us, received_us);
    assert_true(speech_desk_counts(call.behaviour.desk).made <= made + 1); /* it was under way */
}

static void a_new_answer_replaces_one_that_still_plays(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("one");
    run_ms(&call, 3500);
    const size_t first = expect_event(&call, "response.done", 0);
    type_text("two");
    run_ms(&call, 1000);
    assert_int_equal(call.flush, 1);
    assert_int_equal(call.utterance, 2);
    const size_t cleared = expect_event(&call, "output_audio_buffer.cleared", first);
    (void)expect_event(&call, "output_audio_buffer.started", cleared);
}

static void a_voice_that_is_behind_holds_up_no_words(void **state)
{
    (void)state;
    connect_call("");
    call.making_us = 4 * US_PER_S;
    type_text("count to 5");
    run_ms(&call, 3000);
    const size_t done = assert_said("1, 2, 3, 4, 5.", 0);
    assert_int_equal(call.received_us, 0);
    run_ms(&call, 4000);
    assert_int_equal(call.received_us, 5 * WORD_MS * US_PER_MS);
    const size_t started = expect_event(&call, "output_audio_buffer.started", done);
    (void)expect_event(&call, "output_audio_buffer.stopped", started);
}

static void a_voice_that_does_not_come_is_given_up(void **state)
{
    (void)state;
    connect_call("");
    call.making_us = 60 * US_PER_S;
    type_text("count to 5");
    run_ms(&call, 14000);
    assert_false(call.is_whole);
    run_ms(&call, 2000);
    assert_true(call.is_whole && call.is_done);
    assert_int_equal(call.received_us, 0);
    call.making_us = MAKING_US;
    run_ms(&call, 60000);
    type_text("count to 3");
    run_ms(&call, 3000);
    assert_int_equal(call.received_us, 3 * WORD_MS * US_PER_MS);
}

static void what_can_not_be_spoken_is_left_out(void **state)
{
    (void)state;
    connect_call("");
    call.voice_fails = true;
    type_text("count to 5");
    run_ms(&call, 3000);
    (void)assert_said("1, 2, 3, 4, 5.", 0);
    assert_true(call.is_whole && call.is_done);
    assert_int_equal(call.received_us, 0);
}

static void digits_are_repeated_after_a_pause(void **state)
{
    (void)state;
    connect_call("");
    give_text(&call, BACKEND_DTMF, "{\"digit\":\"1\",\"duration_ms\":100}");
    run_ms(&call, 900);
    give_text(&call, BACKEND_DTMF, "{\"digit\":\"2\",\"duration_ms\":100}");
    give_text(&call, BACKEND_DTMF, "{\"digit\":\"#\",\"duration_ms\":100}");
    run_ms(&call, 800);
    assert_int_equal(find_event(&call, "response.created", 0), EVENTS_MAX);
    run_ms(&call, 3000);
    const size_t done = assert_said("You pressed 1 2 pound.", 0);
    give_text(&call, BACKEND_DTMF, "{\"digit\":\"*\",\"duration_ms\":100}");
    run_ms(&call, 4000);
    (void)assert_said("You pressed star.", done);
}

static void digits_in_a_response_wait_for_its_end(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("go");
    for (size_t i = 0; i < AGENT_DIGITS_MAX + 3; i++) {
        give_text(&call, BACKEND_DTMF, "{\"digit\":\"1\",\"duration_ms\":100}");
    }
    run_ms(&call, 1800);
    assert_int_equal(count_events(&call, "response.created", 0), 1);
    run_ms(&call, 3000);
    assert_int_equal(count_events(&call, "response.created", 0), 2);
}

static void a_new_side_band_is_told_of_the_session_alone(void **state)
{
    (void)state;
    connect_call("");
    const size_t before = call.event_count;
    give_text(&call, BACKEND_SIDEBAND, "{\"id\":5,\"state\":\"attached\"}");
    run_ms(&call, 20);
    give_text(&call, BACKEND_SIDEBAND, "{\"id\":5,\"state\":\"gone\"}");
    run_ms(&call, 20);
    assert_int_equal(call.event_count, before + 1);
    assert_true(event_is(&call, before, "session.created"));
    assert_int_equal(call.event_sideband[before], 5);
}

static void a_call_without_an_event_channel_talks_too(void **state)
{
    (void)state;
    (void)strcpy(call.script.phrase[AGENT_PHRASE_GREETING], "Hello there.");
    start_call(&call, ",\"events\":false");
    give_text(&call, BACKEND_CONNECTED, CONNECTED);
    run_ms(&call, 2000);
    assert_int_equal(call.utterance, 1);
    assert_true(call.is_done);
    speak_ms(&call, 1000);
    run_ms(&call, 3000);
    assert_int_equal(call.utterance, 2);
}

static void a_call_that_had_another_agent_learns_that_its_response_failed(void **state)
{
    (void)state;
    connect_call(",\"restarted\":true");
    assert_int_equal(expect_event(&call, "session.created", 0), 0);
    const size_t created = expect_event(&call, "response.created", 0);
    assert_says(&call, expect_event(&call, "response.done", created), "\"status\":\"failed\"");
}

static void speech_goes_on_after_its_connection_broke(void **state)
{
    (void)state;
    connect_call(STUB("{}"));
    type_text("go");
    run_ms(&call, 2000);
    const struct backend_resume resume = {
        .call_id = "rtc_1",
        .token = "00112233445566778899aabbccddeeff",
        .next_token = "ffeeddccbbaa99887766554433221100",
        .position = {.utterance = call.utterance,
                     .received_us = call.sent_us,
                     .received_total_us = call.consumed_us,
                     .credit_us = call.credit_us},
    };
    call.received_us = call.sent_us; /* what waited there is lost */
    call.queued_us = 0;
    call.is_whole = false;
    assert_true(stub_session_can_resume(call.session));
    stub_session_resume(call.session, HANDLE, &resume, call.now_us);
    drain(&call);
    run_ms(&call, 9000);
    assert_int_equal(call.received_us, 9 * US_PER_S);
    (void)expect_event(&call, "output_audio_buffer.stopped", 0);
}

static void an_event_as_long_as_they_may_be_is_taken_in_chunks(void **state)
{
    (void)state;
    static char text[BACKEND_MESSAGE_BYTES_MAX + 1];
    static const char head[] = "{\"type\":\"no.such.event\",\"event_id\":\"e1\",\"a\":\"";
    connect_call("");
    memset(text, 'x', BACKEND_MESSAGE_BYTES_MAX);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + BACKEND_MESSAGE_BYTES_MAX - 2, "\"}", 2);
    for (size_t at = 0; at < BACKEND_MESSAGE_BYTES_MAX; at += 16384) {
        const bool is_last = at + 16384 == BACKEND_MESSAGE_BYTES_MAX;
        assert_true(
            give(&call, (struct backend_frame){.type = BACKEND_EVENT,
                                               .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                               .payload = bytes_view_of(text + at, 16384)}));
    }
    drain(&call);
    assert_says(&call, expect_event(&call, "error", 0), "\"event_id\":\"e1\"");
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(it_greets_where_the_script_says_so),
        CLAIM(it_does_not_greet_otherwise),
        CLAIM(a_line_that_comes_with_the_first_update_is_in_time),
        CLAIM(a_tool_is_called_and_its_output_spoken),
        CLAIM(the_script_calls_a_tool_and_says_what_came_of_it),
        CLAIM(typed_words_are_counted),
        CLAIM(a_response_of_text_alone_has_no_sound),
        CLAIM(a_cancelled_response_says_no_more),
        CLAIM(what_a_client_clears_falls_silent_and_its_words_go_on),
        CLAIM(a_new_answer_replaces_one_that_still_plays),
        CLAIM(a_voice_that_is_behind_holds_up_no_words),
        CLAIM(a_voice_that_does_not_come_is_given_up),
        CLAIM(what_can_not_be_spoken_is_left_out),
        CLAIM(digits_are_repeated_after_a_pause),
        CLAIM(digits_in_a_response_wait_for_its_end),
        CLAIM(a_new_side_band_is_told_of_the_session_alone),
        CLAIM(a_call_without_an_event_channel_talks_too),
        CLAIM(a_call_that_had_another_agent_learns_that_its_response_failed),
        CLAIM(speech_goes_on_after_its_connection_broke),
        CLAIM(an_event_as_long_as_they_may_be_is_taken_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
