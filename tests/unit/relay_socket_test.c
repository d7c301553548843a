/* relay_socket_test.c - shared among workers, never with a stranger */
#include "tests/testing.h"

#include "services/relay/relay_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static struct net_addr free_address(const char *text)
{
    struct net_addr address;
    struct fault fault = {0};
    assert_true(net_addr_parse(text, &address));
    if (!relay_socket_probe(&address, &fault)) {
        fail_msg("%s", fault.text);
    }
    assert_int_not_equal(address.port, 0);
    return address;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void workers_share_a_public_address(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int first = relay_socket_open_public(&address, 1 << 20, &fault);
    const int second = relay_socket_open_public(&address, 1 << 20, &fault);
    assert_true(first >= 0 && second >= 0);
    (void)close(first);
    (void)close(second);
}

static void a_datagram_to_a_client_is_not_fragmented(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int fd = relay_socket_open_public(&address, 1 << 20, &fault);
    assert_int_equal(option(fd, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_PROBE);
    const int want = IP_PMTUDISC_WANT; /* as one that an older relay left */
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &want, sizeof(want)), 0);
    assert_true(relay_socket_adopt_public(fd, &address, 1 << 20));
    assert_int_equal(option(fd, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_PROBE);
    (void)close(fd);
}

static void a_probe_finds_a_stranger_that_would_share_the_port(void **state)
{
    (void)state;
    struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int stranger = relay_socket_open_public(&address, 0, &fault);
    assert_true(stranger >= 0);
    assert_false(relay_socket_probe(&address, &fault));
    char expected[NET_ADDR_TEXT_CAP];
    assert_non_null(strstr(fault.text, net_addr_format(&address, expected, sizeof(expected))));
    assert_non_null(strstr(fault.text, "Address already in use"));
    (void)close(stranger);
    assert_true(relay_socket_probe(&address, &fault));
}

static void an_internal_port_has_one_owner(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int first = relay_socket_open_internal(&address, 1 << 20, &fault);
    assert_true(first >= 0);
    assert_int_equal(relay_socket_open_internal(&address, 1 << 20, &fault), -1);
    assert_int_equal(option(first, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DONT);
    (void)close(first);
}

static void only_a_socket_of_the_same_kind_and_address_is_adopted(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    const struct net_addr other = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int shared = relay_socket_open_public(&address, 1 << 16, &fault);
    const int alone = relay_socket_open_internal(&other, 1 << 16, &fault);
    const int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    const struct {
        int fd;
        const struct net_addr *address;
        bool is_public;
        bool is_internal;
    } row[] = {
        {shared, &address, true, false},  {alone, &other, false, true},
        {shared, &other, false, false},   {alone, &address, false, false},
        {stream, &address, false, false}, {pipe_fd[0], &address, false, false},
        {-1, &address, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_int_equal(relay_socket_adopt_public(row[i].fd, row[i].address, 1 << 16),
                         row[i].is_public);
        assert_int_equal(relay_socket_adopt_internal(row[i].fd, row[i].address, 1 << 16),
                         row[i].is_internal);
    }
    (void)close(shared);
    (void)close(alone);
    (void)close(stream);
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
}

static void an_adopted_socket_has_the_buffers_of_today(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int fd = relay_socket_open_public(&address, 1 << 16, &fault);
    assert_true(relay_socket_adopt_public(fd, &address, 1 << 17));
    assert_int_equal(relay_socket_buffers(fd).receive_bytes, 1 << 17);
    (void)close(fd);
}

static void ipv6_takes_no_ipv4(void **state)
{
    (void)state;
    const struct net_addr v6 = free_address("[::1]:0");
    struct fault fault = {0};
    const int fd = relay_socket_open_public(&v6, 1 << 20, &fault);
    assert_true(fd >= 0);
    assert_int_equal(option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    (void)close(fd);
    const int internal = relay_socket_open_internal(&v6, 1 << 20, &fault);
    assert_int_equal(option(internal, IPPROTO_IPV6, IPV6_MTU_DISCOVER), IPV6_PMTUDISC_DONT);
    (void)close(internal);
}

static void what_was_granted_is_told(void **state)
{
    (void)state;
    const struct net_addr address = free_address("127.0.0.1:0");
    struct fault fault = {0};
    const int fd = relay_socket_open_public(&address, 65536, &fault);
    const struct relay_socket_buffers granted = relay_socket_buffers(fd);
    assert_int_equal(granted.receive_bytes, 65536);
    assert_int_equal(granted.send_bytes, 65536);
    (void)close(fd);
}

static void buffers_are_small_when_less_was_granted_than_asked(void **state)
{
    (void)state;
    static const struct {
        size_t receive_bytes;
        size_t send_bytes;
        size_t asked_bytes;
        bool is_small;
    } table[] = {
        {4 << 20, 4 << 20, 8 << 20, true}, /* without CAP_NET_ADMIN */
        {65536, 65536, 65536, false},      /* little was asked */
        {65536, 65535, 65536, true},
        {65535, 65536, 65536, true},
        {(1u << 30) - 1, (1u << 30) - 1, 1u << 30, false}, /* all that the kernel can say */
        {(1u << 30) - 2, (1u << 30) - 1, 1u << 30, true},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct relay_socket_buffers granted = {.receive_bytes = table[i].receive_bytes,
                                                     .send_bytes = table[i].send_bytes};
        assert_int_equal(relay_socket_buffers_are_small(&granted, table[i].asked_bytes),
                         table[i].is_small);
    }
}

static void an_address_of_another_host_is_refused(void **state)
{
    (void)state;
    struct net_addr elsewhere;
    struct fault fault = {0};
    assert_true(net_addr_parse("192.0.2.1:3478", &elsewhere));
    assert_false(relay_socket_probe(&elsewhere, &fault));
    assert_string_equal(fault.text, "bind udp 192.0.2.1:3478: Cannot assign requested address "
                                    "(no address of this machine: ip addr lists them)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_share_a_public_address),
        cmocka_unit_test(a_datagram_to_a_client_is_not_fragmented),
        cmocka_unit_test(a_probe_finds_a_stranger_that_would_share_the_port),
        cmocka_unit_test(an_internal_port_has_one_owner),
        cmocka_unit_test(only_a_socket_of_the_same_kind_and_address_is_adopted),
        cmocka_unit_test(an_adopted_socket_has_the_buffers_of_today),
        cmocka_unit_test(ipv6_takes_no_ipv4),
        cmocka_unit_test(what_was_granted_is_told),
        cmocka_unit_test(buffers_are_small_when_less_was_granted_than_asked),
        cmocka_unit_test(an_address_of_another_host_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
