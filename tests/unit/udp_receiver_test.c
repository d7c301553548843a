/* udp_receiver_test.c - many datagrams a call, over loopback: none is copied, all are told apart */
#include "tests/testing.h"

#include "tests/udp_pair.h"

#include <netinet/in.h>
#include <netinet/udp.h>

static int open_slots(void **state)
{
    static struct udp_pair pair;
    udp_pair_open(&pair, UDP_RECEIVER_SLOTS, false);
    *state = &pair;
    return 0;
}

static int open_trains(void **state)
{
    static struct udp_pair pair;
    udp_pair_open(&pair, UDP_RECEIVER_TRAINS, true);
    assert_true(udp_receiver_accept_trains(pair.to, true));
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
    assert_int_equal(arrivals.left_out, 0);
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

/* --- Trains ----------------------------------------------------------------------------------- */

/* As many datagrams as its bound, in trains as the sender makes them. */
static void eight_trains_are_taken_apart_with_one_call(void **state)
{
    static uint8_t bytes[UDP_TRAIN_PACKETS_MAX][300];
    struct udp_pair *pair = *state;
    for (size_t train = 0; train < UDP_TRAINS; train++) {
        for (size_t i = 0; i < UDP_TRAIN_PACKETS_MAX; i++) {
            memset(bytes[i], (int)(i + train), sizeof(bytes[i]));
            udp_pair_add(pair, bytes[i], 200 + train);
        }
        udp_pair_flush(pair);
    }
    assert_int_equal(metric_get(&udp_sender_counters(pair->sender)->trains), UDP_TRAINS);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, UDP_TRAINS * UDP_TRAIN_PACKETS_MAX);
    assert_true(arrivals.is_full);
    assert_true(arrivals.first_unix_us > 0);
    for (size_t i = 0; i < arrivals.count; i++) {
        const size_t train = i / UDP_TRAIN_PACKETS_MAX;
        const struct udp_arrival *arrival = &arrivals.datagram[i];
        assert_int_equal(arrival->len, 200 + train);
        assert_int_equal(arrival->data[0], i % UDP_TRAIN_PACKETS_MAX + train);
        assert_int_equal(arrival->data[199 + train], i % UDP_TRAIN_PACKETS_MAX + train);
        assert_true(net_addr_is_loopback(&arrival->from));
    }
    assert_int_equal(udp_pair_take(pair).count, 0);
}

static void the_last_datagram_of_a_train_may_be_shorter(void **state)
{
    static uint8_t bytes[100];
    struct udp_pair *pair = *state;
    udp_pair_add(pair, bytes, 100);
    udp_pair_add(pair, bytes, 100);
    udp_pair_add(pair, bytes, 7);
    pair->packet[2].bytes.cap = sizeof(bytes);
    udp_pair_flush(pair);
    assert_int_equal(metric_get(&udp_sender_counters(pair->sender)->train_datagrams), 3);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 3);
    assert_int_equal(arrivals.datagram[1].len, 100);
    assert_int_equal(arrivals.datagram[2].len, 7);
    assert_int_equal(arrivals.bytes, 207);
}

static void a_datagram_that_came_alone_is_a_train_of_one(void **state)
{
    static uint8_t bytes[65507];
    struct udp_pair *pair = *state;
    udp_pair_add(pair, bytes, 100);
    udp_pair_flush(pair);
    udp_pair_add(pair, bytes, 0);
    udp_pair_flush(pair);
    udp_pair_add(pair, bytes, sizeof(bytes));
    udp_pair_flush(pair);
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 3);
    assert_int_equal(arrivals.datagram[0].len, 100);
    assert_int_equal(arrivals.datagram[1].len, 0);
    assert_int_equal(arrivals.datagram[2].len, sizeof(bytes));
    assert_int_equal(arrivals.left_out, 0);
    memset(arrivals.datagram[2].data + sizeof(bytes), 0xaa, UDP_TRAIN_SPARE_BYTES);
}

/* One system call, so many datagrams of one byte. Newer kernels take more than we ever send. */
static bool send_crumbs(const struct udp_pair *pair, size_t count)
{
    const uint8_t crumbs[2 * UDP_TRAIN_DATAGRAMS] = {0};
    const int one_byte = 1;
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(&pair->address, &to);
    assert_int_equal(setsockopt(pair->from, IPPROTO_UDP, UDP_SEGMENT, &one_byte, sizeof(int)), 0);
    return sendto(pair->from, crumbs, count, 0, (struct sockaddr *)&to, to_len) == (ssize_t)count;
}

static void a_train_of_more_datagrams_than_we_send_is_bounded(void **state)
{
    struct udp_pair *pair = *state;
    if (!send_crumbs(pair, UDP_TRAIN_DATAGRAMS + 1)) {
        print_message("this kernel sends no longer trains than ours\n");
        skip();
    }
    assert_true(send_crumbs(pair, 2 * UDP_TRAIN_DATAGRAMS));
    assert_true(send_crumbs(pair, UDP_TRAIN_DATAGRAMS));
    const struct udp_arrivals arrivals = udp_pair_take(pair);
    assert_int_equal(arrivals.count, 3 * UDP_TRAIN_DATAGRAMS);
    assert_int_equal(arrivals.left_out, 1 + UDP_TRAIN_DATAGRAMS);
    assert_int_equal(arrivals.bytes, 3 * UDP_TRAIN_DATAGRAMS);
}

/* A kept socket may come from a relay that wanted them. */
static void trains_that_are_not_wanted_any_more_come_singly(void **state)
{
    struct udp_pair pair;
    const uint8_t bytes[3][100] = {{1}, {2}, {3}};
    (void)state;
    udp_pair_open(&pair, UDP_RECEIVER_SLOTS, true);
    assert_true(udp_receiver_accept_trains(pair.to, true));
    assert_true(udp_receiver_accept_trains(pair.to, false));
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        udp_pair_add(&pair, bytes[i], sizeof(bytes[i]));
    }
    udp_pair_flush(&pair);
    const struct udp_arrivals arrivals = udp_pair_take(&pair);
    assert_int_equal(arrivals.count, COUNT_OF(bytes));
    assert_int_equal(arrivals.bytes, sizeof(bytes));
    udp_pair_close(&pair);
}

#define TRAINS_TEST(name) cmocka_unit_test_setup_teardown(name, open_trains, close_pair)
#define SLOTS_TEST(name)  cmocka_unit_test_setup_teardown(name, open_slots, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SLOTS_TEST(nothing_waits_and_nothing_blocks),
        SLOTS_TEST(a_full_batch_arrives_in_order),
        SLOTS_TEST(the_headroom_of_a_datagram_is_its_own),
        SLOTS_TEST(a_huge_datagram_is_cut_to_more_than_is_ever_forwarded),
        SLOTS_TEST(the_kernel_tells_what_a_full_buffer_cost),
        TRAINS_TEST(eight_trains_are_taken_apart_with_one_call),
        TRAINS_TEST(the_last_datagram_of_a_train_may_be_shorter),
        TRAINS_TEST(a_datagram_that_came_alone_is_a_train_of_one),
        TRAINS_TEST(a_train_of_more_datagrams_than_we_send_is_bounded),
        cmocka_unit_test(trains_that_are_not_wanted_any_more_come_singly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
