/* udp_sender_test.c - many datagrams a call, over loopback: one that is refused costs no other */
#include "tests/testing.h"

#include "tests/udp_pair.h"

static int open_singly(void **state)
{
    static struct udp_pair pair;
    udp_pair_open(&pair, UDP_RECEIVER_SLOTS, false);
    *state = &pair;
    return 0;
}

static int close_pair(void **state)
{
    udp_pair_close(*state);
    return 0;
}

static void a_refused_datagram_does_not_cost_the_others(void **state)
{
    struct udp_pair *pair = *state;
    struct net_addr nowhere; /* needs SO_BROADCAST, which is not set */
    assert_true(net_addr_parse("255.255.255.255:9", &nowhere));
    static const bool good[] = {false, true, false, false, true, true, false};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        udp_pair_add_to(pair, "x", 1, good[i] ? &pair->address : &nowhere);
    }
    udp_pair_flush(pair);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(pair->packet[i].is_sent, good[i]);
        assert_int_equal(pair->packet[i].tag, i);
    }
    assert_int_equal(udp_pair_take(pair).count, 3);
    assert_int_equal(metric_get(&udp_sender_counters(pair->sender)->singles), 3);
    assert_int_equal(metric_get(&udp_sender_counters(pair->sender)->refused), 4);
}

#define SINGLY_TEST(name) cmocka_unit_test_setup_teardown(name, open_singly, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SINGLY_TEST(a_refused_datagram_does_not_cost_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
