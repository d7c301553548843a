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

static void check_class(const char *ip, bool (*expected)(const struct net_addr *))
{
    static bool (*const class[])(const struct net_addr *) = {
        net_addr_is_loopback, net_addr_is_multicast, net_addr_is_private};
    struct net_addr a;
    assert_true(net_addr_parse_ip(ip, 80, &a));
    for (size_t i = 0; i < COUNT_OF(class); i++) {
        if (class[i](&a) != (class[i] == expected)) {
            fail_msg("%s is in the wrong class", ip);
        }
    }
}

static void loopback_multicast_and_private_end_where_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *first;
        const char *last;
        const char *after;
        bool (*is_inside)(const struct net_addr *);
    } block[] = {
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", net_addr_is_loopback},
        {"::", "::1", "::1", "::2", net_addr_is_loopback},
        {"223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", net_addr_is_multicast},
        {"255.255.255.254", "255.255.255.255", "255.255.255.255", "::1:0:0:0",
         net_addr_is_multicast},
        {"feff:ffff::1", "ff00::", "ffff:ffff::1", "::e000:1", net_addr_is_multicast},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", net_addr_is_private},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", net_addr_is_private},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", net_addr_is_private},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", net_addr_is_private},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", net_addr_is_private},
        {"fbff:ffff::1", "fc00::", "fdff:ffff::1", "fe00::", net_addr_is_private},
        {"fe7f:ffff::1", "fe80::", "febf:ffff::1", "fec0::", net_addr_is_private},
        {"2001:db8::a00:1", "::ffff:10.0.0.1", "::ffff:10.0.0.1", "::a00:1", net_addr_is_private},
    };
    for (size_t i = 0; i < COUNT_OF(block); i++) {
        check_class(block[i].before, NULL);
        check_class(block[i].first, block[i].is_inside);
        check_class(block[i].last, block[i].is_inside);
        check_class(block[i].after, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_survives_a_round_trip),
        cmocka_unit_test(names_and_half_addresses_are_refused),
        cmocka_unit_test(v4_mapped_ipv6_is_the_same_address),
        cmocka_unit_test(blocks_end_where_they_say),
        cmocka_unit_test(loopback_multicast_and_private_end_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
