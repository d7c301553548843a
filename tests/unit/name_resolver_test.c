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
    /* The same answer again, two seconds later, is not told. */
    struct pollfd wait = {.fd = name_resolver_fd(r), .events = POLLIN};
    struct name_answer none;
    assert_int_equal(poll(&wait, 1, (int)(NAME_RESOLVER_PERIOD_US / US_PER_MS) + 500), 0);
    assert_false(name_resolver_take(r, &none));
    name_resolver_stop(r);
}

static void a_name_without_a_port_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "relay",           "relay:",     ":7102",       "[::1:7102",
        "[::1]",           "relay:http", "relay:0",     "relay:65536",
        "relay:123456789", "relay:-1",   "relay:71 02", "relay: 7102",
        "[]:7102",         "",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct fault fault = {0};
        assert_null(name_resolver_start(&wrong[i], 1, &fault));
        assert_int_equal(fault.code, FAULT_CONFIG);
    }
}

static void a_name_is_taken_up_to_its_bound(void **state)
{
    (void)state;
    for (size_t len = NAME_RESOLVER_NAME_CAP - 1; len <= NAME_RESOLVER_NAME_CAP; len++) {
        char text[NAME_RESOLVER_NAME_CAP + 8];
        const char *name = text;
        struct fault fault = {0};
        memset(text, 'x', len);
        memcpy(text + len, ":1", 3);
        struct name_resolver *r = name_resolver_start(&name, 1, &fault);
        assert_int_equal(r != NULL, len < NAME_RESOLVER_NAME_CAP);
        name_resolver_stop(r);
    }
}

static void one_name_too_many_is_refused(void **state)
{
    (void)state;
    const char *names[NAME_RESOLVER_NAMES_MAX + 1];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        names[i] = "127.0.0.1:1";
    }
    struct fault fault = {0};
    assert_null(name_resolver_start(names, COUNT_OF(names), &fault));
    struct name_resolver *r = name_resolver_start(names, COUNT_OF(names) - 1, &fault);
    assert_non_null(r);
    name_resolver_stop(r); /* also in the middle of its work */
}

/* RFC 6761 s.6.4: "invalid" never exists. */
static void a_name_that_does_not_exist_is_told_once_without_an_address(void **state)
{
    (void)state;
    static const char *const name = "nobody.invalid:1";
    struct fault fault = {0};
    struct name_resolver *r = name_resolver_start(&name, 1, &fault);
    struct pollfd wait = {.fd = name_resolver_fd(r), .events = POLLIN};
    struct name_answer answer;
    assert_int_equal(poll(&wait, 1, 20000), 1);
    assert_true(name_resolver_take(r, &answer));
    assert_int_equal(answer.address_count, 0);
    assert_false(name_resolver_take(r, &answer));
    name_resolver_stop(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_names_are_answered_and_not_repeated),
        cmocka_unit_test(a_name_without_a_port_is_refused),
        cmocka_unit_test(a_name_is_taken_up_to_its_bound),
        cmocka_unit_test(one_name_too_many_is_refused),
        cmocka_unit_test(a_name_that_does_not_exist_is_told_once_without_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
