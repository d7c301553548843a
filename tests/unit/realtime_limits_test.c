/* realtime_limits_test.c - what is too long, too many, too deep or no text at all: an `error`, and
 * the call goes on within its memory */
#include "tests/testing.h"

#include "tests/support/realtime_world.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static struct realtime_world world;

static void open_with(uint32_t message_bytes_max)
{
    realtime_world_open(&world,
                        &(struct realtime_world_config){.message_bytes_max = message_bytes_max});
    realtime_world_drain(&world);
}

static void close_world(void)
{
    assert_string_equal(world.rules.broken, "");
    realtime_world_close(&world);
}

static void field_is(const char *path, const char *value)
{
    assert_string_equal(realtime_world_field(&world, path), value);
}

static void gives(const char *event, const char *events)
{
    client(&world, event);
    realtime_world_drain(&world);
    assert_string_equal(world.events, events);
}

/* `count` times a text in one; free() it. */
static char *repeat(const char *text, size_t count)
{
    const size_t len = strlen(text);
    char *all = malloc(len * count + 1);
    assert_non_null(all);
    for (size_t i = 0; i < count; i++) {
        memcpy(all + i * len, text, len);
    }
    all[len * count] = '\0';
    return all;
}

/* head, `count` times a text, tail; free() it. */
static char *around(const char *head, const char *text, size_t count, const char *tail)
{
    char *middle = repeat(text, count);
    const size_t cap = strlen(head) + strlen(middle) + strlen(tail) + 1;
    char *all = malloc(cap);
    assert_non_null(all);
    (void)snprintf(all, cap, "%s%s%s", head, middle, tail);
    free(middle);
    return all;
}

static void around_gives(const char *head, const char *text, size_t count, const char *tail,
                         const char *events)
{
    char *event = around(head, text, count, tail);
    gives(event, events);
    free(event);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void what_is_no_object_is_answered_with_an_error(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "[]",
        "7",
        "null",
        "{",
        "{}}",
        "\xff",
        "{\"a\":\"\xff\"}",
        "{\"a\":1,\"a\":2}",
        "{\"type\":\"\\u0000\"}",
    };
    open_with(0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        gives(cases[i], "error:invalid_json");
        field_is("error.event_id", "null");
        field_is("error.param", "null");
    }
    close_world();
}

static void depth_and_members_of_an_event_have_a_bound(void **state)
{
    (void)state;
    open_with(0);
    char *deepest = repeat("]", 31);
    char *too_deep = repeat("]", 32);
    char tail[64];
    (void)snprintf(tail, sizeof(tail), "%s}", deepest);
    around_gives("{\"type\":\"x\",\"a\":", "[", 31, tail, "error:invalid_value");
    (void)snprintf(tail, sizeof(tail), "%s}", too_deep);
    around_gives("{\"type\":\"x\",\"a\":", "[", 32, tail, "error:invalid_json");
    free(deepest);
    free(too_deep);
    /* type, a, and the elements of a */
    around_gives("{\"type\":\"x\",\"a\":[0", ",0", 4096 - 3, "]}", "error:invalid_value");
    around_gives("{\"type\":\"x\",\"a\":[0", ",0", 4096 - 2, "]}", "error:invalid_json");
    close_world();
}

static void an_event_of_256_kb_is_read_and_a_longer_one_not(void **state)
{
    (void)state;
    const char *head = "{\"type\":\"x\",\"a\":\"";
    const size_t room = REALTIME_EVENT_BYTES_IN - strlen(head) - 2;
    open_with(0);
    around_gives(head, "y", room, "\"}", "error:invalid_value");
    around_gives(head, "y", room + 1, "\"}", "error:message_too_large");
    close_world();
}

static void an_unknown_type_is_named_and_its_event_id_repeated(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        const char *event_id;
    } cases[] = {
        {"{\"type\":\"no.such.event\",\"event_id\":\"kit_unknown\"}", "kit_unknown"},
        {"{\"type\":7,\"event_id\":\"\\u00e9\"}", "\u00e9"},
        {"{\"event_id\":7}", "null"},
        {"{}", "null"},
    };
    open_with(0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        gives(cases[i].event, "error:invalid_value");
        field_is("error.param", "type");
        field_is("error.event_id", cases[i].event_id);
    }
    for (size_t len = 512; len <= 513; len++) {
        around_gives("{\"event_id\":\"", "\\u0001", len, "\"}", "error:invalid_value");
        assert_int_equal(strcmp(realtime_world_field(&world, "error.event_id"), "null") == 0,
                         len == 513);
    }
    close_world();
}

static void what_a_client_writes_never_breaks_the_error_about_it(void **state)
{
    (void)state;
    open_with(4096);
    for (size_t len = 50; len < 200; len++) {
        around_gives("{\"type\":\"x", "\u20ac", len, "\"}", "error:invalid_value");
        around_gives("{\"type\":\"conversation.item.delete\",\"item_id\":\"", "\\u0001", len, "\"}",
                     "error:item_not_found");
    }
    close_world();
}

