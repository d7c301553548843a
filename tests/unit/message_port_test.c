/* message_port_test.c - messages over loopback TCP: bounds, resends, and descriptors that tell */
#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "common/runtime/message_port.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 5000

static char url[64];

/* A port that the kernel just gave out and took back: free for the next moment. */
static int choose_url(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return -1;
    }
    (void)close(fd);
    (void)snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
    return 0;
}

static struct message_port *open_port(enum message_port_kind kind, bool listens)
{
    struct fault fault = {0};
    struct message_port *p = message_port_open(kind, &fault);
    assert_non_null(p);
    assert_true(kind != MESSAGE_PORT_SUB || message_port_subscribe(p, (struct bytes_view){0}));
    if (listens) {
        assert_true(message_port_listen(p, url, &fault));
    } else {
        assert_true(message_port_dial(p, url, &fault));
    }
    return p;
}

static bool is_readable(const struct message_port *p, int timeout_ms)
{
    struct pollfd fd = {.fd = message_port_receive_fd(p), .events = POLLIN};
    return poll(&fd, 1, timeout_ms) == 1;
}

/* Waits for a message as a service does: on the descriptor. */
static struct bytes_view expect_message(struct message_port *p)
{
    struct bytes_view message = {0};
    for (int tries = 0; tries < 100; tries++) {
        assert_true(is_readable(p, PATIENCE_MS));
        if (message_port_receive(p, &message)) {
            return message;
        }
    }
    fail();
    return message;
}

static void assert_text(struct bytes_view message, const char *text)
{
    assert_int_equal(message.len, strlen(text));
    assert_memory_equal(message.data, text, message.len);
}

/* Publishes until the subscriber has it: a publisher never knows whether anybody is there yet. */
static void publish_until_heard(struct message_port *pub, struct message_port *sub,
                                const char *text)
{
    struct bytes_view message = {0};
    for (int tries = 0; tries < PATIENCE_MS / 10; tries++) {
        assert_true(message_port_send(pub, bytes_view_of_text(text)));
        if (is_readable(sub, 10) && message_port_receive(sub, &message)) {
            assert_text(message, text);
            while (is_readable(sub, 50) && message_port_receive(sub, &message)) {
                assert_text(message, text);
            }
            return;
        }
    }
    fail_msg("%s was never heard", text);
}

static bool send_when_connected(struct message_port *p, struct bytes_view message)
{
    for (int tries = 0; tries < PATIENCE_MS / 10; tries++) {
        if (message_port_send(p, message)) {
            return true;
        }
        (void)poll(NULL, 0, 10);
    }
    return false;
}

static void a_subscriber_hears_what_is_published(void **state)
{
    (void)state;
    struct message_port *sub = open_port(MESSAGE_PORT_SUB, true);
    struct message_port *pub = open_port(MESSAGE_PORT_PUB, false);
    publish_until_heard(pub, sub, "here I am");
    message_port_close(pub);
    message_port_close(sub);
}

static void the_descriptor_is_readable_only_while_a_message_waits(void **state)
{
    (void)state;
    struct message_port *sub = open_port(MESSAGE_PORT_SUB, true);
    struct message_port *pub = open_port(MESSAGE_PORT_PUB, false);
    struct bytes_view message;
    assert_false(is_readable(sub, 0));
    assert_false(message_port_receive(sub, &message));
    publish_until_heard(pub, sub, "first");
    assert_true(message_port_send(pub, bytes_view_of_text("second")));
    assert_true(message_port_send(pub, bytes_view_of_text("third")));
    assert_text(expect_message(sub), "second");
    assert_text(expect_message(sub), "third");
    assert_false(is_readable(sub, 50));
    message_port_close(pub);
    message_port_close(sub);
}

static void a_request_gets_its_reply(void **state)
{
    (void)state;
    struct message_port *rep = open_port(MESSAGE_PORT_REP, true);
    struct message_port *req = open_port(MESSAGE_PORT_REQ, false);
    for (int i = 0; i < 3; i++) {
        assert_true(send_when_connected(req, bytes_view_of_text("question")));
        assert_text(expect_message(rep), "question");
        assert_true(message_port_send(rep, bytes_view_of_text("answer")));
        assert_text(expect_message(req), "answer");
    }
    message_port_close(req);
    message_port_close(rep);
}

static void a_request_is_sent_again_when_its_replier_restarts(void **state)
{
    (void)state;
    struct message_port *rep = open_port(MESSAGE_PORT_REP, true);
    struct message_port *req = open_port(MESSAGE_PORT_REQ, false);
    assert_true(send_when_connected(req, bytes_view_of_text("question")));
    assert_text(expect_message(rep), "question");
    message_port_close(rep); /* took the request to its grave */
    rep = open_port(MESSAGE_PORT_REP, true);
    assert_text(expect_message(rep), "question");
    assert_true(message_port_send(rep, bytes_view_of_text("answer")));
    assert_text(expect_message(req), "answer");
    message_port_close(req);
    message_port_close(rep);
}

static void an_unanswered_request_is_sent_again_within_a_second(void **state)
{
    (void)state;
    struct message_port *rep = open_port(MESSAGE_PORT_REP, true);
    struct message_port *req = open_port(MESSAGE_PORT_REQ, false);
    assert_true(send_when_connected(req, bytes_view_of_text("question")));
    assert_text(expect_message(rep), "question");
    assert_true(is_readable(rep, 1000)); /* NNG's own default would be a minute */
    assert_text(expect_message(rep), "question");
    message_port_close(req);
    message_port_close(rep);
}

