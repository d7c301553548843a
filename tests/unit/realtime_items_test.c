/* realtime_items_test.c - docs/client-contract.md: the items of a conversation */
#include "tests/unit/realtime_lines.h"

#include <stdio.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stand_where_the_client_puts_them),
        cmocka_unit_test(doubtful_items_are_refused_by_name),
        cmocka_unit_test(items_come_back_in_the_form_that_clients_take),
        cmocka_unit_test(a_truncation_of_the_client_is_clamped_to_what_was_heard),
        cmocka_unit_test(a_deleted_item_takes_no_more_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
