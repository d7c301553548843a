/* status_test.c - a fault is one bounded line, and setting it is always false */
#include "tests/testing.h"

#include "common/base/status.h"

static void a_fault_has_its_code_and_its_line(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_false(fault_set(&fault, FAULT_SYSTEM, "bind udp %s: %s", "0.0.0.0:3478", "in use"));
    assert_int_equal(fault.code, FAULT_SYSTEM);
    assert_string_equal(fault.text, "bind udp 0.0.0.0:3478: in use");
    assert_false(fault_set(&fault, FAULT_LIMIT, "another"));
    assert_int_equal(fault.code, FAULT_LIMIT);
    assert_string_equal(fault.text, "another");
}

static void a_caller_may_not_want_to_know(void **state)
{
    (void)state;
    assert_false(fault_set(NULL, FAULT_CONFIG, "%d", 1));
}

static void a_long_line_is_cut_at_the_last_character_that_fits(void **state)
{
    (void)state;
    char text[FAULT_TEXT_CAP + 2];
    for (size_t len = FAULT_TEXT_CAP - 2; len <= FAULT_TEXT_CAP + 1; len++) {
        struct fault fault = {0};
        memset(text, 'x', len);
        text[len] = '\0';
        assert_false(fault_set(&fault, FAULT_CONFIG, "%s", text));
        const size_t kept = len < FAULT_TEXT_CAP ? len : FAULT_TEXT_CAP - 1;
        assert_int_equal(strlen(fault.text), kept);
        assert_memory_equal(fault.text, text, kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_has_its_code_and_its_line),
        cmocka_unit_test(a_caller_may_not_want_to_know),
        cmocka_unit_test(a_long_line_is_cut_at_the_last_character_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
