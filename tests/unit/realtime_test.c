/* realtime_test.c - docs/client-contract.md, line by line: what happens, and the events */
#include "tests/testing.h"

#include "tests/support/realtime_world.h"

#include <stdio.h>

static struct realtime_world world;

static void open_with(const char *session)
{
    realtime_world_open(&world, &(struct realtime_world_config){.session = session});
    realtime_world_drain(&world);
    assert_string_equal(world.events, "session.created");
}

static void play(const struct realtime_line *lines, size_t count)
{
    static char why[16384];
    if (!realtime_world_play(&world, lines, count, why, sizeof(why))) {
        fail_msg("%s", why);
    }
}

static void close_world(void)
{
    assert_string_equal(world.rules.broken, "");
    realtime_world_close(&world);
}

static void play_in(const char *session, const struct realtime_line *lines, size_t count)
{
    open_with(session);
    play(lines, count);
    close_world();
}

static void field_is(const char *path, const char *value)
{
    assert_string_equal(realtime_world_field(&world, path), value);
}

#define CREATE "{\"type\":\"response.create\"}"
#define CANCEL "{\"type\":\"response.cancel\"}"
#define CLEAR  "{\"type\":\"output_audio_buffer.clear\"}"
#define COMMIT "{\"type\":\"input_audio_buffer.commit\"}"
#define HELLO                                                                                      \
    "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"hello\",\"type\":\"message\","      \
    "\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hello\"}]}}"
#define ITEM(id, place)                                                                            \
    "{\"type\":\"conversation.item.create\"" place ",\"item\":{\"id\":\"" id "\","                 \
    "\"type\":\"message\",\"role\":\"user\",\"content\":[]}}"
#define OUTPUT                                                                                     \
    "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"function_call_output\","          \
    "\"call_id\":\"call_1\",\"output\":\"sunny\"}}"
#define TRANSCRIBED "{\"audio\":{\"input\":{\"transcription\":{\"model\":\"any\"}}}}"
#define TOOLS       "{\"tools\":[{\"type\":\"function\",\"name\":\"get_weather\"}]}"
#define MANUAL      "{\"audio\":{\"input\":{\"turn_detection\":null}}}"

#define ADDED_AND_DONE "conversation.item.added conversation.item.done"
#define OPENED                                                                                     \
    "response.output_item.added:in_progress conversation.item.added:in_progress "                  \
    "response.content_part.added"
#define SPOKEN                                                                                     \
    "response.output_audio.done response.output_audio_transcript.done "                            \
    "response.content_part.done conversation.item.done response.output_item.done "                 \
    "response.done:completed"
#define CUT_OFF                                                                                    \
    "response.output_audio.done response.output_audio_transcript.done "                            \
    "response.content_part.done conversation.item.done:incomplete "                                \
    "response.output_item.done:incomplete "
#define WRITTEN                                                                                    \
    "response.output_text.done response.content_part.done conversation.item.done "                 \
    "response.output_item.done response.done:completed"
#define STOPPED   "input_audio_buffer.speech_stopped"
#define COMMITTED "input_audio_buffer.committed " ADDED_AND_DONE
#define DELTA     "response.output_audio_transcript.delta"

/* --- speech ----------------------------------------------------------------------------------- */

