/* session_client_test.c - one request at a time, and an outcome for each, over loopback TCP */
#include "tests/testing.h"

#include "services/signaling/session_client.h"

#include "common/runtime/clock.h"
#include "common/runtime/message_port.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define INSTANCE_ID 0x5eed0001
#define PATIENCE_MS 5000

static struct {
    char url[64];
    struct message_port *transceiver;
    struct session_client *client;
    struct control_decoder *decoder;
    struct control_decoder *transceiver_decoder;
    uint64_t skipped_us; /* time that passed only in the client's eyes */
    uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
} fixture;

static uint64_t now(void)
{
    return clock_now_us() + fixture.skipped_us;
}

static int open_fixture(void **state)
{
    (void)state;
    struct fault fault;
    fixture.skipped_us = 0;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        return -1;
    }
    (void)close(fd);
    (void)snprintf(fixture.url, sizeof(fixture.url), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
    fixture.decoder = control_decoder_create();
    fixture.transceiver_decoder = control_decoder_create();
    fixture.transceiver = message_port_open(MESSAGE_PORT_REP, &fault);
    fixture.client = session_client_create(INSTANCE_ID, fixture.url, &fault);
    return fixture.client != NULL && fixture.transceiver != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    session_client_destroy(fixture.client);
    message_port_close(fixture.transceiver);
    control_decoder_destroy(fixture.decoder);
    control_decoder_destroy(fixture.transceiver_decoder);
    return 0;
}

static void start_transceiver(void)
{
    struct fault fault;
    assert_true(message_port_listen(fixture.transceiver, fixture.url, &fault));
}

typedef bool (*submitter)(struct session_client *c, uint64_t ticket,
                          const struct control_request *request, uint64_t deadline_us);

/* A request whose id is its ticket, with this patience. */
static bool submit_by(submitter by, uint64_t ticket, uint64_t patience_us)
{
    struct control_request request = {.kind = CONTROL_END_SESSION};
    memcpy(request.request_id, &ticket, sizeof(ticket));
    (void)snprintf(request.body.end_session.call.call_id,
                   sizeof(request.body.end_session.call.call_id), "call %llu",
                   (unsigned long long)ticket);
    return by(fixture.client, ticket, &request, now() + patience_us);
}

static bool submit(uint64_t ticket, uint64_t patience_us)
{
    return submit_by(session_client_submit, ticket, patience_us);
}

static bool submit_operation(uint64_t ticket, uint64_t patience_us)
{
    return submit_by(session_client_submit_operation, ticket, patience_us);
}

static void wait_readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    (void)poll(&poll_fd, 1, timeout_ms);
}

static struct session_outcome expect_outcome(void)
{
    struct session_outcome out = {0};
    const uint64_t give_up_us = now() + PATIENCE_MS * US_PER_MS;
    while (!session_client_next(fixture.client, fixture.decoder, &out, now())) {
        assert_true(now() < give_up_us);
        wait_readable(session_client_fd(fixture.client), 5);
    }
    assert_int_equal(out.instance_id, INSTANCE_ID);
    return out;
}

static void expect_nothing_more(void)
{
    struct session_outcome out;
    assert_false(session_client_next(fixture.client, fixture.decoder, &out, now()));
}

/* What the transceiver hears next, while the client does its part; 0: nothing. */
static uint64_t hear_request(void)
{
    struct bytes_view message;
    struct control_request request;
    struct session_outcome out;
    const uint64_t give_up_us = now() + PATIENCE_MS * US_PER_MS;
    while (!message_port_receive(fixture.transceiver, &message)) {
        assert_true(now() < give_up_us);
        assert_false(session_client_next(fixture.client, fixture.decoder, &out, now()));
        wait_readable(message_port_receive_fd(fixture.transceiver), 5);
    }
    assert_true(control_decode_request(fixture.transceiver_decoder, message, &request));
    uint64_t ticket;
    memcpy(&ticket, request.request_id, sizeof(ticket));
    return ticket;
}

static void reply_to(uint64_t ticket, enum control_refusal refusal)
{
    struct control_reply reply = {.kind = CONTROL_END_SESSION, .refusal = refusal};
    memcpy(reply.request_id, &ticket, sizeof(ticket));
    const size_t len = control_encode_reply(
        &reply, (struct bytes_span){.data = fixture.message, .cap = sizeof(fixture.message)});
    assert_true(message_port_send(fixture.transceiver, bytes_view_of(fixture.message, len)));
}

static void requests_wait_for_the_one_before_and_keep_their_order(void **state)
{
    (void)state;
    start_transceiver();
    assert_true(session_client_is_idle(fixture.client));
    for (uint64_t ticket = 1; ticket <= 3; ticket++) {
        assert_true(submit(ticket, 5 * US_PER_S));
    }
    for (uint64_t ticket = 1; ticket <= 3; ticket++) {
        assert_int_equal(hear_request(), ticket);
        struct bytes_view message;
        assert_false(message_port_receive(fixture.transceiver, &message)); /* one at a time */
        reply_to(ticket, ticket == 2 ? CONTROL_NOT_FOUND : CONTROL_REFUSAL_NONE);
        const struct session_outcome out = expect_outcome();
        assert_int_equal(out.ticket, ticket);
        assert_int_equal(out.kind, SESSION_REPLIED);
        assert_int_equal(out.reply.refusal, ticket == 2 ? CONTROL_NOT_FOUND : CONTROL_REFUSAL_NONE);
    }
    expect_nothing_more();
    assert_true(session_client_is_idle(fixture.client));
}

