/* sdp_parser_test.c - lines, words, numbers and tokens of SDP, at their edges */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_parser.h"

static struct bytes_view view(const char *text)
{
    return bytes_view_of_text(text);
}

/* Reads to the end: the last result, and the number of lines given. */
static enum sdp_parser_result read_all(struct bytes_view text, size_t *out_count)
{
    struct sdp_parser parser;
    struct sdp_line line;
    sdp_parser_init(&parser, text);
    *out_count = 0;
    enum sdp_parser_result result = SDP_PARSER_LINE;
    while ((result = sdp_parser_next(&parser, &line)) == SDP_PARSER_LINE) {
        ++*out_count;
    }
    return result;
}

static void lines_end_in_cr_lf_or_lf_or_with_the_text(void **state)
{
    (void)state;
    struct sdp_parser parser;
    struct sdp_line line;
    sdp_parser_init(&parser, view("v=0\r\na=mid:0\na=rtcp-mux\r\n\r\n \t\nplain\nm=x"));
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_LINE);
    assert_int_equal(line.type, 'v');
    assert_true(sdp_parser_is(line.value, "0"));
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_LINE);
    assert_true(sdp_parser_is(line.name, "mid"));
    assert_true(sdp_parser_is(line.value, "0"));
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_LINE);
    assert_true(sdp_parser_is(line.name, "rtcp-mux"));
    assert_int_equal(line.value.len, 0);
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_LINE);
    assert_int_equal(line.type, 0);
    assert_int_equal(parser.line_number, 6);
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_LINE);
    assert_int_equal(line.type, 'm');
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_END);
    assert_int_equal(sdp_parser_next(&parser, &line), SDP_PARSER_END);
}

static void a_nul_or_a_cr_that_ends_no_line_stops_the_reading(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        enum sdp_parser_result result;
    } table[] = {
        {"", 0, SDP_PARSER_END},
        {"v=0\r\n", 5, SDP_PARSER_END},
        {"v=0\r", 4, SDP_PARSER_BAD_CHARACTER},
        {"v=\r0\r\n", 6, SDP_PARSER_BAD_CHARACTER},
        {"v=0\r\r\n", 6, SDP_PARSER_BAD_CHARACTER},
        {"v=0\0\r\n", 6, SDP_PARSER_BAD_CHARACTER},
        {"\0", 1, SDP_PARSER_BAD_CHARACTER},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        size_t count = 0;
        assert_int_equal(read_all(bytes_view_of(table[i].text, table[i].len), &count),
                         table[i].result);
    }
}

static void a_line_has_at_most_4096_bytes_before_its_end(void **state)
{
    (void)state;
    static const char *const end[] = {"", "\n", "\r\n"};
    for (size_t i = 0; i < COUNT_OF(end); i++) {
        char text[SDP_LINE_BYTES_MAX + 4];
        memset(text, 'x', sizeof(text));
        size_t count = 0;
        memcpy(text + SDP_LINE_BYTES_MAX, end[i], strlen(end[i]));
        assert_int_equal(read_all(bytes_view_of(text, SDP_LINE_BYTES_MAX + strlen(end[i])), &count),
                         SDP_PARSER_END);
        assert_int_equal(count, 1);
        text[SDP_LINE_BYTES_MAX] = 'x';
        memcpy(text + SDP_LINE_BYTES_MAX + 1, end[i], strlen(end[i]));
        assert_int_equal(
            read_all(bytes_view_of(text, SDP_LINE_BYTES_MAX + 1 + strlen(end[i])), &count),
            SDP_PARSER_LINE_TOO_LONG);
    }
}

static void a_thousand_lines_are_read_and_no_more(void **state)
{
    (void)state;
    char text[2 * (SDP_LINES_MAX + 1)];
    size_t count = 0;
    for (size_t i = 0; i < sizeof(text); i += 2) {
        memcpy(text + i, i % 4 == 0 ? "x\n" : " \n", 2);
    }
    assert_int_equal(read_all(bytes_view_of(text, 2 * SDP_LINES_MAX), &count), SDP_PARSER_END);
    assert_int_equal(count, SDP_LINES_MAX / 2);
    assert_int_equal(read_all(bytes_view_of(text, sizeof(text)), &count),
                     SDP_PARSER_TOO_MANY_LINES);
}

