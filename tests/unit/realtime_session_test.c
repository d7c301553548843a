/* realtime_session_test.c - session.update: merged field by field, refused by name */
#include "tests/testing.h"

#include "tests/support/realtime_world.h"

#include <stdio.h>
#include <stdlib.h>

static struct realtime_world world;

static void open_with(const char *session)
{
    realtime_world_open(&world, &(struct realtime_world_config){.session = session});
    realtime_world_drain(&world);
}

static void close_world(void)
{
    assert_string_equal(world.rules.broken, "");
    realtime_world_close(&world);
}

static void update(const char *session)
{
    char event[4096];
    (void)snprintf(event, sizeof(event),
                   "{\"type\":\"session.update\",\"event_id\":\"u\",\"session\":%s}", session);
    client(&world, event);
    realtime_world_drain(&world);
}

static void field_is(const char *path, const char *value)
{
    assert_string_equal(realtime_world_field(&world, path), value);
}

#define TURNS "session.audio.input.turn_detection"

static void the_session_begins_with_the_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *value;
    } cases[] = {
        {"session.type", "realtime"},
        {"session.object", "realtime.session"},
        {"session.model", "gpt-realtime"},
        {"session.instructions", ""},
        {"session.output_modalities", "[\"audio\"]"},
        {"session.tools", "[]"},
        {"session.tool_choice", "auto"},
        {"session.max_output_tokens", "inf"},
        {"session.tracing", "null"},
        {"session.expires_at", "1800000000"},
        {"session.audio.input.format", "{\"type\":\"audio/pcm\",\"rate\":24000}"},
        {"session.audio.input.transcription", "null"},
        {TURNS ".type", "server_vad"},
        {TURNS ".threshold", "0.5"},
        {TURNS ".prefix_padding_ms", "300"},
        {TURNS ".silence_duration_ms", "500"},
        {TURNS ".create_response", "true"},
        {TURNS ".interrupt_response", "true"},
    };
    open_with(NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        field_is(cases[i].path, cases[i].value);
    }
    assert_true(world.turn_detection.is_on);
    assert_int_equal(world.turn_detection.prefix_padding_ms, 300);
    assert_int_equal(world.turn_detection.silence_duration_ms, 500);
    close_world();
}

/* What the agents SDK sends when the channel opens, and again behind session.created. */
static void the_updates_of_the_agents_sdk_are_answered(void **state)
{
    (void)state;
    open_with(NULL);
    update("{\"type\":\"realtime\",\"instructions\":\"You are a test voice.\",\"model\":\"m\","
           "\"output_modalities\":[\"audio\"],\"audio\":{\"input\":{\"format\":{\"type\":"
           "\"audio/pcm\",\"rate\":24000},\"noise_reduction\":null,\"transcription\":{\"model\":"
           "\"t\"},\"turn_detection\":{\"type\":\"semantic_vad\"}},\"output\":{\"format\":"
           "{\"type\":\"audio/pcm\",\"rate\":24000},\"speed\":1}},\"tools\":[{\"type\":"
           "\"function\",\"name\":\"get_weather\",\"description\":\"d\",\"parameters\":{}}]}");
    assert_string_equal(world.events, "session.updated");
    field_is(TURNS ".type", "semantic_vad");
    field_is(TURNS ".silence_duration_ms", "500");
    field_is("session.audio.output.voice", "stub");
    assert_true(realtime_has_tool(world.realtime, "get_weather"));
    assert_false(realtime_has_tool(world.realtime, "other"));
    assert_string_equal(realtime_instructions(world.realtime), "You are a test voice.");
    update("{\"type\":\"realtime\",\"tracing\":\"auto\"}");
    assert_string_equal(world.events, "session.updated");
    field_is("session.tracing", "auto");
    field_is("session.instructions", "You are a test voice.");
    close_world();
}

static void fields_are_merged_one_by_one(void **state)
{
    (void)state;
    static const struct {
        const char *update;
        const char *path;
        const char *value;
    } cases[] = {
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"threshold\":0.25}}}}", TURNS ".threshold",
         "0.25"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"silence_duration_ms\":200}}}}",
         TURNS ".threshold", "0.25"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"threshold\":null}}}}", TURNS ".threshold",
         "0.5"},
        {"{\"audio\":{\"input\":{\"turn_detection\":null}}}", TURNS, "null"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"type\":\"server_vad\"}}}}",
         TURNS ".silence_duration_ms", "500"},
        {"{\"audio\":{\"output\":{\"speed\":1.5}}}", "session.audio.output.voice", "stub"},
        {"{\"audio\":null}", "session.audio.output.speed", "1.0"},
        {"{\"instructions\":\"a\"}", "session.instructions", "a"},
        {"{\"instructions\":null}", "session.instructions", ""},
        {"{\"later\":{\"than\":[\"we\"]}}", "session.later.than.0", "we"},
        {"{\"id\":\"mine\",\"object\":\"x\",\"expires_at\":1}", "session.expires_at", "1800000000"},
        {"{}", "session.object", "realtime.session"},
    };
    open_with(NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        update(cases[i].update);
        assert_string_equal(world.events, "session.updated");
        field_is(cases[i].path, cases[i].value);
    }
    close_world();
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *update;
        const char *param;
    } cases[] = {
        {"7", "session"},
        {"null", "session"},
        {"{\"type\":\"transcription\"}", "session.type"},
        {"{\"instructions\":7}", "session.instructions"},
        {"{\"output_modalities\":[]}", "session.output_modalities"},
        {"{\"output_modalities\":[\"video\"]}", "session.output_modalities"},
        {"{\"output_modalities\":[7]}", "session.output_modalities"},
        {"{\"tools\":{}}", "session.tools"},
        {"{\"tools\":[7]}", "session.tools"},
        {"{\"tools\":[{\"type\":\"function\"}]}", "session.tools"},
        {"{\"audio\":[]}", "session.audio"},
        {"{\"audio\":{\"input\":{\"turn_detection\":true}}}", TURNS},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"type\":\"none\"}}}}", TURNS ".type"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"threshold\":1.01}}}}", TURNS ".threshold"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"threshold\":-0.01}}}}", TURNS ".threshold"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"silence_duration_ms\":10001}}}}",
         TURNS ".silence_duration_ms"},
        {"{\"audio\":{\"input\":{\"turn_detection\":{\"create_response\":1}}}}",
         TURNS ".create_response"},
        {"{\"audio\":{\"output\":{\"speed\":0.2}}}", "session.audio.output.speed"},
    };
    open_with(NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        update(cases[i].update);
        assert_string_equal(world.events, "error:invalid_value");
        field_is("error.param", cases[i].param);
        field_is("error.event_id", "u");
    }
    update("{\"instructions\":\"kept\",\"tools\":7}");
    update("{}");
    field_is("session.instructions", "");
    close_world();
}