static void a_transceiver_that_is_not_there_leaves_a_request_unsent(void **state)
{
    (void)state;
    assert_true(submit(1, 50 * US_PER_MS));
    const struct session_outcome out = expect_outcome();
    assert_int_equal(out.ticket, 1);
    assert_int_equal(out.kind, SESSION_UNSENT);
    assert_true(session_client_is_idle(fixture.client));
}

static void a_request_waits_until_the_transceiver_is_there(void **state)
{
    (void)state;
    struct session_outcome out;
    assert_true(submit(1, 5 * US_PER_S));
    assert_false(session_client_next(fixture.client, fixture.decoder, &out, now()));
    start_transceiver();
    assert_int_equal(hear_request(), 1);
}

static void a_late_reply_is_not_the_next_ones(void **state)
{
    (void)state;
    start_transceiver();
    assert_true(submit(1, 60 * US_PER_S));
    assert_int_equal(hear_request(), 1);
    assert_true(submit(2, 600 * US_PER_S));
    fixture.skipped_us = 60 * US_PER_S;
    struct session_outcome out = expect_outcome();
    assert_int_equal(out.ticket, 1);
    assert_int_equal(out.kind, SESSION_SILENT);
    expect_nothing_more(); /* but the second one is on its way */
    reply_to(1, CONTROL_INTERNAL);
    assert_int_equal(hear_request(), 2);
    reply_to(2, CONTROL_REFUSAL_NONE);
    out = expect_outcome();
    assert_int_equal(out.ticket, 2);
    assert_int_equal(out.kind, SESSION_REPLIED);
    assert_int_equal(out.reply.refusal, CONTROL_REFUSAL_NONE);
}

static void a_full_queue_refuses_and_loses_nobody(void **state)
{
    (void)state;
    for (uint64_t ticket = 1; ticket <= SESSION_CLIENT_QUEUE_MAX; ticket++) {
        assert_true(submit(ticket, 50 * US_PER_MS));
    }
    assert_false(submit(1000, 50 * US_PER_MS));
    for (uint64_t ticket = 1; ticket <= SESSION_CLIENT_QUEUE_MAX; ticket++) {
        assert_int_equal(expect_outcome().ticket, ticket);
    }
    expect_nothing_more();
    assert_true(submit(1001, 50 * US_PER_MS));
}

static void operations_have_a_quarter_of_the_queue_and_offers_the_rest(void **state)
{
    (void)state;
    uint64_t ticket = 0;
    while (ticket < SESSION_CLIENT_OPERATIONS_MAX) {
        assert_true(submit_operation(++ticket, 50 * US_PER_MS));
    }
    assert_int_equal(ticket, SESSION_CLIENT_QUEUE_MAX / 4);
    assert_false(submit_operation(1000, 50 * US_PER_MS));
    while (ticket < SESSION_CLIENT_QUEUE_MAX) {
        assert_true(submit(++ticket, 50 * US_PER_MS));
    }
    assert_false(submit(1000, 50 * US_PER_MS));
    assert_int_equal(expect_outcome().ticket, 1);
    assert_true(submit_operation(++ticket, 50 * US_PER_MS)); /* the first one's place */
    assert_false(submit_operation(1000, 50 * US_PER_MS));
    for (uint64_t next = 2; next <= ticket; next++) {
        assert_int_equal(expect_outcome().ticket, next);
    }
    assert_true(submit_operation(1001, 50 * US_PER_MS));
}

static void the_next_timeout_is_when_something_is_due(void **state)
{
    (void)state;
    assert_int_equal(session_client_next_timeout(fixture.client), TIME_NEVER);
    assert_true(submit(1, 5 * US_PER_S));
    assert_true(session_client_next_timeout(fixture.client) <= now());
    expect_nothing_more(); /* nobody is there: it tries again soon */
    const uint64_t again_us = session_client_next_timeout(fixture.client);
    assert_true(again_us > now() && again_us < now() + US_PER_S);
}

static void only_tcp_is_dialled(void **state)
{
    (void)state;
    static const char *const url[] = {
        "", "ipc:///tmp/x", "inproc://x", "ws://127.0.0.1:1", "127.0.0.1:7001", "tcp://"};
    for (size_t i = 0; i < COUNT_OF(url); i++) {
        struct fault fault = {0};
        assert_null(session_client_create(1, url[i], &fault));
        assert_int_not_equal(fault.code, FAULT_NONE);
    }
}

#define CLIENT_TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(requests_wait_for_the_one_before_and_keep_their_order),
        CLIENT_TEST(a_transceiver_that_is_not_there_leaves_a_request_unsent),
        CLIENT_TEST(a_request_waits_until_the_transceiver_is_there),
        CLIENT_TEST(a_late_reply_is_not_the_next_ones),
        CLIENT_TEST(a_full_queue_refuses_and_loses_nobody),
        CLIENT_TEST(operations_have_a_quarter_of_the_queue_and_offers_the_rest),
        CLIENT_TEST(the_next_timeout_is_when_something_is_due),
        CLIENT_TEST(only_tcp_is_dialled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