/* --- the conversation ------------------------------------------------------------------------- */

static void create_item(unsigned number, size_t text_len)
{
    char head[256];
    (void)snprintf(
        head, sizeof(head),
        "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"item_%u\",\"type\":"
        "\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"",
        number);
    around_gives(head, "x", text_len, "\"}]}}", "conversation.item.added conversation.item.done");
}

static bool has_item(unsigned number)
{
    char event[96];
    (void)snprintf(event, sizeof(event),
                   "{\"type\":\"conversation.item.retrieve\",\"item_id\":\"item_%u\"}", number);
    client(&world, event);
    realtime_world_drain(&world);
    return strcmp(world.events, "conversation.item.retrieved") == 0;
}

static void the_oldest_of_500_items_is_forgotten(void **state)
{
    (void)state;
    open_with(0);
    for (unsigned i = 0; i < REALTIME_ITEMS_MAX; i++) {
        create_item(i, 1000);
    }
    assert_true(has_item(0));
    create_item(REALTIME_ITEMS_MAX, 1000);
    assert_false(has_item(0));
    assert_true(has_item(1));
    close_world();
}

static void the_items_of_a_call_have_2_mb(void **state)
{
    (void)state;
    const unsigned fit = 20; /* of 100 KB and what it costs to keep them */
    open_with(0);
    for (unsigned i = 0; i < fit; i++) {
        create_item(i, 100 * 1024);
    }
    assert_true(has_item(0));
    create_item(fit, 100 * 1024);
    assert_false(has_item(0));
    assert_true(has_item(1));
    close_world();
}

static void the_item_that_is_being_spoken_is_not_forgotten(void **state)
{
    (void)state;
    open_with(0);
    gives("{\"type\":\"response.create\"}", "response.created");
    speaks(&world, "");
    realtime_world_drain(&world);
    for (unsigned i = 0; i < 2 * REALTIME_ITEMS_MAX; i++) {
        create_item(i, 0);
    }
    says_end(&world, "");
    realtime_world_drain(&world);
    assert_non_null(strstr(world.events, "conversation.item.done"));
    char retrieve[128];
    (void)snprintf(retrieve, sizeof(retrieve),
                   "{\"type\":\"conversation.item.retrieve\",\"item_id\":\"%s\"}",
                   realtime_world_field(&world, "response.output.0.id"));
    gives(retrieve, "conversation.item.retrieved");
    create_item(2 * REALTIME_ITEMS_MAX, 0);
    gives(retrieve, "error:item_not_found");
    close_world();
}

static void a_client_that_creates_items_for_ever_gets_no_more_memory(void **state)
{
    (void)state;
    char *part = around("{\"type\":\"input_text\",\"text\":\"", "x", 1, "\"},");
    char *event = around("{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\","
                         "\"role\":\"user\",\"content\":[",
                         part, 63, "{\"type\":\"input_text\",\"text\":\"\"}]}}");
    size_t full = 0;
    open_with(0);
    const size_t empty = mallinfo2().uordblks;
    for (unsigned i = 0; i < 4000; i++) {
        client(&world, event);
        realtime_world_drain(&world);
        if (i == 1000) {
            full = mallinfo2().uordblks;
        }
    }
    /* The rules remember every name that there was: three of each item. Under a sanitizer, whose
     * heap is its own, these say nothing. */
    assert_true(full - empty <= 2 * REALTIME_ITEMS_BYTES_MAX);
    assert_true(mallinfo2().uordblks - full <= 3000 * 3 * 200);
    free(part);
    free(event);
    close_world();
}

static void an_item_that_could_not_be_shown_is_refused(void **state)
{
    (void)state;
    static const uint32_t bytes_max[] = {8192, 65536, 262144};
    for (size_t i = 0; i < COUNT_OF(bytes_max); i++) {
        const char *head = "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"i\","
                           "\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":"
                           "\"input_text\",\"text\":\"";
        open_with(bytes_max[i]);
        around_gives(head, "x", bytes_max[i] - 1200, "\"}]}}",
                     "conversation.item.added conversation.item.done");
        gives("{\"type\":\"conversation.item.retrieve\",\"item_id\":\"i\"}",
              "conversation.item.retrieved");
        close_world();
        open_with(bytes_max[i]);
        around_gives(head, "x", bytes_max[i] - 1100, "\"}]}}", "error:item_too_large");
        close_world();
    }
}

static void a_message_has_at_most_64_parts(void **state)
{
    (void)state;
    const char *head = "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\","
                       "\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"\"}";
    const char *part = ",{\"type\":\"input_text\",\"text\":\"\"}";
    open_with(0);
    around_gives(head, part, 63, "]}}", "conversation.item.added conversation.item.done");
    around_gives(head, part, 64, "]}}", "error:invalid_value");
    close_world();
}

/* --- what waits ------------------------------------------------------------------------------- */

