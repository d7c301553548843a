/* session_json_test.c - the upper session counts, field by field, within bounds */
#include "tests/testing.h"

#include "services/signaling/offer/session_json.h"

#include <stdio.h>
#include <stdlib.h>

static enum session_json_result merge(const char *lower, const char *upper, char **out)
{
    return session_json_merge(bytes_view_of_text(lower), bytes_view_of_text(upper), out);
}

static void fields_of_the_upper_one_count_at_any_depth(void **state)
{
    (void)state;
    static const struct {
        const char *lower;
        const char *upper;
        const char *merged;
    } merge_case[] = {
        {"", "", NULL},
        {"{}", "", NULL},
        {"{\"a\":1}", "", "{\"a\":1}"},
        {"", " { \"a\" : 1 } ", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}", "{\"a\":1,\"b\":3,\"c\":4}"},
        {"{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":3}}}",
         "{\"a\":{\"b\":{\"c\":3,\"d\":2}}}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":null}", "{\"a\":null}"},
        {"{\"a\":null}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"},
        {"{\"a\":[1,2]}", "{\"a\":[3]}", "{\"a\":[3]}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":\"x\"}", "{\"a\":\"x\"}"},
        {"{\"type\":\"realtime\"}", "{\"type\":\"realtime\",\"n\":0.25}",
         "{\"type\":\"realtime\",\"n\":0.25}"},
        {"{\"a\":0.6,\"b\":0.1}", "{\"c\":0.123456789012345}",
         "{\"a\":0.6,\"b\":0.1,\"c\":0.123456789012345}"},
    };
    for (size_t i = 0; i < COUNT_OF(merge_case); i++) {
        char *out = NULL;
        assert_int_equal(merge(merge_case[i].lower, merge_case[i].upper, &out), SESSION_JSON_GOOD);
        if (merge_case[i].merged == NULL) {
            assert_null(out);
        } else {
            assert_string_equal(out, merge_case[i].merged);
        }
        free(out);
    }
}

static void what_is_no_session_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum session_json_result result;
    } bad_case[] = {
        {"{", SESSION_JSON_INVALID},
        {"[]", SESSION_JSON_INVALID},
        {"1", SESSION_JSON_INVALID},
        {"{}{}", SESSION_JSON_INVALID},
        {"{\"a\":\"\\u0000\"}", SESSION_JSON_INVALID},
        {"{\"a\":\"\xff\"}", SESSION_JSON_INVALID},
        {"{\"type\":\"transcription\"}", SESSION_JSON_WRONG_TYPE},
        {"{\"type\":null}", SESSION_JSON_WRONG_TYPE},
        {"{\"type\":1}", SESSION_JSON_WRONG_TYPE},
    };
    for (size_t i = 0; i < COUNT_OF(bad_case); i++) {
        char *out = NULL;
        assert_int_equal(merge("", bad_case[i].text, &out), bad_case[i].result);
        assert_int_equal(merge(bad_case[i].text, "{\"a\":1}", &out), bad_case[i].result);
        assert_null(out);
    }
}

/* {"<name>":"xxx..."} of so many bytes. */
static char *session_of(const char *name, size_t bytes)
{
    char *text = malloc(bytes + 1);
    const size_t head = (size_t)snprintf(text, bytes, "{\"%s\":\"", name);
    memset(text + head, 'x', bytes - head);
    memcpy(text + bytes - 2, "\"}", 3);
    return text;
}

