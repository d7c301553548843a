/* tcp_connection_test.c - how long a connection lives, to the microsecond */
#include "tests/testing.h"

#include "services/relay/core/tcp_connection.h"

#define START_US (1000 * US_PER_S)

static uint8_t ring[TCP_OUTPUT_BYTES];
static const uint8_t datagram[100];

static struct tcp_connection opened(void)
{
    struct net_addr client;
    assert_true(net_addr_parse("192.0.2.1:1000", &client));
    static struct tcp_connection c;
    tcp_connection_init(&c, &client, ring, START_US);
    return c;
}

static void a_stranger_has_5_s_for_its_first_frame(void **state)
{
    (void)state;
    const struct tcp_connection c = opened();
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_NEW, START_US + 5 * US_PER_S - 1),
                     TCP_END_NONE);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_NEW, START_US + 5 * US_PER_S),
                     TCP_END_FIRST_LATE);
}

/* Also while it sends: whoever has a token may do so. */
static void a_transceiver_has_10_s_to_send_it_something(void **state)
{
    (void)state;
    struct tcp_connection c = opened();
    tcp_connection_heard(&c, START_US + 9 * US_PER_S);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_HALF_OPEN, START_US + 10 * US_PER_S - 1),
                     TCP_END_NONE);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_HALF_OPEN, START_US + 10 * US_PER_S),
                     TCP_END_UNANSWERED);
}

static void a_confirmed_connection_may_be_idle_for_60_s(void **state)
{
    (void)state;
    struct tcp_connection c = opened();
    const uint64_t heard_us = START_US + 4 * US_PER_S;
    tcp_connection_heard(&c, heard_us);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, heard_us + 60 * US_PER_S - 1),
                     TCP_END_NONE);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, heard_us + 60 * US_PER_S),
                     TCP_END_IDLE);
}

/* A client that only listens is no idle one. */
static void what_is_sent_to_it_keeps_it_alive_as_long_as_it_takes_it(void **state)
{
    (void)state;
    struct tcp_connection c = opened();
    tcp_connection_heard(&c, START_US);
    uint64_t now_us = START_US;
    for (unsigned i = 0; i < 1000; i++) {
        now_us += US_PER_S;
        assert_int_equal(
            tcp_connection_queue(&c, bytes_view_of(datagram, sizeof(datagram)), now_us), 0);
        assert_int_equal(tcp_connection_wrote(&c, 102, now_us).frames, 1);
        assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, now_us), TCP_END_NONE);
    }
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, now_us + 11 * US_PER_S),
                     TCP_END_NONE);
}

static void a_client_that_takes_nothing_for_10_s_is_stuck(void **state)
{
    (void)state;
    struct tcp_connection c = opened();
    tcp_connection_heard(&c, START_US);
    const uint64_t full_us = START_US + 20 * US_PER_S;
    for (uint64_t i = 0; i < 9; i++) {
        (void)tcp_connection_queue(&c, bytes_view_of(datagram, sizeof(datagram)),
                                   full_us + i * US_PER_S);
    }
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, full_us + 10 * US_PER_S - 1),
                     TCP_END_NONE);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, full_us + 10 * US_PER_S),
                     TCP_END_STUCK);
    /* One byte is progress. */
    assert_int_equal(tcp_connection_wrote(&c, 1, full_us + 9 * US_PER_S).frames, 0);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, full_us + 19 * US_PER_S - 1),
                     TCP_END_NONE);
    assert_int_equal(tcp_connection_overdue(&c, TCP_PLACE_CONFIRMED, full_us + 19 * US_PER_S),
                     TCP_END_STUCK);
}

static void a_client_may_send_500_frames_at_once_and_1000_a_second(void **state)
{
    (void)state;
    struct tcp_connection c = opened();
    uint64_t now_us = START_US;
    for (unsigned i = 0; i < TCP_FRAMES_BURST; i++) {
        assert_true(tcp_connection_took_frame(&c, now_us));
    }
    assert_false(tcp_connection_took_frame(&c, now_us));
    now_us += 250 * US_PER_MS;
    for (unsigned i = 0; i < TCP_FRAMES_PER_S / 4; i++) {
        assert_true(tcp_connection_took_frame(&c, now_us));
    }
    assert_false(tcp_connection_took_frame(&c, now_us));
}

static void each_end_has_its_own_name(void **state)
{
    (void)state;
    for (unsigned i = TCP_END_NONE + 1; i < TCP_END_COUNT; i++) {
        for (unsigned j = TCP_END_NONE + 1; j < i; j++) {
            assert_string_not_equal(tcp_end_name((enum tcp_end)i), tcp_end_name((enum tcp_end)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_has_5_s_for_its_first_frame),
        cmocka_unit_test(a_transceiver_has_10_s_to_send_it_something),
        cmocka_unit_test(a_confirmed_connection_may_be_idle_for_60_s),
        cmocka_unit_test(what_is_sent_to_it_keeps_it_alive_as_long_as_it_takes_it),
        cmocka_unit_test(a_client_that_takes_nothing_for_10_s_is_stuck),
        cmocka_unit_test(a_client_may_send_500_frames_at_once_and_1000_a_second),
        cmocka_unit_test(each_end_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