static void a_client_that_takes_no_events_is_not_heard_any_more(void **state)
{
    (void)state;
    open_with(0);
    create_item(1, 200000);
    const struct bytes_view retrieve =
        bytes_view_of_text("{\"type\":\"conversation.item.retrieve\",\"item_id\":\"item_1\"}");
    unsigned taken = 0;
    while (realtime_input(world.realtime, retrieve)) {
        taken++;
        assert_in_range(taken, 1, 6);
    }
    assert_int_equal(taken, 6); /* the first that does not fit into 1 MB is still answered */
    assert_false(realtime_input(world.realtime, retrieve));
    realtime_world_drain(&world);
    gives("{\"type\":\"response.create\"}", "response.created");
    close_world();
}

/* --- words ------------------------------------------------------------------------------------ */

static void say_in_one_message_size(uint32_t message_bytes_max)
{
    const size_t room = message_bytes_max / 8 < 8192 ? message_bytes_max / 8 : 8192;
    char *words = repeat("\x01", room);
    open_with(message_bytes_max);
    gives("{\"type\":\"response.create\"}", "response.created");
    speaks(&world, "");
    says(&world, words);
    says(&world, "x"); /* has no room */
    says_end(&world, "");
    realtime_world_drain(&world);
    field_is("response.output.0.content.0.transcript", words);
    gives("{\"type\":\"response.create\"}", "response.created");
    calls_tool(&world, words);
    realtime_world_drain(&world);
    field_is("response.output.0.arguments", words);
    close_world();
    free(words);
}

static void words_that_need_the_most_room_fit_every_message(void **state)
{
    (void)state;
    static const uint32_t bytes_max[] = {4096, 16384, 65536, 262144};
    for (size_t i = 0; i < COUNT_OF(bytes_max); i++) {
        say_in_one_message_size(bytes_max[i]);
    }
}

static void words_that_are_no_text_are_not_said(void **state)
{
    (void)state;
    open_with(0);
    gives("{\"type\":\"response.create\"}", "response.created");
    speaks(&world, "");
    says(&world, "a\xff");
    says(&world, "");
    says(&world, "\xe2\x82");
    says(&world, "b");
    says_end(&world, "");
    realtime_world_drain(&world);
    field_is("response.output.0.content.0.transcript", "b");
    gives("{\"type\":\"response.create\"}", "response.created");
    calls_tool(&world, "\xff");
    realtime_world_drain(&world);
    assert_string_equal(world.events, "response.done:failed");
    close_world();
}

static void metadata_is_repeated_up_to_4_kb(void **state)
{
    (void)state;
    const char *head = "{\"type\":\"response.create\",\"response\":{\"metadata\":{\"a\":\"";
    const size_t frame = strlen("{\"a\":\"\"}");
    open_with(0);
    around_gives(head, "x", 4096 - frame, "\"}}}", "response.created");
    gives("{\"type\":\"response.cancel\"}", "response.done:cancelled");
    around_gives(head, "x", 4097 - frame, "\"}}}", "error:invalid_value");
    field_is("error.param", "response.metadata");
    close_world();
}

static void seconds_of_audio_may_hold_many_turns_in_one_event(void **state)
{
    (void)state;
    open_with(0);
    for (unsigned i = 0; i < 200; i++) {
        speech_begins(&world, "");
        speech_ends(&world, "");
    }
    struct realtime_order order;
    unsigned orders = 0;
    while (realtime_poll_order(world.realtime, &order)) {
        orders++;
    }
    assert_int_equal(orders, 200 + 199); /* a RESPOND each, and a CANCEL of the one before */
    world.response = 0;
    realtime_world_drain(&world);
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_object_is_answered_with_an_error),
        cmocka_unit_test(depth_and_members_of_an_event_have_a_bound),
        cmocka_unit_test(an_event_of_256_kb_is_read_and_a_longer_one_not),
        cmocka_unit_test(an_unknown_type_is_named_and_its_event_id_repeated),
        cmocka_unit_test(what_a_client_writes_never_breaks_the_error_about_it),
        cmocka_unit_test(the_oldest_of_500_items_is_forgotten),
        cmocka_unit_test(the_items_of_a_call_have_2_mb),
        cmocka_unit_test(the_item_that_is_being_spoken_is_not_forgotten),
        cmocka_unit_test(a_client_that_creates_items_for_ever_gets_no_more_memory),
        cmocka_unit_test(an_item_that_could_not_be_shown_is_refused),
        cmocka_unit_test(a_message_has_at_most_64_parts),
        cmocka_unit_test(a_client_that_takes_no_events_is_not_heard_any_more),
        cmocka_unit_test(words_that_need_the_most_room_fit_every_message),
        cmocka_unit_test(words_that_are_no_text_are_not_said),
        cmocka_unit_test(metadata_is_repeated_up_to_4_kb),
        cmocka_unit_test(seconds_of_audio_may_hold_many_turns_in_one_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
