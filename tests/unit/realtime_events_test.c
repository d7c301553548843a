/* realtime_events_test.c - every event gets an answer that is JSON and fits, whatever it is */
#include "tests/testing.h"

#include "services/inference-stub/realtime/realtime_events.h"

#include <jansson.h>
#include <stdlib.h>

/* The caller json_decref()s. */
static json_t *refuse(struct bytes_view event)
{
    char text[REALTIME_EVENT_BYTES_MAX];
    const size_t len = realtime_events_refuse(event, "parrot", 7, text);
    assert_in_range(len, 1, sizeof(text));
    json_t *answer = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(answer);
    assert_string_equal(json_string_value(json_object_get(answer, "type")), "error");
    assert_string_equal(json_string_value(json_object_get(answer, "event_id")), "event_7");
    return answer;
}

static const json_t *error_of(const json_t *answer, const char *key)
{
    return json_object_get(json_object_get(answer, "error"), key);
}

static void the_answer_names_the_event_it_answers(void **state)
{
    (void)state;
    json_t *answer = refuse(bytes_view_of_text("{\"type\":\"x\",\"event_id\":\"\\u00e9\\\"1\"}"));
    assert_string_equal(json_string_value(error_of(answer, "event_id")), "\u00e9\"1");
    assert_string_equal(json_string_value(error_of(answer, "code")), "not_supported");
    assert_non_null(strstr(json_string_value(error_of(answer, "message")), "parrot"));
    json_decref(answer);
}

static void an_event_without_a_usable_id_is_answered_with_null(void **state)
{
    (void)state;
    static const char *const cases[] = {"{}", "{\"event_id\":7}", "{\"event_id\":null}"};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *answer = refuse(bytes_view_of_text(cases[i]));
        assert_true(json_is_null(error_of(answer, "event_id")));
        json_decref(answer);
    }
}

static void an_id_of_512_bytes_is_repeated_and_a_longer_one_not(void **state)
{
    (void)state;
    for (size_t len = 512; len <= 513; len++) {
        char event[4096] = "{\"event_id\":\"";
        for (size_t i = 0; i < len; i++) {
            strcat(event, "\\u0001"); /* as long as an answer can become */
        }
        strcat(event, "\"}");
        json_t *answer = refuse(bytes_view_of_text(event));
        assert_int_equal(json_is_null(error_of(answer, "event_id")), len == 513);
        json_decref(answer);
    }
}

static void what_is_no_object_or_too_deep_is_called_invalid(void **state)
{
    (void)state;
    char deep[128];
    memset(deep, '[', 33);
    memset(deep + 33, ']', 33);
    char many[2 * 4096 + 8] = "[0";
    for (size_t i = 0; i < 4096; i++) {
        memcpy(many + 2 + 2 * i, ",0", 2);
    }
    const struct bytes_view cases[] = {
        bytes_view_of_text(""),   bytes_view_of_text("[]"),
        bytes_view_of_text("{"),  bytes_view_of_text("{\"a\":1,\"a\":2}"),
        bytes_view_of(deep, 66),  bytes_view_of(many, sizeof(many)),
        bytes_view_of("\xff", 1),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *answer = refuse(cases[i]);
        assert_string_equal(json_string_value(error_of(answer, "code")), "invalid_json");
        json_decref(answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_names_the_event_it_answers),
        cmocka_unit_test(an_event_without_a_usable_id_is_answered_with_null),
        cmocka_unit_test(an_id_of_512_bytes_is_repeated_and_a_longer_one_not),
        cmocka_unit_test(what_is_no_object_or_too_deep_is_called_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