static void words_are_cut_at_blanks_and_at_separators(void **state)
{
    (void)state;
    struct bytes_view rest = view("  a\tbc  d ");
    assert_true(sdp_parser_is(sdp_parser_take_word(&rest), "a"));
    assert_true(sdp_parser_is(sdp_parser_take_word(&rest), "bc"));
    assert_true(sdp_parser_is(sdp_parser_take_word(&rest), "d"));
    assert_int_equal(sdp_parser_take_word(&rest).len, 0);
    assert_int_equal(sdp_parser_take_word(&rest).len, 0);
    rest = view("opus//2");
    assert_true(sdp_parser_is(sdp_parser_take_until(&rest, '/'), "opus"));
    assert_true(sdp_parser_is(sdp_parser_take_until(&rest, '/'), ""));
    assert_true(sdp_parser_is(sdp_parser_take_until(&rest, '/'), "2"));
    assert_int_equal(sdp_parser_take_until(&rest, '/').len, 0);
}

static void numbers_are_digits_and_saturate(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_number;
        uint64_t value;
    } table[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551614", true, UINT64_MAX - 1},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", true, UINT64_MAX},
        {"99999999999999999999999", true, UINT64_MAX},
        {"", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {"1 ", false, 0},
        {"0x1", false, 0},
        {"1:", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        uint64_t value = 0;
        assert_int_equal(sdp_parser_number(view(table[i].text), &value), table[i].is_number);
        if (table[i].is_number) {
            assert_true(value == table[i].value);
        }
    }
    uint64_t value = 0;
    assert_false(sdp_parser_number_within(view("0"), 1, 65535, &value));
    assert_true(sdp_parser_number_within(view("1"), 1, 65535, &value));
    assert_true(sdp_parser_number_within(view("65535"), 1, 65535, &value));
    assert_false(sdp_parser_number_within(view("65536"), 1, 65535, &value));
}

static void each_character_is_in_the_classes_of_the_grammar(void **state)
{
    (void)state;
    static const char not_token[] = "\"(),/:;<=>?@[\\]";
    for (unsigned c = 0; c < 256; c++) {
        const uint8_t byte = (uint8_t)c;
        const struct bytes_view one = bytes_view_of(&byte, 1);
        const bool is_alphanumeric =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_token = c > 0x20 && c < 0x7f && strchr(not_token, (int)c) == NULL;
        assert_int_equal(sdp_parser_is_token(one), is_token);
        assert_int_equal(sdp_parser_is_protocol(one), is_token || c == '/');
        assert_int_equal(sdp_parser_is_ice_chars(one), is_alphanumeric || c == '+' || c == '/');
    }
    assert_false(sdp_parser_is_token(view("")));
    assert_false(sdp_parser_is_token(view("ok no")));
    assert_true(sdp_parser_is_token(view("ok")));
}

static void case_is_ignored_only_where_asked_for(void **state)
{
    (void)state;
    assert_true(sdp_parser_is_in_any_case(view("OpUs"), "opus"));
    assert_false(sdp_parser_is_in_any_case(view("opus"), "opu"));
    assert_false(sdp_parser_is_in_any_case(view("opu"), "opus"));
    assert_false(sdp_parser_is_in_any_case(view("@"), "`"));
    assert_false(sdp_parser_is(view("Mid"), "mid"));
}

static void a_copy_needs_room_for_its_nul(void **state)
{
    (void)state;
    char out[4];
    assert_true(sdp_parser_copy(view("abc"), out, sizeof(out)));
    assert_string_equal(out, "abc");
    assert_false(sdp_parser_copy(view("abcd"), out, sizeof(out)));
    assert_true(sdp_parser_copy(view(""), out, 1));
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_cr_lf_or_lf_or_with_the_text),
        cmocka_unit_test(a_nul_or_a_cr_that_ends_no_line_stops_the_reading),
        cmocka_unit_test(a_line_has_at_most_4096_bytes_before_its_end),
        cmocka_unit_test(a_thousand_lines_are_read_and_no_more),
        cmocka_unit_test(words_are_cut_at_blanks_and_at_separators),
        cmocka_unit_test(numbers_are_digits_and_saturate),
        cmocka_unit_test(each_character_is_in_the_classes_of_the_grammar),
        cmocka_unit_test(case_is_ignored_only_where_asked_for),
        cmocka_unit_test(a_copy_needs_room_for_its_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
