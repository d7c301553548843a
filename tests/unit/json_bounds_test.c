/* json_bounds_test.c - depth and members are counted outside of strings, and nothing is read past
 * the end */
#include "tests/testing.h"

#include "common/base/json_bounds.h"

#include <stdlib.h>

static void both_bounds_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t depth;
        size_t members;
    } cases[] = {
        {"", 0, 0},
        {"1", 0, 0},
        {"{}", 1, 1},
        {"[1,2,3]", 1, 3},
        {"[[[]],{}]", 3, 5},
        {"{\"a\":{\"b\":[1,2]},\"c\":3}", 3, 5},
        {"[\"[[[,,,\"]", 1, 1},
        {"[\"\\\"[[,\",1]", 1, 2},
        {"[\"\\\\\",[]]", 2, 3},
        {"]]][[", 2, 2}, /* not JSON: still measured, never below zero */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct bytes_view text = bytes_view_of_text(cases[i].text);
        assert_true(json_bounds_hold(text, cases[i].depth, cases[i].members));
        if (cases[i].depth > 0) {
            assert_false(json_bounds_hold(text, cases[i].depth - 1, cases[i].members));
        }
        if (cases[i].members > 0) {
            assert_false(json_bounds_hold(text, cases[i].depth, cases[i].members - 1));
        }
    }
}

static void a_text_cut_at_any_byte_is_read_to_its_end_and_not_further(void **state)
{
    (void)state;
    static const char text[] = "{\"a\\\"b\":[1,\"\\\\\",{\"\\u00e9\":\"\\\"\"}]}";
    for (size_t len = 0; len < sizeof(text); len++) {
        uint8_t *cut = malloc(len + (len == 0)); /* exact: the sanitizer sees one byte too many */
        assert_non_null(cut);
        memcpy(cut, text, len);
        assert_true(json_bounds_hold(bytes_view_of(cut, len), 3, 5));
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_bounds_are_exact),
        cmocka_unit_test(a_text_cut_at_any_byte_is_read_to_its_end_and_not_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
