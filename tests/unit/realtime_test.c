/* realtime_test.c - docs/client-contract.md: responses, what ends them, side-bands, restarts */
#include "tests/unit/realtime_lines.h"

/* --- text, tools ------------------------------------------------------------------------------ */

static void a_response_of_text_has_no_audio(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, HELLO, ADDED_AND_DONE},
        {client, "{\"type\":\"response.create\",\"response\":{\"output_modalities\":[\"text\"]}}",
         "response.created"},
        {speaks, "", ""},
        {says, "hel", OPENED " response.output_text.delta"},
        {says, "lo", "response.output_text.delta"},
        {says_end, "", WRITTEN},
    };
    open_with(NULL);
    play(lines, COUNT_OF(lines));
    field_is("response.output.0.content.0", "{\"type\":\"output_text\",\"text\":\"hello\"}");
    assert_true(world.respond.respond.is_text_only);
    assert_int_equal(world.respond.respond.prompt, REALTIME_PROMPT_TYPED);
    assert_string_equal(world.prompt_text, "hello");
    close_world();
}

static void a_tool_is_called_once_and_its_output_answered(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, HELLO, ADDED_AND_DONE},
        {client, CREATE, "response.created"},
        {calls_tool, "{\"city\":\"Oslo\"}",
         "response.output_item.added:in_progress conversation.item.added:in_progress "
         "response.function_call_arguments.delta response.function_call_arguments.done "
         "conversation.item.done response.output_item.done response.done:completed"},
        {client, OUTPUT, ADDED_AND_DONE},
        {client, CREATE, "response.created"},
    };
    open_with(TOOLS);
    play(lines, 3);
    field_is("response.output.0.arguments", "{\"city\":\"Oslo\"}");
    field_is("response.output.0.status", "completed");
    assert_string_equal(world.tool, "get_weather");
    play(lines + 3, COUNT_OF(lines) - 3);
    assert_int_equal(world.respond.respond.prompt, REALTIME_PROMPT_TOOL_OUTPUT);
    assert_string_equal(world.prompt_text, "sunny");
    close_world();
}

static void long_arguments_come_in_pieces_of_whole_characters(void **state)
{
    (void)state;
    char arguments[400] = "";
    for (size_t i = 0; i < 99; i++) {
        strcat(arguments, "\u20ac");
    }
    open_with(TOOLS);
    client(&world, CREATE);
    realtime_world_drain(&world);
    calls_tool(&world, arguments);
    realtime_world_drain(&world);
    assert_string_equal(world.rules.broken, "");
    field_is("response.output.0.arguments", arguments);
    close_world();
}

static void a_greeting_is_a_response_to_nothing(void **state)
{
    (void)state;
    open_with("{\"instructions\":\"be kind\"}");
    play(&(struct realtime_line){greets, "", "response.created"}, 1);
    assert_int_equal(world.respond.respond.prompt, REALTIME_PROMPT_NONE);
    assert_string_equal(world.instructions, "be kind");
    assert_string_equal(world.tool, "");
    play(&(struct realtime_line){greets, "", ""}, 1);
    close_world();
}

static void a_response_may_have_its_own_instructions_and_tools(void **state)
{
    (void)state;
    open_with(TOOLS);
    play(&(struct realtime_line){client,
                                 "{\"type\":\"response.create\",\"response\":{\"instructions\":"
                                 "\"say yes\",\"tool_choice\":\"none\",\"metadata\":{\"a\":\"b\"},"
                                 "\"max_output_tokens\":7}}",
                                 "response.created"},
         1);
    assert_string_equal(world.instructions, "say yes");
    assert_string_equal(world.tool, "");
    field_is("response.metadata.a", "b");
    field_is("response.max_output_tokens", "7");
    close_world();
}

static void a_response_apart_adds_nothing_to_the_conversation(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client,
         "{\"type\":\"response.create\",\"response\":{\"conversation\":\"none\","
         "\"output_modalities\":[\"text\"],\"input\":[{\"type\":\"message\",\"role\":\"user\","
         "\"content\":[{\"type\":\"input_text\",\"text\":\"apart\"}]}]}}",
         "response.created"},
        {says, "yes",
         "response.output_item.added:in_progress response.content_part.added "
         "response.output_text.delta"},
        {says_end, "",
         "response.output_text.done response.content_part.done response.output_item.done "
         "response.done:completed"},
    };
    open_with(NULL);
    play(lines, COUNT_OF(lines));
    assert_string_equal(world.prompt_text, "apart");
    field_is("response.conversation_id", "null");
    close_world();
}

/* --- cancel, clear, failure ------------------------------------------------------------------- */

