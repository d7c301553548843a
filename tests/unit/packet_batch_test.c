/* packet_batch_test.c - many datagrams a call, over loopback: none copied, none costs another */
#include "tests/testing.h"

#include "services/relay/packet_batch.h"
#include "services/relay/relay_socket.h"

#include <sys/socket.h>
#include <unistd.h>

struct pair {
    int from;
    int to;
    struct net_addr address; /* of `to` */
    struct receive_batch received;
    struct send_batch sending;
};

static int bound_socket(struct net_addr *address)
{
    struct fault fault = {0};
    assert_true(net_addr_parse("127.0.0.1:0", address));
    assert_true(relay_socket_probe(address, &fault));
    const int fd = relay_socket_open_internal(address, 1 << 20, &fault);
    assert_true(fd >= 0);
    return fd;
}

static int open_pair(void **state)
{
    static struct pair pair;
    struct net_addr unused;
    pair.from = bound_socket(&unused);
    pair.to = bound_socket(&pair.address);
    send_batch_clear(&pair.sending);
    assert_true(receive_batch_init(&pair.received));
    *state = &pair;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;
    receive_batch_free(&pair->received);
    (void)close(pair->from);
    (void)close(pair->to);
    return 0;
}

static void nothing_waits_and_nothing_blocks(void **state)
{
    struct pair *pair = *state;
    assert_int_equal(receive_batch_take(&pair->received, pair->to), 0);
}

static void a_full_batch_arrives_in_order(void **state)
{
    struct pair *pair = *state;
    uint8_t bytes[PACKET_BATCH][100];
    for (size_t i = 0; i < PACKET_BATCH; i++) {
        memset(bytes[i], (int)i, sizeof(bytes[i]));
        send_batch_add(&pair->sending, bytes_view_of(bytes[i], 1 + i), &pair->address, 0);
    }
    send_batch_flush(&pair->sending, pair->from);
    assert_int_equal(receive_batch_take(&pair->received, pair->to), PACKET_BATCH);
    for (size_t i = 0; i < PACKET_BATCH; i++) {
        const struct received_packet *packet = &pair->received.packet[i];
        assert_true(pair->sending.packet[i].is_sent);
        assert_int_equal(packet->len, 1 + i);
        assert_memory_equal(packet->data, bytes[i], 1 + i);
        assert_true(net_addr_is_loopback(&packet->from));
    }
    assert_true(pair->received.first_unix_us > 0);
    assert_int_equal(pair->received.dropped_total, 0);
}

/* A shim can be written before a datagram without touching its neighbours. */
static void the_headroom_of_a_packet_is_its_own(void **state)
{
    struct pair *pair = *state;
    static const uint8_t first[] = "first";
    static const uint8_t second[] = "second";
    send_batch_add(&pair->sending, bytes_view_of(first, 5), &pair->address, 0);
    send_batch_add(&pair->sending, bytes_view_of(second, 6), &pair->address, 0);
    send_batch_flush(&pair->sending, pair->from);
    assert_int_equal(receive_batch_take(&pair->received, pair->to), 2);
    for (size_t i = 0; i < 2; i++) {
        memset(pair->received.packet[i].data - PACKET_HEADROOM, 0xaa, PACKET_HEADROOM);
    }
    assert_memory_equal(pair->received.packet[0].data, first, 5);
    assert_memory_equal(pair->received.packet[1].data, second, 6);
}

static void a_refused_datagram_does_not_cost_the_others(void **state)
{
    struct pair *pair = *state;
    struct net_addr nowhere; /* needs SO_BROADCAST, which is not set */
    assert_true(net_addr_parse("255.255.255.255:9", &nowhere));
    static const bool good[] = {false, true, false, false, true, true, false};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        send_batch_add(&pair->sending, bytes_view_of("x", 1), good[i] ? &pair->address : &nowhere,
                       (unsigned)i);
    }
    send_batch_flush(&pair->sending, pair->from);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(pair->sending.packet[i].is_sent, good[i]);
        assert_int_equal(pair->sending.packet[i].tag, i);
    }
    assert_int_equal(receive_batch_take(&pair->received, pair->to), 3);
}

static void a_huge_datagram_is_cut_to_more_than_is_ever_forwarded(void **state)
{
    struct pair *pair = *state;
    static uint8_t huge[65507];
    send_batch_add(&pair->sending, bytes_view_of(huge, sizeof(huge)), &pair->address, 0);
    send_batch_add(&pair->sending, bytes_view_of(huge, 3), &pair->address, 0);
    send_batch_flush(&pair->sending, pair->from);
    assert_int_equal(receive_batch_take(&pair->received, pair->to), 2);
    assert_int_equal(pair->received.packet[0].len, PACKET_BYTES);
    assert_int_equal(pair->received.packet[1].len, 3);
}

static void the_kernel_tells_what_a_full_buffer_cost(void **state)
{
    struct pair *pair = *state;
    const int small = 1;
    (void)setsockopt(pair->to, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    uint8_t bytes[1000] = {0};
    for (size_t i = 0; i < PACKET_BATCH; i++) {
        send_batch_add(&pair->sending, bytes_view_of(bytes, sizeof(bytes)), &pair->address, 0);
    }
    send_batch_flush(&pair->sending, pair->from);
    const size_t kept = receive_batch_take(&pair->received, pair->to);
    assert_true(kept < PACKET_BATCH);
    /* It is told with the first datagram after the loss. */
    send_batch_clear(&pair->sending);
    send_batch_add(&pair->sending, bytes_view_of(bytes, 1), &pair->address, 0);
    send_batch_flush(&pair->sending, pair->from);
    assert_int_equal(receive_batch_take(&pair->received, pair->to), 1);
    assert_int_equal(pair->received.dropped_total, PACKET_BATCH - kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_waits_and_nothing_blocks, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_full_batch_arrives_in_order, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(the_headroom_of_a_packet_is_its_own, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_refused_datagram_does_not_cost_the_others, open_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(a_huge_datagram_is_cut_to_more_than_is_ever_forwarded,
                                        open_pair, close_pair),
        cmocka_unit_test_setup_teardown(the_kernel_tells_what_a_full_buffer_cost, open_pair,
                                        close_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
