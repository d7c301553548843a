/* agent_script_test.c - a script is read strictly: what is wrong is named with file and line */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/agent/agent_script.h"

#include <stdlib.h>
#include <unistd.h>

static struct agent_script script;
static struct fault fault;

/* Through a file, as the program does. */
static bool load(const char *text)
{
    char path[] = "/tmp/agent_script_test_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
    const bool is_good = agent_script_load(path, &script, &fault);
    assert_int_equal(unlink(path), 0);
    return is_good;
}

static void without_a_file_it_has_every_phrase_and_does_not_greet(void **state)
{
    (void)state;
    assert_true(agent_script_load("", &script, &fault));
    for (size_t i = 0; i < AGENT_PHRASES; i++) {
        assert_int_equal(script.phrase[i][0] == '\0', i == AGENT_PHRASE_GREETING);
    }
    assert_int_equal(script.count_max, 30);
    assert_int_equal(script.digits_pause_us, 1000000);
    assert_int_equal(script.tool_count, 0);
}

static void the_script_of_the_repository_is_good(void **state)
{
    (void)state;
    if (!agent_script_load(TEST_DATA "/../config/local/agent.yaml", &script, &fault)) {
        fail_msg("%s", fault.text);
    }
    assert_true(script.phrase[AGENT_PHRASE_GREETING][0] != '\0');
    assert_true(script.tool_count > 0);
}

static void tools_have_causes_words_turns_and_arguments(void **state)
{
    (void)state;
    assert_true(load("tools:\n"
                     "  - {name: get_weather, on: typed, word: weather, arguments: '{\"a\":1}'}\n"
                     "  - {name: '*', turn: 2}\n"));
    assert_int_equal(script.tool_count, 2);
    assert_int_equal(script.tool[0].cause, AGENT_CAUSE_TYPED);
    assert_string_equal(script.tool[0].tool, "get_weather");
    assert_string_equal(script.tool[0].word, "weather");
    assert_string_equal(script.tool[0].arguments, "{\"a\":1}");
    assert_int_equal(script.tool[1].cause, AGENT_CAUSE_SPOKEN);
    assert_int_equal(script.tool[1].turn, 2);
    assert_string_equal(script.tool[1].arguments, "{}");
}

static void what_is_wrong_is_named_with_its_line_and_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *said;
    } row[] = {
        {"greeting: x\nphrases:\n  spoken: '{durations} s'\n",
         ":3: phrases.spoken: {durations} stands for nothing: choose duration, level"},
        {"phrases:\n  more: ''\n", ":2: phrases.more: is empty: write a phrase"},
        {"greetings: x\n", ":1: greetings: "},
        {"count_max: 101\n", ":1: count_max: "},
        {"digits_pause: 5\n", ":1: digits_pause: "},
        {"tools:\n  - {on: typed}\n", "tools[0].name"},
        {"tools:\n  - {name: a, on: sung}\n", ":2: tools[0].on: "},
        {"tools:\n  - {name: a, word: b}\n", ":2: tools[0].word: nobody reads what is spoken"},
        {"tools:\n  - {name: a, on: typed, turn: 1}\n", ":2: tools[0].turn: only spoken turns"},
        {"tools:\n  - {name: a, arguments: '[]'}\n", ":2: tools[0].arguments: is no JSON object"},
        {"greeting: [", ":2: did not find"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        fault = (struct fault){0};
        assert_false(load(row[i].text));
        if (strstr(fault.text, row[i].said) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", fault.text, row[i].said);
        }
    }
}

static void more_rules_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    for (size_t count = AGENT_TOOLS_MAX; count <= AGENT_TOOLS_MAX + 1; count++) {
        char text[1024] = "tools:\n";
        for (size_t i = 0; i < count; i++) {
            (void)strcat(text, "  - name: a\n");
        }
        assert_int_equal(load(text), count == AGENT_TOOLS_MAX);
    }
    assert_non_null(strstr(fault.text, "tools: has 17 rules: leave at most 16"));
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_false(agent_script_load("/nowhere/agent.yaml", &script, &fault));
    assert_non_null(strstr(fault.text, "/nowhere/agent.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_it_has_every_phrase_and_does_not_greet),
        cmocka_unit_test(the_script_of_the_repository_is_good),
        cmocka_unit_test(tools_have_causes_words_turns_and_arguments),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line_and_a_remedy),
        cmocka_unit_test(more_rules_than_there_is_room_for_are_refused),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
