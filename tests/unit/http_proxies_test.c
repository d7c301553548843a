/* http_proxies_test.c - whose request a proxy passes on */
#include "tests/testing.h"

#include "services/signaling/http_proxies.h"

#include <stdio.h>

#define PROXY    "10.0.0.1:9"
#define STRANGER "192.0.2.9:9"

static struct http_proxies proxies;

static int trust(void **state)
{
    (void)state;
    proxies = (struct http_proxies){.count = 2};
    return net_block_parse("10.0.0.0/8", &proxies.block[0]) &&
                   net_block_parse("fd00::/8", &proxies.block[1])
               ? 0
               : -1;
}

/* The client of a request from `peer` whose head has these fields. */
static const char *client_of(const char *peer, const char *fields)
{
    static char text[NET_ADDR_TEXT_CAP];
    char head[2048];
    struct net_addr from;
    assert_true(net_addr_parse(peer, &from));
    (void)snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n", fields);
    const struct net_addr client = http_proxies_client(&proxies, &from, bytes_view_of_text(head));
    return net_addr_format_ip(&client, text, sizeof(text));
}

static void the_rightmost_address_that_is_no_proxy_is_the_client(void **state)
{
    (void)state;
    static const struct {
        const char *peer;
        const char *fields;
        const char *client;
    } row[] = {
        {PROXY, "X-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"},
        {PROXY, "x-forwarded-for:\t198.51.100.7 \r\n", "198.51.100.7"},
        {PROXY, "X-Forwarded-For: 203.0.113.1, 198.51.100.7\r\n", "198.51.100.7"},
        {PROXY, "X-Forwarded-For: 203.0.113.1,198.51.100.7, 10.9.9.9,fd00::5\r\n", "198.51.100.7"},
        {PROXY, "X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-For: 10.9.9.9\r\n", "198.51.100.7"},
        {PROXY, "X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-For: 203.0.113.1\r\n", "203.0.113.1"},
        {PROXY, "X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"},
        {PROXY, "X-Forwarded-For: [2001:db8::7]:4711\r\n", "2001:db8::7"},
        {PROXY, "X-Forwarded-For: 198.51.100.7:4711\r\n", "198.51.100.7"},
        {PROXY, "X-Forwarded-For: ::ffff:198.51.100.7\r\n", "198.51.100.7"},
        {"[fd00::1]:9", "X-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"},
        /* All are proxies: the one that is farthest away. */
        {PROXY, "X-Forwarded-For: 10.1.1.1, 10.2.2.2\r\n", "10.1.1.1"},
        /* A proxy says nothing, or nothing that is an address. */
        {PROXY, "", "10.0.0.1"},
        {PROXY, "X-Forwarded-For:\r\n", "10.0.0.1"},
        {PROXY, "X-Forwarded-For: unknown\r\n", "10.0.0.1"},
        {PROXY, "X-Forwarded-For: 198.51.100.7,\r\n", "10.0.0.1"},
        {PROXY, "X-Forwarded-For: 198.51.100.7, x, 10.2.2.2\r\n", "10.2.2.2"},
        {PROXY, "X-Forwarded-For: fe80::1%lo\r\n", "10.0.0.1"},
        /* A stranger may say what he likes. */
        {STRANGER, "X-Forwarded-For: 198.51.100.7\r\n", "192.0.2.9"},
        {STRANGER, "X-Forwarded-For: 10.0.0.1\r\n", "192.0.2.9"},
        {"11.0.0.1:9", "X-Forwarded-For: 198.51.100.7\r\n", "11.0.0.1"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_string_equal(client_of(row[i].peer, row[i].fields), row[i].client);
    }
}

static void without_trusted_proxies_the_field_means_nothing(void **state)
{
    (void)state;
    proxies.count = 0;
    assert_string_equal(client_of(PROXY, "X-Forwarded-For: 198.51.100.7\r\n"), "10.0.0.1");
}

static void a_row_of_proxies_ends_somewhere(void **state)
{
    (void)state;
    char fields[1024] = "X-Forwarded-For: 198.51.100.7";
    size_t len = strlen(fields);
    for (size_t hop = 1; hop <= HTTP_PROXIES_HOPS_MAX; hop++) {
        char with_end[sizeof(fields) + 2];
        (void)snprintf(with_end, sizeof(with_end), "%s\r\n", fields);
        assert_string_equal(client_of(PROXY, with_end), "198.51.100.7");
        len += (size_t)snprintf(fields + len, sizeof(fields) - len, ", 10.0.1.%zu", hop);
    }
    (void)snprintf(fields + len, sizeof(fields) - len, "\r\n");
    assert_string_equal(client_of(PROXY, fields), "10.0.1.1");
}

static void a_request_from_a_proxy_has_no_port_of_its_client(void **state)
{
    (void)state;
    struct net_addr from;
    assert_true(net_addr_parse(PROXY, &from));
    const struct net_addr client = http_proxies_client(
        &proxies, &from,
        bytes_view_of_text("GET / HTTP/1.1\r\nX-Forwarded-For: 198.51.100.7:4711\r\n\r\n"));
    assert_int_equal(client.port, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_rightmost_address_that_is_no_proxy_is_the_client, trust),
        cmocka_unit_test_setup(without_trusted_proxies_the_field_means_nothing, trust),
        cmocka_unit_test_setup(a_row_of_proxies_ends_somewhere, trust),
        cmocka_unit_test_setup(a_request_from_a_proxy_has_no_port_of_its_client, trust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