static void a_spoken_turn_is_answered_with_speech(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {audio, "1000", ""},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {audio, "1500", ""},
        {speech_ends, "", STOPPED " " COMMITTED " response.created"},
        {speaks, "", OPENED},
        {says, "two ", DELTA},
        {playback_starts, "", "output_audio_buffer.started"},
        {says, "seconds", DELTA},
        {says_end, "", SPOKEN},
        {playback_ends, "900", "output_audio_buffer.stopped"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void speech_over_an_answer_cuts_it_while_it_is_generated(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {says, "a long", DELTA},
        {playback_starts, "", "output_audio_buffer.started"},
        {speech_begins, "", "input_audio_buffer.speech_started " CUT_OFF "response.done:cancelled"},
        {flush_is_done, "1130", "output_audio_buffer.cleared conversation.item.truncated:1130"},
        {playback_ends, "1130", ""},
        {audio, "700", ""},
        {speech_ends, "", STOPPED " " COMMITTED " response.created"},
        {speaks, "", OPENED},
    };
    open_with(NULL);
    play(lines, 5);
    field_is("response.status_details.reason", "turn_detected");
    field_is("response.output.0.content.0.transcript", "a long");
    assert_int_equal(world.flush, 1);
    play(lines + 5, COUNT_OF(lines) - 5);
    assert_int_equal(world.flush, 0);
    close_world();
}

static void speech_over_an_answer_cuts_it_after_it_was_generated(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {says_end, "", SPOKEN},
        {playback_starts, "", "output_audio_buffer.started"},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {flush_is_done, "40", "output_audio_buffer.cleared conversation.item.truncated:40"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void an_answer_that_nobody_heard_yet_is_truncated_at_0(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {says_end, "", SPOKEN},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {flush_found_nothing, "", "conversation.item.truncated:0"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void new_speech_clears_the_old_first(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {says_end, "", SPOKEN},
        {playback_starts, "", "output_audio_buffer.started"},
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {flush_is_done, "300", "output_audio_buffer.cleared conversation.item.truncated:300"},
        {playback_starts, "", "output_audio_buffer.started"},
        {says_end, "", SPOKEN},
        {playback_ends, "", "output_audio_buffer.stopped"},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

static void with_interrupt_response_off_speech_lets_the_answer_go_on(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {playback_starts, "", "output_audio_buffer.started"},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {audio, "500", ""},
        {speech_ends, "", STOPPED " " COMMITTED},
        {says_end, "", SPOKEN " response.created"},
    };
    play_in("{\"audio\":{\"input\":{\"turn_detection\":{\"interrupt_response\":false}}}}", lines,
            COUNT_OF(lines));
}

static void a_turn_that_interrupts_takes_the_place_of_one_that_waits(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {speech_ends, "", STOPPED " " COMMITTED},
        {client,
         "{\"type\":\"session.update\",\"session\":{\"audio\":{\"input\":{\"turn_detection\":"
         "{\"interrupt_response\":true}}}}}",
         "session.updated"},
        {speech_begins, "", "input_audio_buffer.speech_started response.done:cancelled"},
        {says_end, "", ""},
        {speech_ends, "", STOPPED " " COMMITTED " response.created"},
    };
    play_in("{\"audio\":{\"input\":{\"turn_detection\":{\"interrupt_response\":false}}}}", lines,
            COUNT_OF(lines));
}

static void with_create_response_off_a_turn_waits_for_the_client(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {audio, "500", ""},
        {speech_ends, "", STOPPED " " COMMITTED},
        {client, CREATE, "response.created"},
    };
    open_with("{\"audio\":{\"input\":{\"turn_detection\":{\"create_response\":false}}}}");
    play(lines, COUNT_OF(lines));
    assert_int_equal(world.respond.respond.prompt, REALTIME_PROMPT_SPOKEN);
    close_world();
}

static void a_turn_is_transcribed_where_the_session_asks_for_it(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {speech_begins, "", NULL},
        {audio, "2100", ""},
        {speech_ends, "", NULL},
        {transcribes, "2.1 seconds",
         "conversation.item.input_audio_transcription.delta "
         "conversation.item.input_audio_transcription.completed"},
    };
    open_with(TRANSCRIBED);
    play(lines, COUNT_OF(lines));
    field_is("transcript", "2.1 seconds");
    assert_int_equal(world.transcribe_ms, 2100);
    char retrieve[256];
    (void)snprintf(retrieve, sizeof(retrieve),
                   "{\"type\":\"conversation.item.retrieve\",\"item_id\":\"%s\"}",
                   world.transcribe);
    play(&(struct realtime_line){client, retrieve, "conversation.item.retrieved"}, 1);
    field_is("item.content.0.transcript", "2.1 seconds");
    close_world();
}

static void a_turn_names_one_item_and_its_times_grow(void **state)
{
    (void)state;
    open_with(NULL);
    play(&(struct realtime_line){audio, "400", ""}, 1);
    speech_begins(&world, "");
    realtime_world_drain(&world);
    field_is("audio_start_ms", "400");
    char item_id[64];
    (void)snprintf(item_id, sizeof(item_id), "%s", realtime_world_field(&world, "item_id"));
    client(&world, "{\"type\":\"input_audio_buffer.clear\"}");
    realtime_world_drain(&world);
    speech_ends(&world, "");
    realtime_world_drain(&world);
    assert_string_equal(world.events, "");
    speech_begins(&world, "");
    speech_ends(&world, "");
    realtime_world_drain(&world);
    assert_string_equal(world.events, "input_audio_buffer.speech_started " STOPPED " " COMMITTED
                                      " response.created");
    close_world();
}

static void a_turn_that_is_being_heard_keeps_its_id(void **state)
{
    (void)state;
    open_with(NULL);
    play(&(struct realtime_line){speech_begins, "", "input_audio_buffer.speech_started"}, 1);
    char create[256];
    (void)snprintf(create, sizeof(create), ITEM("%s", ""), realtime_world_field(&world, "item_id"));
    play(&(struct realtime_line){client, create, "error:item_already_exists"}, 1);
    play(&(struct realtime_line){speech_ends, "", STOPPED " " COMMITTED " response.created"}, 1);
    close_world();
}

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

/* --- the user's audio by hand ----------------------------------------------------------------- */

static void without_turn_detection_the_client_commits(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, COMMIT, "error:input_audio_buffer_commit_empty"},
        {audio, "1200", ""},
        {client, COMMIT, COMMITTED},
        {client, COMMIT, "error:input_audio_buffer_commit_empty"},
        {client, CREATE, "response.created"},
    };
    open_with(MANUAL);
    assert_false(world.turn_detection.is_on);
    play(lines, COUNT_OF(lines));
    assert_int_equal(world.respond.respond.prompt, REALTIME_PROMPT_SPOKEN);
    assert_int_equal(world.respond.respond.spoken_turn, 1);
    close_world();
}