static void turn_detection_is_ordered_when_it_changes(void **state)
{
    (void)state;
    open_with(NULL);
    world.turn_detection = (struct realtime_turn_detection){.prefix_padding_ms = 9999};
    update("{\"instructions\":\"a\"}");
    assert_int_equal(world.turn_detection.prefix_padding_ms, 9999);
    update("{\"audio\":{\"input\":{\"turn_detection\":{\"prefix_padding_ms\":0}}}}");
    assert_int_equal(world.turn_detection.prefix_padding_ms, 0);
    assert_true(world.turn_detection.is_on);
    update("{\"audio\":{\"input\":{\"turn_detection\":null}}}");
    assert_false(world.turn_detection.is_on);
    close_world();
}

/* {"instructions":"xxx..."} of `len` x in all; free() it. */
static char *session_with(size_t len)
{
    char *text = malloc(len + 64);
    assert_non_null(text);
    const int head = snprintf(text, 64, "{\"instructions\":\"");
    memset(text + head, 'x', len);
    memcpy(text + head + len, "\"}", 3);
    return text;
}

static void update_instructions(size_t len)
{
    char *session = session_with(len);
    char *event = malloc(len + 128);
    assert_non_null(event);
    (void)snprintf(event, len + 128, "{\"type\":\"session.update\",\"session\":%s}", session);
    client(&world, event);
    realtime_world_drain(&world);
    free(event);
    free(session);
}

static void a_session_has_192_kb_and_its_echo_fits_a_message(void **state)
{
    (void)state;
    static const struct {
        uint32_t message_bytes_max;
        size_t session_bytes_max;
    } cases[] = {{262144, 192 * 1024}, {65536, 65536 - 8192}, {20000, 20000 - 8192}, {8192, 4096}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        realtime_world_open(&world, &(struct realtime_world_config){
                                        .message_bytes_max = cases[i].message_bytes_max});
        realtime_world_drain(&world);
        const size_t empty = strlen(realtime_world_field(&world, "session"));
        update_instructions(cases[i].session_bytes_max - empty + 1);
        assert_string_equal(world.events, "error:session_too_large");
        update_instructions(cases[i].session_bytes_max - empty);
        assert_string_equal(world.events, "session.updated");
        close_world();
    }
}

/* False: it was refused. */
static bool grow(size_t fields, size_t more)
{
    char session[4000] = "{";
    size_t len = 1;
    for (size_t i = 0; i < more; i++) {
        len += (size_t)snprintf(session + len, sizeof(session) - len, "%s\"field_%zu\":0",
                                i == 0 ? "" : ",", fields + i);
    }
    assert_in_range(len, 1, sizeof(session) - 2);
    (void)strcpy(session + len, "}");
    update(session);
    return strcmp(world.events, "error:session_too_large") != 0;
}

static void a_session_can_not_grow_by_many_updates(void **state)
{
    (void)state;
    size_t fields = 0;
    open_with(NULL);
    for (size_t more = 128; more > 0; more /= 2) {
        while (fields < 5000 && grow(fields, more)) {
            fields += more;
        }
    }
    assert_in_range(fields, 4000, 4096);
    close_world();
}

static void a_first_session_that_can_not_be_leaves_the_defaults_and_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        const char *code;
    } cases[] = {{"{\"instructions\":7}", "session.created error:invalid_value"},
                 {"[", "session.created error:invalid_json"},
                 {"[]", "session.created error:invalid_json"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        open_with(cases[i].session);
        assert_string_equal(world.events, cases[i].code);
        field_is("error.event_id", "null");
        close_world();
    }
    char *session = session_with(192 * 1024);
    open_with(session);
    assert_string_equal(world.events, "session.created error:session_too_large");
    close_world();
    free(session);
}

static void the_session_of_the_call_shows_in_session_created(void **state)
{
    (void)state;
    open_with("{\"type\":\"realtime\",\"instructions\":\"from the multipart session part\"}");
    assert_string_equal(world.events, "session.created");
    field_is("session.instructions", "from the multipart session part");
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_session_begins_with_the_defaults),
        cmocka_unit_test(the_updates_of_the_agents_sdk_are_answered),
        cmocka_unit_test(fields_are_merged_one_by_one),
        cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
        cmocka_unit_test(turn_detection_is_ordered_when_it_changes),
        cmocka_unit_test(a_session_has_192_kb_and_its_echo_fits_a_message),
        cmocka_unit_test(a_session_can_not_grow_by_many_updates),
        cmocka_unit_test(a_first_session_that_can_not_be_leaves_the_defaults_and_is_told),
        cmocka_unit_test(the_session_of_the_call_shows_in_session_created),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
