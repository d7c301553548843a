/* udp_sender_test.c - many datagrams a call, over loopback: what is refused costs no other */
#include "tests/testing.h"

#include "tests/udp_pair.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/syscall.h>

#define SHIM_BYTES 40

/* What the kernel is made to refuse. */
static struct {
    int error;           /* for a train; 0 = nothing */
    size_t segments_max; /* trains up to this are taken all the same */
    bool has_no_trains;  /* an old kernel */
    int probe_error;     /* for the second call instead; 0 = the same */
    unsigned calls;
} kernel;

static bool is_refused(const struct msghdr *header)
{
    return kernel.error != 0 && header->msg_controllen > 0 &&
           header->msg_iovlen > kernel.segments_max;
}

__attribute__((visibility("default"))) int sendmmsg(int fd, struct mmsghdr *message, unsigned count,
                                                    int flags)
{
    unsigned good = 0;
    kernel.calls++;
    while (good < count && !is_refused(&message[good].msg_hdr)) {
        good++;
    }
    if (good == 0 && count > 0) {
        errno = kernel.calls == 2 && kernel.probe_error != 0 ? kernel.probe_error : kernel.error;
        return -1;
    }
    return (int)syscall(SYS_sendmmsg, fd, message, good, flags);
}

__attribute__((visibility("default"))) int getsockopt(int fd, int level, int name,
                                                      void *restrict value, socklen_t *restrict len)
{
    if (kernel.has_no_trains && level == IPPROTO_UDP && name == UDP_SEGMENT) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

static struct udp_pair pair;
static uint8_t bytes[UDP_PAIR_PACKETS][1600];

static void count_is(const metric_value *metric, uint64_t value)
{
    assert_int_equal(metric_get(metric), value);
}

static const struct udp_sender_counters *counters(void)
{
    return udp_sender_counters(pair.sender);
}

static int open_trains(void **state)
{
    (void)state;
    memset(&kernel, 0, sizeof(kernel));
    udp_pair_open(&pair, UDP_RECEIVER_SLOTS, true);
    for (size_t i = 0; i < UDP_PAIR_PACKETS; i++) {
        memset(bytes[i], (int)(i + 1), sizeof(bytes[i]));
    }
    return 0;
}

static int open_singly(void **state)
{
    (void)open_trains(state);
    udp_sender_destroy(pair.sender);
    pair.sender = udp_sender_create(pair.from, false);
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    udp_pair_close(&pair);
    return 0;
}

/* A datagram with room behind it. */
static void add(size_t len)
{
    const size_t i = pair.count;
    udp_pair_add(&pair, bytes[i], len);
    pair.packet[i].bytes.cap = sizeof(bytes[i]);
}

static void add_many(size_t count, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        add(len);
    }
}

/* All were sent; each arrives with its bytes first and nothing but zeros behind. */
static void all_arrive(size_t count, const size_t *len)
{
    const struct udp_arrivals arrivals = udp_pair_take(&pair);
    assert_int_equal(arrivals.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct udp_arrival *arrival = &arrivals.datagram[i];
        const size_t from = arrival->data[0] - (size_t)1;
        assert_true(pair.packet[i].is_sent);
        assert_true(arrival->len >= len[from]);
        assert_memory_equal(arrival->data, bytes[from], len[from]);
        for (size_t at = len[from]; at < arrival->len; at++) {
            assert_int_equal(arrival->data[at], 0);
        }
    }
}

static void a_refused_datagram_does_not_cost_the_others(void **state)
{
    struct net_addr nowhere; /* needs SO_BROADCAST, which is not set */
    (void)state;
    assert_true(net_addr_parse("255.255.255.255:9", &nowhere));
    static const bool good[] = {false, true, false, false, true, true, false};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        udp_pair_add_to(&pair, "x", 1, good[i] ? &pair.address : &nowhere);
    }
    udp_pair_flush(&pair);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(pair.packet[i].is_sent, good[i]);
        assert_int_equal(pair.packet[i].tag, i);
    }
    assert_int_equal(udp_pair_take(&pair).count, 3);
    count_is(&counters()->singles, 3);
    count_is(&counters()->refused, 4);
}

static void without_trains_each_datagram_is_as_long_as_it_was(void **state)
{
    (void)state;
    add(100);
    add(200);
    udp_pair_flush(&pair);
    const struct udp_arrivals arrivals = udp_pair_take(&pair);
    assert_int_equal(arrivals.count, 2);
    assert_int_equal(arrivals.datagram[0].len, 100);
    assert_int_equal(arrivals.datagram[1].len, 200);
    count_is(&counters()->mode, UDP_SEND_SINGLY);
    count_is(&counters()->trains, 0);
}