static void appended_audio_is_heard_like_any_other(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AQACAAMA\"}", ""},
        {client, COMMIT, COMMITTED},
        {client, "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AQACAA==\"}", ""},
        {client, "{\"type\":\"input_audio_buffer.clear\"}", "input_audio_buffer.cleared"},
        {client, COMMIT, "error:input_audio_buffer_commit_empty"},
        {client, "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AQ==\"}",
         "error:invalid_value"},
        {client, "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AQ=\"}",
         "error:invalid_value"},
        {client, "{\"type\":\"input_audio_buffer.append\",\"audio\":\"AQAC*A==\"}",
         "error:invalid_value"},
        {client, "{\"type\":\"input_audio_buffer.append\"}", "error:invalid_value"},
    };
    open_with(MANUAL);
    play(lines, COUNT_OF(lines));
    assert_int_equal(world.appended_bytes, 6 + 4);
    close_world();
}

static void a_commit_in_the_middle_of_a_turn_ends_it_there(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {audio, "300", ""},
        {client, COMMIT, STOPPED " " COMMITTED},
        {speech_ends, "", ""},
    };
    play_in(NULL, lines, COUNT_OF(lines));
}

/* --- items ------------------------------------------------------------------------------------ */

#define RETRIEVE(id) "{\"type\":\"conversation.item.retrieve\",\"item_id\":\"" id "\"}"
#define DELETE(id)   "{\"type\":\"conversation.item.delete\",\"item_id\":\"" id "\"}"

