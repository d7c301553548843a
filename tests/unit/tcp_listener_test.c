/* tcp_listener_test.c - what a connection inherits from the socket that it came to */
#include "tests/testing.h"

#include "services/relay/tcp_listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

struct pair {
    int listen_fd;
    int client_fd;
    int accepted_fd;
};

static struct net_addr addr(const char *text)
{
    struct net_addr a;
    if (!net_addr_parse(text, &a)) {
        fail_msg("%s is no address", text);
    }
    return a;
}

static int open_at(struct net_addr *address)
{
    struct fault fault = {0};
    const int fd = tcp_listener_open(address, &fault);
    if (fd < 0) {
        fail_msg("%s", fault.text);
    }
    return fd;
}

static int connect_to(const struct net_addr *address)
{
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(address, &to);
    const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, to_len), 0);
    return fd;
}

static struct pair pair_open(void)
{
    struct net_addr address = addr("127.0.0.1:0");
    struct pair p = {.listen_fd = open_at(&address)};
    struct net_addr client;
    assert_int_not_equal(address.port, 0);
    assert_int_equal(tcp_listener_accept(p.listen_fd, &p.accepted_fd, &client), TCP_ARRIVAL_NONE);
    p.client_fd = connect_to(&address);
    assert_int_equal(tcp_listener_accept(p.listen_fd, &p.accepted_fd, &client), TCP_ARRIVAL_CLIENT);
    assert_true(net_addr_is_loopback(&client));
    return p;
}

static void pair_close(struct pair *p)
{
    (void)close(p->listen_fd);
    (void)close(p->client_fd);
    (void)close(p->accepted_fd);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void a_connection_has_what_its_listening_socket_had(void **state)
{
    (void)state;
    struct pair p = pair_open();
    struct linger linger = {0};
    socklen_t len = sizeof(linger);
    assert_int_equal(option(p.accepted_fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option(p.accepted_fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 10000);
    assert_int_equal(option(p.accepted_fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 16384);
    assert_int_equal(getsockopt(p.accepted_fd, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
    assert_int_equal(linger.l_onoff, 1);
    assert_int_equal(linger.l_linger, 0);
    pair_close(&p);
}

static void a_connection_does_not_block_and_ends_by_reset(void **state)
{
    (void)state;
    struct pair p = pair_open();
    char byte = 0;
    assert_int_equal(recv(p.accepted_fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    (void)close(p.accepted_fd);
    assert_int_equal(recv(p.client_fd, &byte, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    (void)close(p.listen_fd);
    (void)close(p.client_fd);
}

/* Behind a listening socket that takes IPv4 too an address would have two forms. */
static void an_ipv6_address_takes_no_ipv4(void **state)
{
    (void)state;
    struct net_addr any = addr("[::]:0");
    const int fd = open_at(&any);
    struct net_addr ipv4 = addr("127.0.0.1:0");
    ipv4.port = any.port;
    const int same_port = open_at(&ipv4);
    (void)close(same_port);
    (void)close(fd);
}

static void a_taken_address_is_named(void **state)
{
    (void)state;
    struct net_addr address = addr("127.0.0.1:0");
    const int fd = open_at(&address);
    struct fault fault = {0};
    assert_int_equal(tcp_listener_open(&address, &fault), -1);
    assert_non_null(strstr(fault.text, "listen tcp 127.0.0.1:"));
    assert_non_null(strstr(fault.text, "Address already in use"));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_has_what_its_listening_socket_had),
        cmocka_unit_test(a_connection_does_not_block_and_ends_by_reset),
        cmocka_unit_test(an_ipv6_address_takes_no_ipv4),
        cmocka_unit_test(a_taken_address_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