static void a_request_without_a_peer_is_refused_at_once(void **state)
{
    (void)state;
    struct message_port *req = open_port(MESSAGE_PORT_REQ, false);
    assert_false(message_port_send(req, bytes_view_of_text("anybody?")));
    message_port_close(req);
}

static void the_largest_message_passes_and_one_byte_more_is_not_sent(void **state)
{
    (void)state;
    struct message_port *rep = open_port(MESSAGE_PORT_REP, true);
    struct message_port *req = open_port(MESSAGE_PORT_REQ, false);
    uint8_t *large = calloc(1, MESSAGE_PORT_BYTES_MAX + 1);
    assert_non_null(large);
    assert_true(send_when_connected(req, bytes_view_of(large, MESSAGE_PORT_BYTES_MAX)));
    assert_int_equal(expect_message(rep).len, MESSAGE_PORT_BYTES_MAX);
    assert_false(message_port_send(rep, bytes_view_of(large, MESSAGE_PORT_BYTES_MAX + 1)));
    free(large);
    message_port_close(req);
    message_port_close(rep);
}

/* What a stranger on the internal plane can do: NNG's TCP handshake, then a length by itself. */
static int connect_as_publisher(void)
{
    static const uint8_t hello[8] = {0, 'S', 'P', 0, 0, 0x20, 0, 0}; /* protocol 0x20: pub0 */
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    uint8_t answer[8];
    assert_int_equal(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
    assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
    return fd;
}

static bool is_hung_up(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    uint8_t byte;
    return poll(&poll_fd, 1, PATIENCE_MS) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

static void a_length_above_the_limit_costs_its_sender_the_connection_and_nobody_else(void **state)
{
    (void)state;
    struct message_port *sub = open_port(MESSAGE_PORT_SUB, true);
    struct message_port *pub = open_port(MESSAGE_PORT_PUB, false);
    publish_until_heard(pub, sub, "before");
    const int fd = connect_as_publisher();
    static const uint8_t length[8] = {0, 0, 0, 0, 0, 6, 0, 1}; /* 393,217 */
    assert_int_equal(send(fd, length, sizeof(length), MSG_NOSIGNAL), sizeof(length));
    assert_true(is_hung_up(fd));
    (void)close(fd);
    publish_until_heard(pub, sub, "after");
    message_port_close(pub);
    message_port_close(sub);
}

static void a_topic_is_heard_while_it_is_subscribed_and_no_other(void **state)
{
    (void)state;
    struct message_port *sub = open_port(MESSAGE_PORT_SUB, true);
    struct message_port *pub = open_port(MESSAGE_PORT_PUB, false);
    message_port_unsubscribe(sub, (struct bytes_view){0});
    assert_true(message_port_subscribe(sub, bytes_view_of_text("a:")));
    publish_until_heard(pub, sub, "a:first");
    assert_true(message_port_send(pub, bytes_view_of_text("b:nobody")));
    assert_true(message_port_send(pub, bytes_view_of_text("a:second")));
    assert_text(expect_message(sub), "a:second");
    assert_true(message_port_subscribe(sub, bytes_view_of_text("b:")));
    message_port_unsubscribe(sub, bytes_view_of_text("a:"));
    assert_true(message_port_send(pub, bytes_view_of_text("a:nobody")));
    assert_true(message_port_send(pub, bytes_view_of_text("b:third")));
    assert_text(expect_message(sub), "b:third");
    message_port_close(pub);
    message_port_close(sub);
}

static void wait_for_connections(const struct message_port *p, int count)
{
    const uint64_t until_us = clock_now_us() + PATIENCE_MS * UINT64_C(1000);
    while (message_port_connections(p) != count) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
}

static void connections_are_counted_as_they_come_and_go(void **state)
{
    (void)state;
    struct message_port *sub = open_port(MESSAGE_PORT_SUB, true);
    assert_int_equal(message_port_connections(sub), 0);
    struct message_port *pub = open_port(MESSAGE_PORT_PUB, false);
    wait_for_connections(sub, 1);
    wait_for_connections(pub, 1);
    message_port_close(pub);
    wait_for_connections(sub, 0);
    message_port_close(sub);
}

static void a_fault_names_the_url(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct message_port *first = open_port(MESSAGE_PORT_SUB, true);
    struct message_port *second = message_port_open(MESSAGE_PORT_SUB, &fault);
    assert_non_null(second);
    assert_false(message_port_listen(second, url, &fault));
    assert_non_null(strstr(fault.text, url));
    assert_false(message_port_dial(second, "tcp:/nowhere", &fault));
    assert_non_null(strstr(fault.text, "tcp:/nowhere"));
    message_port_close(second);
    message_port_close(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_subscriber_hears_what_is_published, choose_url),
        cmocka_unit_test_setup(the_descriptor_is_readable_only_while_a_message_waits, choose_url),
        cmocka_unit_test_setup(a_request_gets_its_reply, choose_url),
        cmocka_unit_test_setup(a_request_is_sent_again_when_its_replier_restarts, choose_url),
        cmocka_unit_test_setup(an_unanswered_request_is_sent_again_within_a_second, choose_url),
        cmocka_unit_test_setup(a_request_without_a_peer_is_refused_at_once, choose_url),
        cmocka_unit_test_setup(the_largest_message_passes_and_one_byte_more_is_not_sent,
                               choose_url),
        cmocka_unit_test_setup(
            a_length_above_the_limit_costs_its_sender_the_connection_and_nobody_else, choose_url),
        cmocka_unit_test_setup(a_topic_is_heard_while_it_is_subscribed_and_no_other, choose_url),
        cmocka_unit_test_setup(connections_are_counted_as_they_come_and_go, choose_url),
        cmocka_unit_test_setup(a_fault_names_the_url, choose_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
