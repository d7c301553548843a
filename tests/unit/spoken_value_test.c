/* spoken_value_test.c - the output of a tool is said without its brackets, whatever it is */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/agent/spoken_value.h"

static void values_are_said_with_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *said;
    } row[] = {
        {"{\"time\":\"16:41\",\"time_zone\":\"Europe/Oslo\"}", "time 16:41, time zone Europe/Oslo"},
        {"{\"dice\":[3,5]}", "dice 3, 5"},
        {"{\"is_late\":false,\"is_open\":true,\"next\":null}",
         "is late no, is open yes, next nothing"},
        {"{\"wind\":{\"from\":\"west\",\"metres\":2.5}}", "wind from west, metres 2.5"},
        {"[]", NULL},
        {"{}", NULL},
        {"\"\"", NULL},
        {"\"rain\"", "rain"},
        {" -42 ", "-42"},
        {"rain", NULL},
        {"", NULL},
        {"{\"a\":1", NULL},
        {"{\"a\":1} and more", NULL},
        {"\"\xff\"", NULL},
        {"\"\\u0000\"", NULL},
        {"[[[[[[[[1]]]]]]]]", "1"},
        {"[[[[[[[[[1]]]]]]]]]", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char said[64] = "";
        const bool is_said = spoken_value_write(row[i].text, said, sizeof(said));
        if (is_said != (row[i].said != NULL)) {
            fail_msg("%s gives \"%s\"", row[i].text, said);
        }
        if (is_said) {
            assert_string_equal(said, row[i].said);
        }
    }
}

static void what_does_not_fit_is_not_said(void **state)
{
    (void)state;
    char said[8];
    assert_false(spoken_value_write("{\"a\":\"12345\"}", said, 7));
    assert_true(spoken_value_write("{\"a\":\"12345\"}", said, 8));
    assert_string_equal(said, "a 12345");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_said_with_their_names),
        cmocka_unit_test(what_does_not_fit_is_not_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