static void the_longest_session_is_taken_and_one_more_byte_is_not(void **state)
{
    (void)state;
    for (size_t bytes = SESSION_JSON_BYTES_MAX; bytes <= SESSION_JSON_BYTES_MAX + 1; bytes++) {
        const bool is_good = bytes == SESSION_JSON_BYTES_MAX;
        char *out = NULL;
        char *text = session_of("a", bytes);
        assert_int_equal(merge("", text, &out),
                         is_good ? SESSION_JSON_GOOD : SESSION_JSON_TOO_LARGE);
        assert_int_equal(out != NULL, is_good);
        free(out);
        free(text);
        /* Each short enough, but not both together: {"a":"..."} and ,"b":"..." */
        char *lower = session_of("a", SESSION_JSON_BYTES_MAX / 2);
        char *upper = session_of("b", bytes - SESSION_JSON_BYTES_MAX / 2 + 1);
        assert_int_equal(merge(lower, upper, &out),
                         is_good ? SESSION_JSON_GOOD : SESSION_JSON_TOO_LARGE);
        free(out);
        free(lower);
        free(upper);
    }
}

static void depth_and_members_are_bounded(void **state)
{
    (void)state;
    for (size_t depth = SESSION_JSON_DEPTH_MAX; depth <= SESSION_JSON_DEPTH_MAX + 1; depth++) {
        char text[8 * (SESSION_JSON_DEPTH_MAX + 2)] = "";
        size_t len = 0;
        for (size_t i = 1; i < depth; i++) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "{\"a\":");
        }
        len += (size_t)snprintf(text + len, sizeof(text) - len, "{}");
        memset(text + len, '}', depth - 1);
        char *out = NULL;
        assert_int_equal(merge("", text, &out), depth == SESSION_JSON_DEPTH_MAX
                                                    ? SESSION_JSON_GOOD
                                                    : SESSION_JSON_INVALID);
        free(out);
    }
}

static bool effective_has(const char *session, const char *text)
{
    char *effective = session_json_effective(session, "sess_x", 1800000600);
    assert_non_null(effective);
    const bool has = strstr(effective, text) != NULL;
    free(effective);
    return has;
}

static void clients_are_told_the_defaults_of_what_is_not_said(void **state)
{
    (void)state;
    static const char *const always[] = {
        "\"type\":\"realtime\"",     "\"object\":\"realtime.session\"",   "\"id\":\"sess_x\"",
        "\"expires_at\":1800000600", "\"output_modalities\":[\"audio\"]", "\"tools\":[]",
        "\"tool_choice\":\"auto\"",  "\"max_output_tokens\":\"inf\"",     "\"tracing\":null",
        "\"threshold\":0.5",         "\"silence_duration_ms\":500",
    };
    for (size_t i = 0; i < COUNT_OF(always); i++) {
        assert_true(effective_has(NULL, always[i]));
        assert_true(effective_has("{\"instructions\":\"hi\"}", always[i]));
    }
    assert_true(effective_has("{\"instructions\":\"hi\"}", "\"instructions\":\"hi\""));
    assert_false(effective_has("{\"instructions\":\"hi\"}", "\"instructions\":\"\""));
    assert_true(effective_has("{\"id\":\"theirs\",\"object\":\"x\"}", "\"id\":\"sess_x\""));
}

static void another_turn_detection_takes_over_no_numbers(void **state)
{
    (void)state;
    static const char other[] =
        "{\"audio\":{\"input\":{\"turn_detection\":{\"type\":\"semantic_vad\"}}}}";
    assert_true(effective_has(other, "\"turn_detection\":{\"type\":\"semantic_vad\"}"));
    assert_true(effective_has("{\"audio\":{\"input\":{\"turn_detection\":null}}}",
                              "\"turn_detection\":null"));
    assert_true(effective_has("{\"audio\":{\"input\":{\"turn_detection\":{\"threshold\":0.75}}}}",
                              "\"threshold\":0.75,\"prefix_padding_ms\":300"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_the_upper_one_count_at_any_depth),
        cmocka_unit_test(what_is_no_session_is_refused),
        cmocka_unit_test(the_longest_session_is_taken_and_one_more_byte_is_not),
        cmocka_unit_test(depth_and_members_are_bounded),
        cmocka_unit_test(clients_are_told_the_defaults_of_what_is_not_said),
        cmocka_unit_test(another_turn_detection_takes_over_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