static void mixed_lengths_travel_as_one_train_filled_up_with_zeros(void **state)
{
    static const size_t len[] = {113, 212, 140, 120};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(len); i++) {
        add(len[i]);
    }
    udp_pair_flush(&pair);
    assert_int_equal(kernel.calls, 1);
    all_arrive(COUNT_OF(len), len);
    count_is(&counters()->mode, UDP_SEND_TRAINS);
    count_is(&counters()->trains, 1);
    count_is(&counters()->train_datagrams, COUNT_OF(len));
    count_is(&counters()->singles, 0);
}

static void a_long_datagram_goes_alone_and_costs_no_train(void **state)
{
    static const size_t len[] = {100, 1500 + SHIM_BYTES, 150, 900, 120, 901};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(len); i++) {
        add(len[i]);
    }
    udp_pair_flush(&pair);
    assert_int_equal(kernel.calls, 1);
    all_arrive(COUNT_OF(len), len);
    count_is(&counters()->trains, 2);
    count_is(&counters()->train_datagrams, 5);
    count_is(&counters()->singles, 1);
}

static void two_shards_get_a_train_each_with_one_call(void **state)
{
    struct net_addr other_address;
    const int other = udp_pair_bind(&other_address);
    struct udp_receiver *receiver = udp_receiver_create(UDP_RECEIVER_SLOTS);
    (void)state;
    add_many(8, 100);
    for (size_t i = 1; i < 8; i += 2) {
        pair.packet[i].to = other_address;
    }
    udp_pair_flush(&pair);
    assert_int_equal(kernel.calls, 1);
    assert_int_equal(udp_pair_take(&pair).count, 4);
    const struct udp_arrivals arrivals = udp_receiver_take(receiver, other);
    assert_int_equal(arrivals.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(arrivals.datagram[i].data[0], 2 * i + 2);
    }
    count_is(&counters()->trains, 2);
    udp_receiver_destroy(receiver);
    (void)close(other);
}

/* The train goes again singly, and its destination gets none any more. */
static void a_device_without_checksums_gets_single_datagrams(void **state)
{
    static const int error[] = {EIO, EINVAL, EMSGSIZE};
    static const size_t len[] = {100, 120, 140, 90, 80};
    for (size_t row = 0; row < COUNT_OF(error); row++) {
        (void)open_trains(state);
        kernel.error = error[row];
        for (size_t round = 0; round < 2; round++) {
            for (size_t i = 0; i < COUNT_OF(len); i++) {
                add(len[i]);
            }
            udp_pair_flush(&pair);
            all_arrive(COUNT_OF(len), len);
        }
        count_is(&counters()->trains, 0);
        count_is(&counters()->singles, 2 * COUNT_OF(len));
        count_is(&counters()->refused, 0);
        count_is(&counters()->refused_trains, 1);
        count_is(&counters()->given_up, 1);
        (void)close_pair(state);
    }
    (void)open_trains(state);
}

static void a_train_of_two_that_is_refused_is_its_own_probe(void **state)
{
    (void)state;
    kernel.error = EIO;
    add_many(2, 100);
    udp_pair_flush(&pair);
    assert_int_equal(udp_pair_take(&pair).count, 2);
    assert_int_equal(kernel.calls, 3);
    count_is(&counters()->singles, 2);
    count_is(&counters()->given_up, 1);
}

/* Only the class that is too long for the path loses its trains, and only there. */
static void trains_are_given_up_for_one_destination_and_class(void **state)
{
    struct net_addr other_address;
    const int other = udp_pair_bind(&other_address);
    (void)state;
    kernel.error = EMSGSIZE;
    add_many(2, 900);
    udp_pair_flush(&pair);
    kernel.error = 0;
    add_many(2, 900);
    add_many(2, 100);
    add_many(2, 900);
    pair.packet[4].to = other_address;
    pair.packet[5].to = other_address;
    udp_pair_flush(&pair);
    assert_int_equal(udp_pair_take(&pair).count, 6);
    count_is(&counters()->trains, 2);
    count_is(&counters()->singles, 4);
    count_is(&counters()->given_up, 1);
    (void)close(other);
}

/* A small train passes: it was that one train. */
static void a_refused_train_alone_does_not_end_trains(void **state)
{
    (void)state;
    kernel.error = EINVAL;
    kernel.segments_max = 2;
    add_many(5, 100);
    udp_pair_flush(&pair);
    assert_int_equal(udp_pair_take(&pair).count, 5);
    count_is(&counters()->refused_trains, 1);
    count_is(&counters()->given_up, 0);
    count_is(&counters()->train_datagrams, 2);
    count_is(&counters()->singles, 3);
    kernel.error = 0;
    add_many(5, 100);
    udp_pair_flush(&pair);
    assert_int_equal(udp_pair_take(&pair).count, 5);
    count_is(&counters()->train_datagrams, 7);
}

