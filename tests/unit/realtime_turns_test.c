/* realtime_turns_test.c - docs/client-contract.md: what the user says, and what speech cuts off */
#include "tests/unit/realtime_lines.h"

#include <stdio.h>

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
        {says, "hello", "response.output_audio_transcript.delta"},
        {says_end, "", SPOKEN},
        {playback_starts, "", "output_audio_buffer.started"},
        {speech_begins, "", "input_audio_buffer.speech_started"},
        {flush_is_done, "40", "output_audio_buffer.cleared conversation.item.truncated:40"},
    };
    char retrieve[128];
    open_with(NULL);
    play(lines, 4);
    (void)snprintf(retrieve, sizeof(retrieve),
                   "{\"type\":\"conversation.item.retrieve\",\"item_id\":\"%s\"}",
                   realtime_world_field(&world, "response.output.0.id"));
    client(&world, retrieve);
    realtime_world_drain(&world);
    field_is("item.content.0.transcript", "hello");
    play(lines + 4, COUNT_OF(lines) - 4);
    client(&world, retrieve);
    realtime_world_drain(&world);
    field_is("item.content.0.transcript", ""); /* it may have words that nobody heard */
    close_world();
}

/* A client that clears the buffer lets the answer go on: its words come, and are not kept. */
static void an_answer_that_goes_on_after_it_was_cut_keeps_no_words(void **state)
{
    (void)state;
    static const struct realtime_line lines[] = {
        {client, CREATE, "response.created"},
        {speaks, "", OPENED},
        {says, "hello", "response.output_audio_transcript.delta"},
        {playback_starts, "", "output_audio_buffer.started"},
        {client, "{\"type\":\"output_audio_buffer.clear\"}", ""},
        {flush_is_done, "40", "output_audio_buffer.cleared conversation.item.truncated:40"},
        {says_end, "", NULL},
    };
    open_with(NULL);
    play(lines, COUNT_OF(lines));
    field_is("response.output.0.content.0.transcript", "");
    close_world();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spoken_turn_is_answered_with_speech),
        cmocka_unit_test(speech_over_an_answer_cuts_it_while_it_is_generated),
        cmocka_unit_test(speech_over_an_answer_cuts_it_after_it_was_generated),
        cmocka_unit_test(an_answer_that_goes_on_after_it_was_cut_keeps_no_words),
        cmocka_unit_test(an_answer_that_nobody_heard_yet_is_truncated_at_0),
        cmocka_unit_test(new_speech_clears_the_old_first),
        cmocka_unit_test(with_interrupt_response_off_speech_lets_the_answer_go_on),
        cmocka_unit_test(a_turn_that_interrupts_takes_the_place_of_one_that_waits),
        cmocka_unit_test(with_create_response_off_a_turn_waits_for_the_client),
        cmocka_unit_test(a_turn_is_transcribed_where_the_session_asks_for_it),
        cmocka_unit_test(a_turn_names_one_item_and_its_times_grow),
        cmocka_unit_test(a_turn_that_is_being_heard_keeps_its_id),
        cmocka_unit_test(without_turn_detection_the_client_commits),
        cmocka_unit_test(appended_audio_is_heard_like_any_other),
        cmocka_unit_test(a_commit_in_the_middle_of_a_turn_ends_it_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
