/* agent_words_test.c - phrases say the facts they name, and come apart into sentences and words */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/inference-stub/agent/agent_words.h"

static const struct agent_facts facts = {
    .speech_ms = 2149,
    .level_dbov = -23,
    .turn = 4,
    .wall_clock_us = UINT64_C(1700000000000000), /* 2023-11-14 22:13:20 */
    .text = "a {turn} b",
};

static void a_phrase_says_the_facts_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *phrase;
        const char *said;
    } row[] = {
        {"", ""},
        {"plain", "plain"},
        {"{duration}", "2.1"},
        {"at {level} dB, turn {turn}.", "at -23 dB, turn 4."},
        {"{time}", "22:13"},
        {"<{text}>", "<a {turn} b>"}, /* foreign text is no phrase */
        {"{", "{"},
        {"{turn", "{turn"},
        {"{turn }", "{turn }"},
        {"{}", ""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char out[64];
        agent_words_fill(row[i].phrase, &facts, out, sizeof(out));
        assert_string_equal(out, row[i].said);
    }
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
    (void)state;
    static const char whole[] = "x\xc3\xa9\xe2\x82\xac!";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 7};
    for (size_t cap = 1; cap <= COUNT_OF(kept); cap++) {
        char out[16];
        agent_words_fill(whole, &facts, out, cap);
        assert_int_equal(strlen(out), kept[cap - 1]);
    }
}

static void a_name_that_stands_for_nothing_is_found(void **state)
{
    (void)state;
    char name[AGENT_PLACEHOLDER_CAP];
    assert_false(agent_words_find_unknown("{duration} {level} {turn} {time} {text} { } {", name));
    assert_true(agent_words_find_unknown("ok {turn} {turns}", name));
    assert_string_equal(name, "turns");
    assert_true(agent_words_find_unknown("{a_name_that_is_longer_than_the_room_for_it}", name));
    assert_int_equal(strlen(name), AGENT_PLACEHOLDER_CAP - 1);
}

static void a_text_comes_apart_into_sentences_and_nothing_is_lost(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes_max;
        size_t len[5];
    } row[] = {
        {"", 10, {0}},
        {"One. Two", 20, {5, 3}},
        {"One! Two? Three.  ", 20, {5, 5, 8}},
        {"2.1 seconds. Yes", 20, {13, 3}},
        {"one two three four", 8, {8, 6, 4}},
        {"abcdefghij", 4, {4, 4, 2}},
        {"\xe2\x82\xac\xe2\x82\xac", 4, {3, 3}},
        {"   ", 10, {3}},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const char *text = row[i].text;
        for (size_t n = 0; n < COUNT_OF(row[i].len); n++) {
            assert_int_equal(agent_words_sentence(text, row[i].bytes_max), row[i].len[n]);
            text += row[i].len[n];
        }
        assert_string_equal(text, "");
    }
}

static void words_are_counted_with_the_space_behind_them(void **state)
{
    (void)state;
    assert_int_equal(agent_words_word("one  two"), 5);
    assert_int_equal(agent_words_word("two"), 3);
    assert_int_equal(agent_words_word(""), 0);
    assert_int_equal(agent_words_count("one  two \n three"), 3);
    assert_int_equal(agent_words_count(" "), 1);
    assert_int_equal(agent_words_count(""), 0);
}

static void a_voice_reads_printable_ascii_and_spells_no_json(void **state)
{
    (void)state;
    char out[16];
    agent_words_readable("a\xc3\xa9\n! \x7f.", 8, out, sizeof(out));
    assert_string_equal(out, "a   !  .");
    agent_words_readable("{\"a_b\":[1]}", 11, out, sizeof(out));
    assert_string_equal(out, "  a b : 1  ");
    agent_words_readable("0123456789abcdefghij", 20, out, sizeof(out));
    assert_string_equal(out, "0123456789abcde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phrase_says_the_facts_it_names),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
        cmocka_unit_test(a_name_that_stands_for_nothing_is_found),
        cmocka_unit_test(a_text_comes_apart_into_sentences_and_nothing_is_lost),
        cmocka_unit_test(words_are_counted_with_the_space_behind_them),
        cmocka_unit_test(a_voice_reads_printable_ascii_and_spells_no_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
