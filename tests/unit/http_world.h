/* http_world.h - an http_server on loopback and its clients, in one thread
 *
 * world_turn takes what the server gives: a request is answered at once with its number, unless
 * the test holds it back.
 */
#ifndef EARSHOT_TESTS_HTTP_WORLD_H
#define EARSHOT_TESTS_HTTP_WORLD_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "services/signaling/http_server.h"
#include "tests/free_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORLD_PATIENCE_US (30 * US_PER_S)
#define WORLD_PATIENT_US  (100 * US_PER_S) /* times of a server that nobody is too slow for */

static struct {
    struct http_server_config config;
    struct http_server *http;
    bool is_holding;        /* requests are not answered by themselves */
    struct bytes_view body; /* of each answer; absent: its number */

    unsigned requests;
    unsigned ends;
    unsigned delivered;
    unsigned readables;
    uint64_t exchange; /* of the last request, until its end */
    const struct http_request *request;
    size_t tag; /* of the last readable descriptor */

    unsigned opened; /* sockets */
    unsigned closed;
    unsigned messages;
    uint64_t socket; /* the last that opened */
    size_t socket_tag;
    char text[512]; /* the beginning of the last message */
    size_t text_len;

    char answer[16384]; /* of the last world_read */
} world;

static inline struct sockaddr_in world_address(const char *ip, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, ip, &address.sin_addr), 1);
    return address;
}

static inline void world_open_with(const struct http_server_config *config)
{
    struct fault fault = {0};
    world.config = *config;
    world.http = http_server_create(&world.config, &fault);
    assert_non_null(world.http);
}

/* Small bounds, and the shortest times that libwebsockets can count. */
static inline int world_open(void **state)
{
    (void)state;
    char text[32];
    memset(&world, 0, sizeof(world));
    struct http_server_config config = {.connections_max = 8,
                                        .connections_per_address_max = 6,
                                        .requests_per_connection_max = 4,
                                        .watches_max = 2,
                                        .body_bytes_max = 1000,
                                        .header_timeout_us = US_PER_S,
                                        .request_timeout_us = 2 * US_PER_S,
                                        .idle_timeout_us = US_PER_S,
                                        .socket_ping_us = US_PER_S,
                                        .socket_hang_up_us = 2 * US_PER_S,
                                        .origins = {.is_any = true}};
    (void)snprintf(text, sizeof(text), "127.0.0.1:%u", free_port(SOCK_STREAM));
    assert_true(net_addr_parse(text, &config.listen));
    world_open_with(&config);
    return 0;
}

/* The same, but no time of the server's passes while a busy machine does something else. */
static inline int world_open_patient(void **state)
{
    (void)world_open(state);
    struct http_server_config config = world.config;
    config.header_timeout_us = WORLD_PATIENT_US;
    config.request_timeout_us = WORLD_PATIENT_US;
    config.idle_timeout_us = WORLD_PATIENT_US;
    http_server_destroy(world.http);
    world_open_with(&config);
    return 0;
}

static inline int world_close(void **state)
{
    (void)state;
    http_server_destroy(world.http);
    return 0;
}

static inline void world_answer(void)
{
    struct http_response r = {.status = 200, .body = world.body};
    if (world.body.len == 0) {
        char number[16];
        (void)snprintf(number, sizeof(number), "%u", world.requests);
        r = http_response_text(200, number);
    }
    http_server_answer(world.http, world.exchange, &r);
}

static inline void world_turn(void)
{
    struct http_event event;
    http_server_wait(world.http, clock_now_us() + 2 * US_PER_MS);
    while (http_server_take(world.http, &event)) {
        switch (event.kind) {
        case HTTP_EVENT_REQUEST:
            world.requests++;
            world.exchange = event.exchange;
            world.request = event.request;
            if (!world.is_holding) {
                world_answer();
            }
            break;
        case HTTP_EVENT_END:
            world.ends++;
            world.delivered += event.is_delivered;
            break;
        case HTTP_EVENT_READABLE:
            world.readables++;
            world.tag = event.tag;
            break;
        case HTTP_EVENT_SOCKET_OPEN:
            world.opened++;
            world.socket = event.socket;
            world.socket_tag = event.tag;
            break;
        case HTTP_EVENT_SOCKET_MESSAGE:
            assert_int_equal(event.socket, world.socket);
            world.messages++;
            world.text_len = event.text.len;
            memcpy(world.text, event.text.data,
                   event.text.len < sizeof(world.text) ? event.text.len : sizeof(world.text));
            break;
        case HTTP_EVENT_SOCKET_END:
            assert_int_equal(event.tag, world.socket_tag);
            world.closed++;
            break;
        }
    }
}

#define WORLD_UNTIL(condition)                                                                     \
    do {                                                                                           \
        const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;                            \
        while (!(condition)) {                                                                     \
            assert_true(clock_now_us() < give_up_us);                                              \
            world_turn();                                                                          \
        }                                                                                          \
    } while (0)

static inline void world_turns(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        world_turn();
    }
}

/* --- clients ---------------------------------------------------------------------------------- */

static inline int world_connect_from(const char *ip)
{
    const struct sockaddr_in from = world_address(ip, 0);
    const struct sockaddr_in to = world_address("127.0.0.1", world.config.listen.port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static inline void world_send_bytes(int fd, const char *text, size_t len)
{
    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

static inline void world_send(int fd, const char *text)
{
    world_send_bytes(fd, text, strlen(text));
}

static inline int world_connect(const char *text)
{
    const int fd = world_connect_from("127.0.0.1");
    world_send(fd, text);
    return fd;
}

/* What has come by the time that it holds `enough`, or by the end of the connection. */
static inline const char *world_read(int fd, const char *enough)
{
    size_t len = 0;
    ssize_t got = -1;
    world.answer[0] = '\0';
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    while (got != 0 && (enough == NULL || strstr(world.answer, enough) == NULL)) {
        assert_true(clock_now_us() < give_up_us);
        world_turn();
        got = recv(fd, world.answer + len, sizeof(world.answer) - 1 - len, MSG_DONTWAIT);
        assert_true(got >= 0 || errno == EAGAIN || errno == ECONNRESET);
        if (got < 0 && errno == ECONNRESET) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
        world.answer[len] = '\0';
    }
    return world.answer;
}

/* All that the server says to these bytes, until it closes. */
static inline const char *world_ask(const char *text)
{
    const int fd = world_connect(text);
    (void)world_read(fd, NULL);
    (void)close(fd);
    return world.answer;
}

static inline bool world_answer_has(unsigned status, const char *text)
{
    char start[32];
    (void)snprintf(start, sizeof(start), "HTTP/1.1 %u ", status);
    const bool is_good =
        strncmp(world.answer, start, strlen(start)) == 0 && strstr(world.answer, text) != NULL;
    if (!is_good) {
        print_error("wanted %u with %s, got: %s\n", status, text, world.answer);
    }
    return is_good;
}

/* How long until the server closes, while it says nothing. */
static inline uint64_t world_silence_us(int fd)
{
    const uint64_t began_us = clock_now_us();
    assert_string_equal(world_read(fd, NULL), "");
    (void)close(fd);
    return clock_now_us() - began_us;
}

/* What has to happen within a time that can not be changed may be late on a busy machine, though
 * not each time. Each attempt has a server of its own. */
static inline void world_attempt(bool (*is_in_time)(void), int (*open)(void **state))
{
    for (unsigned attempts = 1; !is_in_time(); attempts++) {
        assert_true(attempts < 20);
        (void)world_close(NULL);
        (void)open(NULL);
    }
}

#define WORLD_GET        "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

#endif