static void items_stand_where_the_client_puts_them(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        const char *previous;
    } cases[] = {
        {ITEM("a", ""), "null"},
        {ITEM("b", ",\"previous_item_id\":null"), "a"},
        {ITEM("c", ",\"previous_item_id\":\"root\""), "null"},
        {ITEM("d", ",\"previous_item_id\":\"a\""), "a"},
        {ITEM("e", ",\"previous_item_id\":\"d\""), "d"},
        {ITEM("f", ""), "b"},
    };
    open_with(NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        play(&(struct realtime_line){client, cases[i].event, ADDED_AND_DONE}, 1);
        field_is("previous_item_id", cases[i].previous);
    }
    close_world();
}

static void doubtful_items_are_refused_by_name(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, ITEM("a", ""), ADDED_AND_DONE},
        {client, ITEM("a", ""), "error:item_already_exists"},
        {client, ITEM("b", ",\"previous_item_id\":\"z\""), "error:item_not_found"},
        {client, ITEM("b", ",\"previous_item_id\":7"), "error:invalid_value"},
        {client, ITEM("", ""), "error:invalid_value"},
        {client, ITEM("with space", ""), "error:invalid_value"},
        {client, RETRIEVE("a"), "conversation.item.retrieved"},
        {client, RETRIEVE("z"), "error:item_not_found"},
        {client, DELETE("a"), "conversation.item.deleted"},
        {client, DELETE("a"), "error:item_not_found"},
        {client, "{\"type\":\"conversation.item.delete\"}", "error:invalid_value"},
        {client, "{\"type\":\"conversation.item.create\"}", "error:invalid_value"},
        {client, ITEM("a", ""), ADDED_AND_DONE},
    };
    play_in(NULL, lines, COUNT_OF(lines) - 1);
}

#define MESSAGE(role, part)                                                                        \
    "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\",\"role\":\"" role       \
    "\",\"content\":[" part "]}}"

static void items_come_back_in_the_form_that_clients_take(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        const char *path;
        const char *value;
    } cases[] = {
        {MESSAGE("user", "{\"type\":\"input_audio\",\"audio\":\"AAAA\"}"), "item.content.0",
         "{\"type\":\"input_audio\",\"transcript\":null}"},
        {MESSAGE("user", "{\"type\":\"input_text\",\"text\":\"x\",\"more\":1}"), "item.content.0",
         "{\"type\":\"input_text\",\"text\":\"x\"}"},
        {MESSAGE("user", "{\"type\":\"input_image\",\"image_url\":\"data:\"}"), "item.content.0",
         "{\"type\":\"input_image\",\"image_url\":\"data:\"}"},
        {MESSAGE("assistant", "{\"type\":\"output_text\",\"text\":\"x\"}"), "item.status",
         "completed"},
        {MESSAGE("assistant", "{\"type\":\"output_audio\",\"transcript\":\"x\"}"),
         "item.content.0.transcript", "x"},
        {MESSAGE("system", "{\"type\":\"input_text\",\"text\":\"x\"}"), "item.role", "system"},
        {MESSAGE("assistant", "{\"type\":\"input_text\",\"text\":\"x\"}"), "error.param",
         "item.content"},
        {MESSAGE("user", "{\"type\":\"input_text\"}"), "error.param", "item.content"},
        {MESSAGE("user", "7"), "error.param", "item.content"},
        {MESSAGE("robot", ""), "error.param", "item.role"},
        {"{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\",\"role\":\"user\"}"
         "}",
         "error.param", "item.content"},
        {"{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"mcp_call\"}}", "error.param",
         "item.type"},
        {"{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"function_call\","
         "\"name\":\"f\",\"call_id\":\"c\",\"arguments\":\"{}\"}}",
         "item.arguments", "{}"},
        {"{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"function_call_output\","
         "\"call_id\":\"c\",\"output\":{}}}",
         "error.param", "output"},
    };
    open_with(NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        client(&world, cases[i].event);
        realtime_world_drain(&world);
        field_is(cases[i].path, cases[i].value);
    }
    close_world();
}

