/* name_resolver_test.c - numeric names need no DNS, and an answer is told once */
#include "tests/testing.h"

#include "common/runtime/name_resolver.h"

#include <poll.h>

static void numeric_names_are_answered_and_not_repeated(void **state)
{
    (void)state;
    static const char *const names[] = {"127.0.0.1:7101", "[::1]:7102"};
    struct fault fault = {0};
    struct name_resolver *r = name_resolver_start(names, COUNT_OF(names), &fault);
    assert_non_null(r);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct pollfd wait = {.fd = name_resolver_fd(r), .events = POLLIN};
        struct name_answer answer;
        char text[NET_ADDR_TEXT_CAP];
        assert_int_equal(poll(&wait, 1, 5000), 1);
        assert_true(name_resolver_take(r, &answer));
        assert_int_equal(answer.name_index, i);
        assert_int_equal(answer.address_count, 1);
        assert_string_equal(net_addr_format(&answer.address[0], text, sizeof(text)), names[i]);
    }
    struct name_answer none;
    assert_false(name_resolver_take(r, &none));
    name_resolver_stop(r);
}

static void a_name_without_a_port_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"relay", "relay:", ":7102", "[::1:7102", "relay:123456789"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct fault fault = {0};
        assert_null(name_resolver_start(&wrong[i], 1, &fault));
        assert_int_equal(fault.code, FAULT_CONFIG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_names_are_answered_and_not_repeated),
        cmocka_unit_test(a_name_without_a_port_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
