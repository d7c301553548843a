/* stub_line_test.c - one line of the instructions is a script, whatever stands around it */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/agent/stub_line.h"

#include <stdio.h>
#include <stdlib.h>

static void a_line_says_what_it_says(void **state)
{
    (void)state;
    struct stub_line line;
    assert_true(stub_line_read("You are a test voice.\n#stub {\"tool_on_turn\":1,\"tool\":"
                               "\"get_weather\",\"args\":{\"city\":\"Oslo\"},\"speak_ms\":8000}\r\n"
                               "#stub {\"speak_ms\":1}",
                               &line));
    assert_int_equal(line.tool_on_turn, 1);
    assert_string_equal(line.tool, "get_weather");
    assert_string_equal(line.arguments, "{\"city\":\"Oslo\"}");
    assert_int_equal(line.speak_ms, 8000);
}

static void a_line_is_there_only_where_a_line_begins_with_it(void **state)
{
    (void)state;
    static const struct {
        const char *instructions;
        bool exists;
    } row[] = {
        {"", false},           {"#stub", false},      {"#stubborn {}", false},
        {"a #stub {}", false}, {"#stub {}", true},    {"a\n#stub {}\nb", true},
        {"\n\n#stub ", true},  {"#stu\nb {}", false},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct stub_line line;
        assert_int_equal(stub_line_exists(row[i].instructions), row[i].exists);
        assert_int_equal(stub_line_read(row[i].instructions, &line), row[i].exists);
    }
}

static void what_is_wrong_or_missing_has_its_default(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "#stub {}",
        "#stub ",
        "#stub {\"speak_ms\":",
        "#stub [1]",
        "#stub {\"speak_ms\":\"9\",\"tool\":7,\"args\":[1],\"tool_on_turn\":\"1\"}",
        "#stub {\"speak_ms\":0,\"tool_on_turn\":-1,\"args\":null}",
        "#stub {\"speak_ms\":60001,\"tool_on_turn\":1e12}",
        "#stub "
        "{\"args\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":"
        "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{"
        "\"a\":"
        "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}"
        "}",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct stub_line line;
        assert_true(stub_line_read(wrong[i], &line));
        assert_int_equal(line.speak_ms, STUB_SPEAK_MS_DEFAULT);
        assert_int_equal(line.tool_on_turn, 0);
        assert_string_equal(line.tool, "");
        assert_string_equal(line.arguments, "{}");
    }
}

static void arguments_that_are_too_long_are_none(void **state)
{
    (void)state;
    for (size_t len = STUB_ARGUMENTS_CAP - 10; len < STUB_ARGUMENTS_CAP + 10; len++) {
        struct stub_line line;
        char *text = NULL;
        assert_true(asprintf(&text, "#stub {\"args\":{\"a\":\"%0*d\"}}", (int)len, 0) > 0);
        assert_true(stub_line_read(text, &line));
        const size_t arguments = len + strlen("{\"a\":\"\"}");
        assert_int_equal(strlen(line.arguments),
                         arguments < STUB_ARGUMENTS_CAP ? arguments : strlen("{}"));
        free(text);
    }
}

static void only_an_object_is_an_object(void **state)
{
    (void)state;
    assert_true(stub_line_is_object("{\"a\":1}"));
    assert_false(stub_line_is_object("[]"));
    assert_false(stub_line_is_object(""));
    assert_false(stub_line_is_object("{} {}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_it_says),
        cmocka_unit_test(a_line_is_there_only_where_a_line_begins_with_it),
        cmocka_unit_test(what_is_wrong_or_missing_has_its_default),
        cmocka_unit_test(arguments_that_are_too_long_are_none),
        cmocka_unit_test(only_an_object_is_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