static void a_truncation_of_the_client_is_clamped_to_what_was_heard(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"}, {speaks, "", OPENED},          {says_end, "", SPOKEN},
        {playback_starts, "", NULL},          {playback_goes_on, "600", ""},
    };
    static const struct {
        const char *end;
        const char *events;
    } cases[] = {
        {"599", "conversation.item.truncated:599"},
        {"600", "conversation.item.truncated:600"},
        {"601", "conversation.item.truncated:600"},
        {"-1", "error:invalid_value"},
        {"1.5", "error:invalid_value"},
        {"null", "error:invalid_value"},
    };
    open_with(NULL);
    play(lines, 3);
    char id[64];
    (void)snprintf(id, sizeof(id), "%s", realtime_world_field(&world, "response.output.0.id"));
    play(lines + 3, COUNT_OF(lines) - 3);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char event[256];
        (void)snprintf(event, sizeof(event),
                       "{\"type\":\"conversation.item.truncate\",\"item_id\":\"%s\","
                       "\"content_index\":0,\"audio_end_ms\":%s}",
                       id, cases[i].end);
        play(&(struct realtime_line){client, event, cases[i].events}, 1);
    }
    play(&(struct realtime_line){client, HELLO, ADDED_AND_DONE}, 1);
    play(&(struct realtime_line){client,
                                 "{\"type\":\"conversation.item.truncate\",\"item_id\":\"hello\","
                                 "\"content_index\":0,\"audio_end_ms\":0}",
                                 "error:invalid_value"},
         1);
    close_world();
}

static void a_deleted_item_takes_no_more_part(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {playback_starts, "", "output_audio_buffer.started"},
    };
    open_with(NULL);
    play(lines, 2);
    char delete[128];
    (void)snprintf(delete, sizeof(delete), DELETE("%s"), realtime_world_field(&world, "item_id"));
    play(lines + 2, 1);
    play(&(struct realtime_line){client, delete, "conversation.item.deleted"}, 1);
    play(&(struct realtime_line){says_end, "",
                                 "response.output_audio.done response.output_audio_transcript.done "
                                 "response.content_part.done response.output_item.done "
                                 "response.done:completed"},
         1);
    play(&(struct realtime_line){client, CLEAR, ""}, 1);
    play(&(struct realtime_line){flush_is_done, "10", "output_audio_buffer.cleared"}, 1);
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
        cmocka_unit_test(a_spoken_turn_is_answered_with_speech),
        cmocka_unit_test(speech_over_an_answer_cuts_it_while_it_is_generated),
        cmocka_unit_test(speech_over_an_answer_cuts_it_after_it_was_generated),
        cmocka_unit_test(an_answer_that_nobody_heard_yet_is_truncated_at_0),
        cmocka_unit_test(new_speech_clears_the_old_first),
        cmocka_unit_test(with_interrupt_response_off_speech_lets_the_answer_go_on),
        cmocka_unit_test(a_turn_that_interrupts_takes_the_place_of_one_that_waits),
        cmocka_unit_test(with_create_response_off_a_turn_waits_for_the_client),
        cmocka_unit_test(a_turn_is_transcribed_where_the_session_asks_for_it),
        cmocka_unit_test(a_turn_names_one_item_and_its_times_grow),
        cmocka_unit_test(a_turn_that_is_being_heard_keeps_its_id),
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
        cmocka_unit_test(without_turn_detection_the_client_commits),
        cmocka_unit_test(appended_audio_is_heard_like_any_other),
        cmocka_unit_test(a_commit_in_the_middle_of_a_turn_ends_it_there),
        cmocka_unit_test(items_stand_where_the_client_puts_them),
        cmocka_unit_test(doubtful_items_are_refused_by_name),
        cmocka_unit_test(items_come_back_in_the_form_that_clients_take),
        cmocka_unit_test(a_truncation_of_the_client_is_clamped_to_what_was_heard),
        cmocka_unit_test(a_deleted_item_takes_no_more_part),
        cmocka_unit_test(a_side_band_is_greeted_alone),
        cmocka_unit_test(after_a_restart_a_response_fails_so_that_clients_go_on),
        cmocka_unit_test(a_flush_is_ordered_again_on_another_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
