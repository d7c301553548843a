/* udp_port_test.c - batches over loopback: bounds, counters, and an address that is taken */
#include "tests/testing.h"

#include "services/transceiver/port/udp_port.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#define PATIENCE_MS  5000
#define BUFFER_BYTES 65536

static struct udp_port *open_port(const char *listen)
{
    struct net_addr address;
    struct fault fault = {0};
    assert_true(net_addr_parse(listen, &address));
    struct udp_port *p = udp_port_open(&address, BUFFER_BYTES, &fault);
    if (p == NULL) {
        fail_msg("%s", fault.text);
    }
    return p;
}

static size_t receive(struct udp_port *p, const struct udp_arrival **out)
{
    if (udp_port_has_received(p)) {
        return udp_port_receive(p, out);
    }
    struct pollfd fd = {.fd = udp_port_fd(p), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    return udp_port_receive(p, out);
}

static void send_bytes(struct udp_port *from, const struct udp_port *to, uint8_t *data, size_t len)
{
    struct udp_packet packet = {.bytes = {data, len, len}, .to = udp_port_address(to)};
    udp_port_send(from, &packet, 1);
}

static void a_datagram_arrives_with_its_sender(void **state)
{
    (void)state;
    static const char *const listen[] = {"127.0.0.1:0", "[::1]:0"};
    uint8_t hello[5] = {'h', 'e', 'l', 'l', 'o'};
    for (size_t i = 0; i < COUNT_OF(listen); i++) {
        struct udp_port *a = open_port(listen[i]);
        struct udp_port *b = open_port(listen[i]);
        const struct udp_arrival *received = NULL;
        assert_int_equal(udp_port_receive(b, &received), 0);
        assert_true(udp_port_address(a).port != 0);
        send_bytes(a, b, hello, sizeof(hello));
        assert_int_equal(receive(b, &received), 1);
        assert_int_equal(received[0].len, 5);
        assert_memory_equal(received[0].data, "hello", 5);
        const struct net_addr from = udp_port_address(a);
        assert_true(net_addr_equal(&received[0].from, &from));
        assert_int_equal(metric_get(&udp_port_counters(a)->sent_datagrams), 1);
        assert_int_equal(metric_get(&udp_port_counters(a)->sent_bytes), 5);
        assert_int_equal(metric_get(&udp_port_counters(b)->received_datagrams), 1);
        assert_int_equal(metric_get(&udp_port_counters(b)->received_bytes), 5);
        udp_port_close(a);
        udp_port_close(b);
    }
}

/* What is given at once is a train; the kernel hands it over as one, up to 8 of them a call. */
static void many_leave_at_once_and_come_in_bounded_batches_in_order(void **state)
{
    (void)state;
    enum { COUNT = 3 * UDP_PORT_BATCH + 7 };
    struct udp_port *a = open_port("127.0.0.1:0");
    struct udp_port *b = open_port("127.0.0.1:0");
    struct udp_packet packet[COUNT];
    uint8_t number[COUNT][2]; /* of one byte or two */
    for (size_t i = 0; i < COUNT; i++) {
        number[i][0] = (uint8_t)i;
        packet[i] =
            (struct udp_packet){.bytes = {number[i], 1 + i % 2, 2}, .to = udp_port_address(b)};
    }
    udp_port_send(a, packet, COUNT);
    for (size_t seen = 0; seen < COUNT;) {
        const struct udp_arrival *received = NULL;
        const size_t got = receive(b, &received);
        assert_in_range(got, 1, UDP_PORT_BATCH);
        for (size_t i = 0; i < got; i++) {
            assert_int_equal(received[i].data[0], (uint8_t)seen++);
        }
    }
    assert_false(udp_port_has_received(b));
    assert_int_equal(metric_get(&udp_port_counters(a)->sent_datagrams), COUNT);
    assert_int_equal(metric_get(&udp_port_counters(b)->received_datagrams), COUNT);
    if (metric_get(&udp_port_trains(a)->mode) == UDP_SEND_TRAINS) {
        assert_in_range(metric_get(&udp_port_trains(a)->trains), 4, 5);
        assert_int_equal(metric_get(&udp_port_trains(a)->train_datagrams), COUNT);
    }
    udp_port_close(a);
    udp_port_close(b);
}

static void what_the_kernel_refuses_is_counted_and_the_rest_still_leaves(void **state)
{
    (void)state;
    static uint8_t data[65535]; /* more than UDP over IPv4 can carry */
    struct udp_port *a = open_port("127.0.0.1:0");
    struct udp_port *b = open_port("127.0.0.1:0");
    const struct net_addr to = udp_port_address(b);
    struct net_addr no_port = to;
    no_port.port = 0;
    struct udp_packet packet[] = {
        {.bytes = {data, sizeof(data), sizeof(data)}, .to = to},
        {.bytes = {data, 1, 1}, .to = to},
        {.bytes = {data, 1, 1}, .to = no_port},
        {.bytes = {data, 2000, 2000}, .to = to},
    };
    const struct udp_arrival *received = NULL;
    udp_port_send(a, packet, COUNT_OF(packet));
    assert_int_equal(receive(b, &received), 2);
    assert_int_equal(received[0].len, 1);
    assert_int_equal(received[1].len, 2000);
    assert_int_equal(metric_get(&udp_port_counters(a)->send_failed), 2);
    assert_int_equal(metric_get(&udp_port_counters(a)->sent_datagrams), 2);
    assert_int_equal(metric_get(&udp_port_counters(a)->sent_bytes), 2001);
    udp_port_close(a);
    udp_port_close(b);
}

static void what_the_socket_buffer_loses_is_counted(void **state)
{
    (void)state;
    static uint8_t data[1400];
    struct udp_port *a = open_port("127.0.0.1:0");
    struct udp_port *b = open_port("127.0.0.1:0");
    const struct udp_arrival *received = NULL;
    for (int i = 0; i < 1000; i++) {
        send_bytes(a, b, data, sizeof(data));
    }
    while (udp_port_receive(b, &received) > 0) {
    }
    /* The kernel tells with the next datagram that fits. */
    send_bytes(a, b, data, 1);
    assert_int_equal(receive(b, &received), 1);
    const struct udp_port_counters *c = udp_port_counters(b);
    assert_true(metric_get(&c->kernel_dropped) > 0);
    assert_int_equal(metric_get(&c->received_datagrams) + metric_get(&c->kernel_dropped), 1001);
    udp_port_close(a);
    udp_port_close(b);
}

/* Each was a train: the kernel's number says nothing about how many datagrams were in it. */
static void the_kernel_counts_a_lost_train_as_one(void **state)
{
    (void)state;
    enum { TRAINS = 200 };
    static uint8_t data[UDP_TRAIN_PACKETS_MAX][100];
    struct udp_port *a = open_port("127.0.0.1:0");
    struct udp_port *b = open_port("127.0.0.1:0");
    struct udp_packet packet[UDP_TRAIN_PACKETS_MAX];
    const struct udp_arrival *received = NULL;
    for (size_t i = 0; i < COUNT_OF(packet); i++) {
        packet[i] = (struct udp_packet){.bytes = {data[i], 100, 100}, .to = udp_port_address(b)};
    }
    for (int i = 0; i < TRAINS; i++) {
        udp_port_send(a, packet, COUNT_OF(packet));
    }
    if (metric_get(&udp_port_trains(a)->trains) < TRAINS) {
        print_message("this kernel has no trains\n");
        skip();
    }
    while (udp_port_receive(b, &received) > 0) {
    }
    send_bytes(a, b, data[0], 1);
    assert_int_equal(receive(b, &received), 1);
    const struct udp_port_counters *c = udp_port_counters(b);
    const uint64_t heard = (metric_get(&c->received_datagrams) - 1) / COUNT_OF(packet);
    assert_int_equal(heard + metric_get(&c->kernel_dropped), TRAINS);
    assert_true(heard < TRAINS);
    udp_port_close(a);
    udp_port_close(b);
}

static void what_is_behind_the_longest_of_our_trains_is_counted(void **state)
{
    (void)state;
    enum { COUNT = UDP_TRAIN_DATAGRAMS + 3 };
    static const uint8_t crumbs[COUNT];
    const int one_byte = 1;
    struct udp_port *a = open_port("127.0.0.1:0");
    struct udp_port *b = open_port("127.0.0.1:0");
    const struct udp_arrival *received = NULL;
    struct sockaddr_storage name;
    const struct net_addr to = udp_port_address(b);
    const socklen_t name_len = net_addr_to_sockaddr(&to, &name);
    const int fd = udp_port_fd(a);
    assert_int_equal(setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &one_byte, sizeof(one_byte)), 0);
    if (sendto(fd, crumbs, COUNT, 0, (struct sockaddr *)&name, name_len) != COUNT) {
        print_message("this kernel sends no longer trains than ours\n");
        skip();
    }
    assert_int_equal(receive(b, &received), UDP_TRAIN_DATAGRAMS);
    const struct udp_port_counters *c = udp_port_counters(b);
    assert_int_equal(metric_get(&c->received_datagrams), UDP_TRAIN_DATAGRAMS);
    assert_int_equal(metric_get(&c->left_out), 3);
    udp_port_close(a);
    udp_port_close(b);
}

