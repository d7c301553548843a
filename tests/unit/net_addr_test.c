/* net_addr_test.c - one form per address, strict text */
#include "tests/testing.h"

#include "common/base/net_addr.h"

static void text_survives_a_round_trip(void **state)
{
    (void)state;
    static const char *const text[] = {"192.0.2.1:80", "[2001:db8::1]:65535", "0.0.0.0:0",
                                       "[::1]:3478"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct net_addr a;
        char again[NET_ADDR_TEXT_CAP];
        assert_true(net_addr_parse(text[i], &a));
        assert_string_equal(net_addr_format(&a, again, sizeof(again)), text[i]);
    }
}

static void names_and_half_addresses_are_refused(void **state)
{
    (void)state;
    static const char *const text[] = {"localhost:80",         "192.0.2.1",     "192.0.2.1:",
                                       "192.0.2.1:65536",      "::1:80",        "[::1]",
                                       "[192.0.2.1]:80",       "192.0.2.1:80 ", "",
                                       "192.0.2.1:-1",         "[::1:80",       "1.2.3:80",
                                       "[2001:db8::1%eth0]:80"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct net_addr a;
        assert_false(net_addr_parse(text[i], &a));
    }
}

static void v4_mapped_ipv6_is_the_same_address(void **state)
{
    (void)state;
    struct net_addr plain;
    struct net_addr mapped;
    assert_true(net_addr_parse_ip("127.0.0.1", 7, &plain));
    assert_true(net_addr_parse_ip("::ffff:127.0.0.1", 7, &mapped));
    assert_true(net_addr_equal(&plain, &mapped));
    assert_true(net_addr_is_loopback(&mapped));
}

static void blocks_end_where_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *block;
        const char *ip;
        bool inside;
    } table[] = {
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"172.16.0.0/12", "172.31.0.1", true},
        {"172.16.0.0/12", "172.32.0.0", false},
        {"192.0.2.128/25", "192.0.2.127", false},
        {"192.0.2.128/25", "192.0.2.128", true},
        {"fc00::/7", "fdff::1", true},
        {"fc00::/7", "fe00::1", false},
        {"0.0.0.0/0", "8.8.8.8", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"192.0.2.1/32", "192.0.2.1", true},
        {"::/0", "192.0.2.1", true},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct net_block block;
        struct net_addr a;
        assert_true(net_block_parse(table[i].block, &block));
        assert_true(net_addr_parse_ip(table[i].ip, 0, &a));
        assert_int_equal(net_block_contains(&block, &a), table[i].inside);
    }
    struct net_block block;
    assert_false(net_block_parse("10.0.0.0/33", &block));
    assert_false(net_block_parse("10.0.0.0", &block));
    assert_false(net_block_parse("10.0.0/8", &block));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_survives_a_round_trip),
        cmocka_unit_test(names_and_half_addresses_are_refused),
        cmocka_unit_test(v4_mapped_ipv6_is_the_same_address),
        cmocka_unit_test(blocks_end_where_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
