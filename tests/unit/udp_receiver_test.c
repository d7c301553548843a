/* udp_receiver_test.c - many datagrams a call, over loopback: none is copied, all are told apart */
#include "tests/testing.h"

#include "tests/udp_pair.h"

static int open_slots(void **state)
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

static void nothing_waits_and_nothing_blocks(void **state)
{
    const struct udp_arrivals arrivals = udp_pair_take(*state);
    assert_int_equal(arrivals.count, 0);
    assert_false(arrivals.is_full);
}

static void a_full_batch_arrives_in_order(void **state)
{
    struct udp_pair *pair = *state;
    uint8_t bytes[UDP_SLOTS][100];
    size_t total = 0;
    for (size_t i = 0; i < UDP_SLOTS; i++) {
        memset(bytes[i], (int)i, sizeof(bytes[i]));
        udp_pair_add(pair, bytes[i], 1 + i);
        total += 1 + i;
    }
    udp_pair_flush(pair);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, UDP_SLOTS);
    assert_int_equal(arrivals.bytes, total);
    assert_true(arrivals.is_full);
    for (size_t i = 0; i < UDP_SLOTS; i++) {
        const struct udp_arrival *arrival = &arrivals.datagram[i];
        assert_int_equal(arrival->len, 1 + i);
        assert_memory_equal(arrival->data, bytes[i], 1 + i);
        assert_true(net_addr_is_loopback(&arrival->from));
    }
    assert_true(arrivals.first_unix_us > 0);
    assert_int_equal(arrivals.dropped_total, 0);
    assert_false(udp_pair_take(pair).is_full);
}

/* A shim can be written before a datagram without touching its neighbours. */
static void the_headroom_of_a_datagram_is_its_own(void **state)
{
    struct udp_pair *pair = *state;
    static const uint8_t first[] = "first";
    static const uint8_t second[] = "second";
    udp_pair_add(pair, first, 5);
    udp_pair_add(pair, second, 6);
    udp_pair_flush(pair);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 2);
    for (size_t i = 0; i < 2; i++) {
        memset(arrivals.datagram[i].data - UDP_HEADROOM, 0xaa, UDP_HEADROOM);
    }
    assert_memory_equal(arrivals.datagram[0].data, first, 5);
    assert_memory_equal(arrivals.datagram[1].data, second, 6);
}

static void a_huge_datagram_is_cut_to_more_than_is_ever_forwarded(void **state)
{
    struct udp_pair *pair = *state;
    static uint8_t huge[65507];
    udp_pair_add(pair, huge, sizeof(huge));
    udp_pair_add(pair, huge, 3);
    udp_pair_flush(pair);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 2);
    assert_int_equal(arrivals.cut, 1);
    assert_int_equal(arrivals.datagram[0].len, UDP_SLOT_BYTES);
    assert_int_equal(arrivals.datagram[1].len, 3);
}

static void the_kernel_tells_what_a_full_buffer_cost(void **state)
{
    struct udp_pair *pair = *state;
    const int small = 1;
    (void)setsockopt(pair->to, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    uint8_t bytes[1000] = {0};
    for (size_t i = 0; i < UDP_SLOTS; i++) {
        udp_pair_add(pair, bytes, sizeof(bytes));
    }
    udp_pair_flush(pair);
    const size_t kept = udp_pair_take(pair).count;
    assert_true(kept < UDP_SLOTS);
    /* It is told with the first datagram after the loss. */
    udp_pair_add(pair, bytes, 1);
    udp_pair_flush(pair);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 1);
    assert_int_equal(arrivals.dropped_total, UDP_SLOTS - kept);
}

#define SLOTS_TEST(name) cmocka_unit_test_setup_teardown(name, open_slots, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SLOTS_TEST(nothing_waits_and_nothing_blocks),
        SLOTS_TEST(a_full_batch_arrives_in_order),
        SLOTS_TEST(the_headroom_of_a_datagram_is_its_own),
        SLOTS_TEST(a_huge_datagram_is_cut_to_more_than_is_ever_forwarded),
        SLOTS_TEST(the_kernel_tells_what_a_full_buffer_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
