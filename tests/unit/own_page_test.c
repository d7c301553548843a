/* own_page_test.c - a name that somebody lets lead here is not ours */
#include "tests/testing.h"

#include "services/signaling/own_page.h"

#include <stdio.h>

static bool is_source(const char *host, size_t host_len, const char *name)
{
    char origin[600];
    const int scheme_len = snprintf(origin, sizeof(origin), "http://");
    memcpy(origin + scheme_len, host, host_len);
    return own_page_is_source(bytes_view_of(host, host_len),
                              bytes_view_of(origin, (size_t)scheme_len + host_len), name);
}

static void an_address_localhost_and_the_configured_name_are_hosts_of_ours(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool is_ours;
    } host_case[] = {
        {"127.0.0.1:8080", true},
        {"192.0.2.7", true},
        {"[::1]:8080", true},
        {"[2001:db8::7]", true},
        {"localhost:8080", true},
        {"LOCALHOST", true},
        {"edge.example", true},
        {"Edge.Example:8080", true},
        {"evil.example:8080", false},
        {"127.0.0.1.evil.example:8080", false},
        {"localhost.evil.example", false},
        {"xlocalhost", false},
        {"edge.example.evil", false},
        {"edge.exampl", false},
        {"localhost.", false},
        {"[localhost]:8080", false},
        {"[edge.example]", false},
        {"[::1", false},
        {"[]", false},
        {"[", false},
        {":8080", false},
        {"::1", false},
        {"127.1", false},
        {"2130706433", false},
    };
    for (size_t i = 0; i < COUNT_OF(host_case); i++) {
        const char *host = host_case[i].host;
        if (is_source(host, strlen(host), "edge.example") != host_case[i].is_ours) {
            fail_msg("%s", host);
        }
    }
}

static void without_a_configured_name_none_is_ours(void **state)
{
    (void)state;
    assert_true(is_source("127.0.0.1:8080", 14, ""));
    assert_false(is_source("edge.example:8080", 17, ""));
    assert_false(is_source(":8080", 5, ""));
    assert_false(is_source("", 0, ""));
}

static void a_name_of_any_length_and_with_any_byte_is_bounded(void **state)
{
    (void)state;
    char name[OWN_PAGE_NAME_CAP + 1];
    memset(name, 'a', sizeof(name));
    name[OWN_PAGE_NAME_CAP - 1] = '\0';
    assert_true(is_source(name, OWN_PAGE_NAME_CAP - 1, name));
    name[OWN_PAGE_NAME_CAP - 1] = 'a';
    assert_false(is_source(name, OWN_PAGE_NAME_CAP, "a"));
    assert_false(is_source("localhost\0.evil", 15, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_localhost_and_the_configured_name_are_hosts_of_ours),
        cmocka_unit_test(without_a_configured_name_none_is_ours),
        cmocka_unit_test(a_name_of_any_length_and_with_any_byte_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