/* A probe that finds the buffer full says nothing about trains. */
static void a_full_buffer_does_not_end_trains(void **state)
{
    static const int error[] = {EAGAIN, ENOBUFS, EPERM};
    for (size_t row = 0; row < COUNT_OF(error); row++) {
        (void)open_trains(state);
        kernel.error = EINVAL;
        kernel.probe_error = error[row];
        add_many(5, 100);
        udp_pair_flush(&pair);
        count_is(&counters()->refused_trains, 1);
        count_is(&counters()->given_up, 0);
        kernel.error = 0;
        add_many(5, 100);
        udp_pair_flush(&pair);
        count_is(&counters()->trains, 1);
        (void)close_pair(state);
    }
}

/* So many go singly; the next one leaves as a train, and is the last one again if it is refused. */
static void what_was_given_up_is_tried_again(void **state)
{
    (void)state;
    for (unsigned round = 1; round <= 3; round++) {
        kernel.error = EIO;
        add_many(2, 100);
        udp_pair_flush(&pair);
        count_is(&counters()->given_up, round);
        kernel.error = 0;
        for (unsigned i = 0; i < UDP_GIVEN_UP_TRAINS; i++) {
            add_many(2, 100);
            udp_pair_flush(&pair);
            (void)udp_pair_take(&pair);
        }
        count_is(&counters()->trains, 0);
    }
    add_many(2, 100);
    udp_pair_flush(&pair);
    count_is(&counters()->trains, 1);
    count_is(&counters()->given_up, 3);
}

/* Between others that are good. */
static void a_refused_train_does_not_cost_the_others(void **state)
{
    struct net_addr nowhere;
    (void)state;
    assert_true(net_addr_parse("255.255.255.255:9", &nowhere)); /* EACCES */
    add_many(2, 100);
    add_many(3, 100);
    add_many(2, 900);
    for (size_t i = 2; i < 5; i++) {
        pair.packet[i].to = nowhere;
    }
    udp_pair_flush(&pair);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(pair.packet[i].is_sent, i < 2 || i >= 5);
    }
    assert_int_equal(udp_pair_take(&pair).count, 4);
    count_is(&counters()->trains, 2);
    count_is(&counters()->refused, 3);
    count_is(&counters()->refused_trains, 0); /* it was not about trains */
    count_is(&counters()->given_up, 0);
}

static void a_kernel_without_trains_is_told_at_create(void **state)
{
    (void)state;
    udp_sender_destroy(pair.sender);
    kernel.has_no_trains = true;
    pair.sender = udp_sender_create(pair.from, true);
    count_is(&counters()->mode, UDP_SEND_SINGLY);
    add_many(3, 100);
    udp_pair_flush(&pair);
    assert_int_equal(udp_pair_take(&pair).count, 3);
    count_is(&counters()->trains, 0);
    count_is(&counters()->singles, 3);
}

/* The oldest place is taken, and its destination may try again. */
static void as_many_destinations_are_remembered_as_it_says(void **state)
{
    (void)state;
    kernel.error = EIO;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i <= UDP_GIVEN_UP_MAX; i++) {
            add_many(2, 100);
            for (size_t at = 0; at < 2; at++) {
                pair.packet[at].to.port = (uint16_t)(1 + i);
            }
            udp_pair_flush(&pair);
        }
        count_is(&counters()->given_up, (UDP_GIVEN_UP_MAX + 1) * (round + 1));
    }
    /* The last one is remembered. */
    add_many(2, 100);
    pair.packet[0].to.port = UDP_GIVEN_UP_MAX + 1;
    pair.packet[1].to.port = UDP_GIVEN_UP_MAX + 1;
    udp_pair_flush(&pair);
    count_is(&counters()->refused_trains, 2 * (UDP_GIVEN_UP_MAX + 1));
}

#define SINGLY_TEST(name) cmocka_unit_test_setup_teardown(name, open_singly, close_pair)
#define TRAINS_TEST(name) cmocka_unit_test_setup_teardown(name, open_trains, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SINGLY_TEST(a_refused_datagram_does_not_cost_the_others),
        SINGLY_TEST(without_trains_each_datagram_is_as_long_as_it_was),
        TRAINS_TEST(mixed_lengths_travel_as_one_train_filled_up_with_zeros),
        TRAINS_TEST(a_long_datagram_goes_alone_and_costs_no_train),
        TRAINS_TEST(two_shards_get_a_train_each_with_one_call),
        cmocka_unit_test_teardown(a_device_without_checksums_gets_single_datagrams, close_pair),
        TRAINS_TEST(a_train_of_two_that_is_refused_is_its_own_probe),
        TRAINS_TEST(trains_are_given_up_for_one_destination_and_class),
        TRAINS_TEST(a_refused_train_alone_does_not_end_trains),
        cmocka_unit_test(a_full_buffer_does_not_end_trains),
        TRAINS_TEST(what_was_given_up_is_tried_again),
        TRAINS_TEST(a_refused_train_does_not_cost_the_others),
        TRAINS_TEST(a_kernel_without_trains_is_told_at_create),
        TRAINS_TEST(as_many_destinations_are_remembered_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