static void the_sdk_interrupts_with_cancel_and_clear(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {playback_starts, "", "output_audio_buffer.started"},
        {client, CANCEL, CUT_OFF "response.done:cancelled"},
        {says, "too late", ""},
        {says_end, "", ""},
        {client, CLEAR, ""},
        {flush_is_done, "20", "output_audio_buffer.cleared conversation.item.truncated:20"},
        {client, CLEAR, ""},
        {client, CANCEL, "error:response_cancel_not_active"},
    };
    open_with(NULL);
    play(lines, 4);
    field_is("response.status_details", "{\"type\":\"cancelled\",\"reason\":\"client_cancelled\"}");
    play(lines + 4, COUNT_OF(lines) - 4);
    assert_int_equal(world.flush, 0);
    close_world();
}

static void what_was_spoken_before_a_cancel_may_play_on(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {client, CANCEL, CUT_OFF "response.done:cancelled"},
        {playback_starts, "", "output_audio_buffer.started"},
        {playback_ends, "80", "output_audio_buffer.stopped"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void a_response_that_said_nothing_ends_without_output(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"}, {client, CANCEL, "response.done:cancelled"},
        {client, CREATE, "response.created"}, {fails, "", "response.done:failed"},
        {client, CREATE, "response.created"}, {says_end, "", "response.done:completed"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void a_failure_closes_what_is_open_and_the_session_stays(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {fails, "", CUT_OFF "response.done:failed"},
        {client, CREATE, "response.created"},
    };
    open_with(NULL);
    play(lines, 3);
    field_is("response.status_details.type", "failed");
    field_is("response.status_details.error.code", "voice_lost");
    play(lines + 3, 1);
    close_world();
}

static void one_response_at_a_time(void **state)
{
    (void)state;
    open_with(NULL);
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {client, "{\"type\":\"response.create\",\"event_id\":\"agents_js_response_create_2\"}",
         "error:conversation_already_has_active_response"},
    };
    play(lines, COUNT_OF(lines));
    field_is("error.event_id", "agents_js_response_create_2");
    play(&(struct realtime_line){client,
                                 "{\"type\":\"response.cancel\",\"response_id\":\"resp_foreign\"}",
                                 "error:response_cancel_not_active"},
         1);
    close_world();
}

/* --- side-bands, restarts --------------------------------------------------------------------- */

static void a_side_band_is_greeted_alone(void **state)
{
    (void)state;
    open_with(NULL);
    realtime_sideband_attached(world.realtime, 7);
    realtime_world_drain(&world);
    assert_string_equal(world.events, "session.created");
    assert_int_equal(world.sideband, 7);
    play(&(struct realtime_line){client, HELLO, ADDED_AND_DONE}, 1);
    assert_int_equal(world.sideband, 0);
    close_world();
}

static void after_a_restart_a_response_fails_so_that_clients_go_on(void **state)
{
    (void)state;
    realtime_world_open(&world, &(struct realtime_world_config){.is_restarted = true});
    realtime_world_drain(&world);
    assert_string_equal(world.events, "session.created response.created response.done:failed");
    assert_int_equal(world.response, 0);
    play(&(struct realtime_line){client, CREATE, "response.created"}, 1);
    close_world();
}

static void a_flush_is_ordered_again_on_another_connection(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {playback_starts, "", "output_audio_buffer.started"},
        {client, CLEAR, ""},
    };
    open_with(NULL);
    play(lines, COUNT_OF(lines));
    world.flush = 0; /* lost */
    play(&(struct realtime_line){resumes, "", ""}, 1);
    assert_int_equal(world.flush, 1);
    play(&(struct realtime_line){flush_is_done, "1",
                                 "output_audio_buffer.cleared conversation.item.truncated:1"},
         1);
    play(&(struct realtime_line){resumes, "", ""}, 1);
    assert_int_equal(world.flush, 0);
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_of_text_has_no_audio),
        cmocka_unit_test(a_tool_is_called_once_and_its_output_answered),
        cmocka_unit_test(long_arguments_come_in_pieces_of_whole_characters),
        cmocka_unit_test(a_greeting_is_a_response_to_nothing),
        cmocka_unit_test(a_response_may_have_its_own_instructions_and_tools),
        cmocka_unit_test(a_response_apart_adds_nothing_to_the_conversation),
        cmocka_unit_test(the_sdk_interrupts_with_cancel_and_clear),
        cmocka_unit_test(what_was_spoken_before_a_cancel_may_play_on),
        cmocka_unit_test(a_response_that_said_nothing_ends_without_output),
        cmocka_unit_test(a_failure_closes_what_is_open_and_the_session_stays),
        cmocka_unit_test(one_response_at_a_time),
        cmocka_unit_test(a_side_band_is_greeted_alone),
        cmocka_unit_test(after_a_restart_a_response_fails_so_that_clients_go_on),
        cmocka_unit_test(a_flush_is_ordered_again_on_another_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