static void an_address_that_is_taken_is_named_in_the_fault(void **state)
{
    (void)state;
    struct udp_port *a = open_port("127.0.0.1:0");
    const struct net_addr taken = udp_port_address(a);
    char text[NET_ADDR_TEXT_CAP];
    char expected[FAULT_TEXT_CAP];
    struct fault fault = {0};
    assert_null(udp_port_open(&taken, BUFFER_BYTES, &fault));
    assert_int_equal(fault.code, FAULT_SYSTEM);
    (void)snprintf(expected, sizeof(expected),
                   "bind udp %s: Address already in use (another transceiver? change media_port)",
                   net_addr_format(&taken, text, sizeof(text)));
    assert_string_equal(fault.text, expected);
    udp_port_close(a);
    udp_port_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_arrives_with_its_sender),
        cmocka_unit_test(many_leave_at_once_and_come_in_bounded_batches_in_order),
        cmocka_unit_test(what_the_kernel_refuses_is_counted_and_the_rest_still_leaves),
        cmocka_unit_test(what_the_socket_buffer_loses_is_counted),
        cmocka_unit_test(the_kernel_counts_a_lost_train_as_one),
        cmocka_unit_test(what_is_behind_the_longest_of_our_trains_is_counted),
        cmocka_unit_test(an_address_that_is_taken_is_named_in_the_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
