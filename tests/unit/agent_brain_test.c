/* agent_brain_test.c - which words, or which tool, answer what was said */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/agent/agent_brain.h"

static struct agent_script script;
static struct agent_answer answer;

static int set_up(void **state)
{
    (void)state;
    struct fault fault;
    return agent_script_load("", &script, &fault) ? 0 : 1;
}

static struct agent_question question(enum agent_cause cause, const char *text)
{
    return (struct agent_question){.cause = cause,
                                   .facts = {.speech_ms = 1500,
                                             .level_dbov = -20,
                                             .turn = 1,
                                             .wall_clock_us = 0,
                                             .text = text},
                                   .instructions = ""};
}

static const char *said(struct agent_question q)
{
    agent_brain_answer(&script, &q, &answer);
    assert_null(answer.tool);
    return answer.text;
}

static void each_cause_has_its_phrase(void **state)
{
    (void)state;
    static const char *const phrase[] = {
        [AGENT_CAUSE_SPOKEN] = "1.5 seconds, at -20 decibels",
        [AGENT_CAUSE_TYPED] = "You wrote: hello.",
        [AGENT_CAUSE_DIALLED] = "You pressed hello.",
        [AGENT_CAUSE_TOOL_OUTPUT] = "The tool says: hello.",
        [AGENT_CAUSE_GREETING] = "",
        [AGENT_CAUSE_NOTHING] = "nothing new",
    };
    for (size_t i = 0; i < COUNT_OF(phrase); i++) {
        assert_non_null(strstr(said(question((enum agent_cause)i, "hello")), phrase[i]));
        assert_int_equal(answer.speak_ms, 0);
    }
}

static void a_tool_s_json_is_said_as_words(void **state)
{
    (void)state;
    static const char output[] = "{\"time\":\"16:41\",\"time_zone\":\"UTC\"}";
    assert_string_equal(said(question(AGENT_CAUSE_TOOL_OUTPUT, output)),
                        "The tool says: time 16:41, time zone UTC.");
    assert_string_equal(said(question(AGENT_CAUSE_TYPED, "[1]")), "You wrote: [1]. I can tell the "
                                                                  "time, and count.");
}

static void typed_words_are_counted_or_told_the_time(void **state)
{
    (void)state;
    static const struct {
        const char *typed;
        const char *said;
    } row[] = {
        {"count to 5", "1, 2, 3, 4, 5."},
        {"Please COUNT up to three!", "1, 2, 3."},
        {"count: 1", "1."},
        {"count to twenty-one",
         "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, "
         "20."},
        {"count to 99999999999999999999", "29, 30."},
        {"count to 0", "You wrote"},
        {"count", "You wrote"},
        {"discount to 5", "You wrote"},
        {"5 to count", "You wrote"},
        {"what time is it?", "It is 0:00, universal time."},
        {"sometimes", "You wrote"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const char *text = said(question(AGENT_CAUSE_TYPED, row[i].typed));
        if (strstr(text, row[i].said) == NULL) {
            fail_msg("\"%s\" gives \"%s\"", row[i].typed, text);
        }
    }
    assert_non_null(strstr(said(question(AGENT_CAUSE_TOOL_OUTPUT, "count to 5")), "The tool"));
}

static void a_long_text_is_cut_to_its_room(void **state)
{
    (void)state;
    static char text[2 * AGENT_TEXT_CAP];
    memset(text, 'a', sizeof(text) - 1);
    assert_int_equal(strlen(said(question(AGENT_CAUSE_TYPED, text))), AGENT_TEXT_CAP - 1);
    script.count_max = 100;
    assert_int_equal(strlen(said(question(AGENT_CAUSE_TYPED, "count to 100"))),
                     9 + 2 * 90 + 3 + 198 + 1);
}

static const char *called(struct agent_question q)
{
    agent_brain_answer(&script, &q, &answer);
    return answer.tool == NULL ? "" : answer.tool;
}

static void add_rule(const struct agent_tool_rule *rule)
{
    script.tool[script.tool_count++] = *rule;
}

static void a_rule_calls_its_tool_where_the_session_declares_it(void **state)
{
    (void)state;
    add_rule(
        &(struct agent_tool_rule){"get_weather", AGENT_CAUSE_TYPED, "weather", 0, "{\"a\":1}"});
    struct agent_question q = question(AGENT_CAUSE_TYPED, "The Weather?");
    q.first_tool = "other";
    assert_string_equal(called(q), "");
    q.may_call[0] = true;
    assert_string_equal(called(q), "get_weather");
    assert_string_equal(answer.arguments, "{\"a\":1}");
    q.facts.text = "something else";
    assert_string_equal(called(q), "");
    q.facts.text = "weather";
    q.cause = AGENT_CAUSE_DIALLED;
    assert_string_equal(called(q), "");
}

static void a_star_calls_the_first_tool_of_the_session(void **state)
{
    (void)state;
    add_rule(&(struct agent_tool_rule){"*", AGENT_CAUSE_SPOKEN, "", 2, "{}"});
    struct agent_question q = question(AGENT_CAUSE_SPOKEN, "");
    q.facts.turn = 2;
    assert_string_equal(called(q), "");
    q.first_tool = "first";
    assert_string_equal(called(q), "first");
    q.facts.turn = 3;
    assert_string_equal(called(q), "");
}

static void a_line_in_the_instructions_replaces_the_script(void **state)
{
    (void)state;
    add_rule(&(struct agent_tool_rule){"*", AGENT_CAUSE_TYPED, "", 0, "{}"});
    struct agent_question q = question(AGENT_CAUSE_TYPED, "count to 5");
    q.instructions =
        "#stub {\"tool_on_turn\":2,\"tool\":\"t\",\"args\":{\"b\":2},\"speak_ms\":4000}";
    q.first_tool = "t";
    q.may_call[AGENT_TOOLS_MAX] = true;
    assert_string_equal(called(q), "");
    assert_int_equal(answer.speak_ms, 4000);
    assert_string_equal(answer.text, script.phrase[AGENT_PHRASE_FILLER]);
    q.cause = AGENT_CAUSE_SPOKEN;
    assert_string_equal(called(q), "");
    q.facts.turn = 2;
    assert_string_equal(called(q), "t");
    assert_string_equal(answer.arguments, "{\"b\":2}");
    q.may_call[AGENT_TOOLS_MAX] = false; /* the session does not declare it */
    assert_string_equal(called(q), "");
    assert_int_equal(answer.speak_ms, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_cause_has_its_phrase, set_up),
        cmocka_unit_test_setup(a_tool_s_json_is_said_as_words, set_up),
        cmocka_unit_test_setup(typed_words_are_counted_or_told_the_time, set_up),
        cmocka_unit_test_setup(a_long_text_is_cut_to_its_room, set_up),
        cmocka_unit_test_setup(a_rule_calls_its_tool_where_the_session_declares_it, set_up),
        cmocka_unit_test_setup(a_star_calls_the_first_tool_of_the_session, set_up),
        cmocka_unit_test_setup(a_line_in_the_instructions_replaces_the_script, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
