/* admin_http_test.c - operators get their answers; slow, many and wrong clients get an end */
#include "tests/testing.h"

#include "common/base/time_us.h"
#include "common/runtime/admin_http.h"
#include "common/runtime/clock.h"
#include "common/runtime/process.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define ATTEMPTS    10 /* of what a busy machine may make late, though not each time */

static struct net_addr address;
static char address_text[NET_ADDR_TEXT_CAP];
static metric_value *loop_beat[2];
static metric_value *condition[2];
static metric_value big_samples;

static void print_big(struct metrics_text *t, void *context)
{
    (void)context;
    metrics_family(t, "earshot_test_big", METRIC_GAUGE, "Makes a long answer.");
    for (size_t i = 0; i < metric_get(&big_samples); i++) {
        char labels[32];
        (void)snprintf(labels, sizeof(labels), "i=\"%zu\"", i);
        metrics_sample_u64(t, labels, i);
    }
}

/* A port that was free a moment ago. */
static void choose_address(void)
{
    assert_true(net_addr_parse("127.0.0.1:0", &address));
    struct sockaddr_storage at;
    socklen_t at_len = net_addr_to_sockaddr(&address, &at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, at_len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &at_len), 0);
    assert_true(net_addr_from_sockaddr(&at, &address));
    (void)close(fd);
    (void)net_addr_format(&address, address_text, sizeof(address_text));
}

static int start(void **state)
{
    (void)state;
    choose_address();
    loop_beat[0] = admin_http_add_loop("worker 0");
    loop_beat[1] = admin_http_add_loop("worker 1");
    condition[0] = admin_http_add_condition("sockets");
    condition[1] = admin_http_add_condition("key_ring");
    metrics_add_source(print_big, NULL);
    struct fault fault = {0};
    if (!admin_http_start("relay", &address, &fault)) {
        (void)fprintf(stderr, "%s\n", fault.text);
        return 1;
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    admin_http_stop();
    return 0;
}

/* Each test begins alive, for as long as it may take, and ready. */
static int be_well(void **state)
{
    (void)state;
    metric_set(&big_samples, 0);
    for (size_t i = 0; i < 2; i++) {
        metric_set(loop_beat[i], clock_now_us() + PATIENCE_MS * US_PER_MS);
        metric_set(condition[i], 1);
    }
    return 0;
}

/* A narrow client has a small window and small segments, so that the server's kernel does not take
 * a long answer whole. */
static int dial_as(bool is_narrow)
{
    const int window_bytes = 1024;
    const int segment_bytes = 500;
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(&address, &to);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (is_narrow) {
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window_bytes, sizeof(window_bytes)),
                         0);
        assert_int_equal(
            setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof(segment_bytes)), 0);
    }
    assert_int_equal(connect(fd, (struct sockaddr *)&to, to_len), 0);
    return fd;
}

static int dial(void)
{
    return dial_as(false);
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until the other side ends; false when it has not by `patience_ms` after the last byte. */
static bool read_to_end(int fd, char *text, size_t text_cap, int patience_ms)
{
    size_t len = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, patience_ms) == 1) {
        const ssize_t got = recv(fd, text + len, text_cap - 1 - len, 0);
        if (got <= 0) {
            text[len] = '\0';
            return true;
        }
        len += (size_t)got;
        assert_true(len < text_cap - 1);
    }
    return false;
}

static char answer[512 * 1024];

static const char *ask_once(const char *request)
{
    const int fd = dial();
    (void)send(fd, request, strlen(request), MSG_NOSIGNAL);
    assert_true(read_to_end(fd, answer, sizeof(answer), PATIENCE_MS));
    (void)close(fd);
    return answer;
}

/* An answer. Without one all places were taken, by clients of whose end the server has not heard
 * yet, or the request came too late. */
static const char *ask(const char *request)
{
    for (unsigned i = 0; ask_once(request)[0] == '\0'; i++) {
        assert_true(i < ATTEMPTS);
        (void)poll(NULL, 0, 50);
    }
    return answer;
}

static const char *body_of(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

static void assert_status(const char *text, const char *status)
{
    assert_memory_equal(text, "HTTP/1.1 ", 9);
    assert_memory_equal(text + 9, status, 3);
}

static void ready_is_503_until_every_condition_holds(void **state)
{
    (void)state;
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
    static const struct {
        uint64_t holds[2];
        const char *status;
        const char *body;
    } table[] = {
        {{1, 1}, "200", "sockets: yes\nkey_ring: yes\n"},
        {{1, 0}, "503", "sockets: yes\nkey_ring: no\n"},
        {{0, 1}, "503", "sockets: no\nkey_ring: yes\n"},
        {{0, 0}, "503", "sockets: no\nkey_ring: no\n"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        metric_set(condition[0], table[i].holds[0]);
        metric_set(condition[1], table[i].holds[1]);
        assert_status(ask(request), table[i].status);
        assert_string_equal(body_of(answer), table[i].body);
    }
}

static void a_loop_that_stopped_is_named_and_makes_503(void **state)
{
    (void)state;
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_status(ask(request), "200");
    assert_non_null(strstr(answer, "worker 0: yes ("));
    assert_non_null(strstr(answer, "worker 1: yes ("));
    metric_set(loop_beat[1], clock_now_us() - 2 * US_PER_S - 1);
    assert_status(ask(request), "503");
    assert_non_null(strstr(answer, "worker 0: yes ("));
    const char *age = strstr(answer, "worker 1: no (");
    assert_non_null(age);
    assert_in_range(strtoul(age + strlen("worker 1: no ("), NULL, 10), 2000, PATIENCE_MS);
}

static void version_and_unknown_paths_are_answered(void **state)
{
    (void)state;
    assert_status(ask("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
    assert_string_equal(body_of(answer), "earshot-relay " EARSHOT_VERSION "\n");
    static const char *const unknown[] = {"/", "/metricsx", "/metric", "/healthz/", "/config"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        char request[64];
        (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", unknown[i]);
        assert_status(ask(request), "404");
    }
}

static void only_get_is_allowed(void **state)
{
    (void)state;
    static const char *const request[] = {
        "POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
        "PUT /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "DELETE /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
        "HEAD /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(request); i++) {
        assert_status(ask(request[i]), "405");
        assert_non_null(strstr(answer, "\r\nallow: GET\r\n"));
    }
}

static void what_is_not_http_gets_no_answer_of_ours(void **state)
{
    (void)state;
    static const char *const request[] = {"FOO / HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n",
                                          "\x16\x03\x01\x02\x01\xfc\x03\x03"};
    for (size_t i = 0; i < COUNT_OF(request); i++) {
        assert_null(strstr(ask_once(request[i]), "worker 0"));
    }
}

static void metrics_come_in_the_form_that_is_accepted(void **state)
{
    (void)state;
    assert_status(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
    assert_non_null(strstr(answer, "\r\ncontent-type: text/plain; version=0.0.4;"));
    assert_non_null(strstr(answer, "earshot_build_info{service=\"relay\""));
    assert_null(strstr(answer, "# EOF"));
    assert_status(ask("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: "
                      "application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n"),
                  "200");
    assert_non_null(strstr(answer, "\r\ncontent-type: application/openmetrics-text; "
                                   "version=1.0.0;"));
    assert_string_equal(answer + strlen(answer) - 6, "# EOF\n");
}

static void a_long_answer_arrives_whole(void **state)
{
    (void)state;
    metric_set(&big_samples, 7000);
    assert_status(ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
    const char *length = strstr(answer, "content-length: ");
    assert_non_null(length);
    const size_t body_len = strlen(body_of(answer));
    assert_true(body_len > 150 * 1024);
    assert_int_equal(strtoul(length + 16, NULL, 10), body_len);
    assert_non_null(strstr(answer, "earshot_test_big{i=\"6999\"} 6999\n"));
}

/* Whether it is closed at the server's deadline of 2 s: never sooner, and on time if we are. */
static bool ends_at_the_deadline(int fd, uint64_t start_us)
{
    assert_true(read_to_end(fd, answer, sizeof(answer), PATIENCE_MS));
    (void)close(fd);
    const uint64_t life_us = clock_now_us() - start_us;
    assert_true(life_us > 1500 * US_PER_MS);
    return life_us < 3500 * US_PER_MS;
}

static void attempt(bool (*is_in_time)(void))
{
    for (unsigned i = 0; !is_in_time(); i++) {
        assert_true(i < ATTEMPTS);
    }
}

static bool silence_ends(void)
{
    const uint64_t start_us = clock_now_us();
    return ends_at_the_deadline(dial(), start_us);
}

static void a_client_that_says_nothing_is_closed(void **state)
{
    (void)state;
    attempt(silence_ends);
}

static bool a_slow_request_ends(void)
{
    const uint64_t start_us = clock_now_us();
    const int fd = dial();
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    static const char request[] = "GET /healthz HTTP/1.1\r\nEndless: x";
    for (size_t i = 0; poll(&ended, 1, 100) == 0 && i < 50; i++) {
        (void)send(fd, request + (i < sizeof(request) - 2 ? i : sizeof(request) - 2), 1,
                   MSG_NOSIGNAL);
    }
    return ends_at_the_deadline(fd, start_us);
}

static void a_client_that_speaks_byte_by_byte_is_closed(void **state)
{
    (void)state;
    attempt(a_slow_request_ends);
}

/* Whether all eight places are free: none of eight connections is closed at once. */
static bool has_every_place(void)
{
    int fds[8];
    struct pollfd ended[8];
    for (size_t i = 0; i < 8; i++) {
        fds[i] = dial();
        ended[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    }
    const bool is_free = poll(ended, 8, 100) == 0;
    for (size_t i = 0; i < 8; i++) {
        (void)close(fds[i]);
    }
    (void)poll(NULL, 0, 50); /* the server sees the ends */
    return is_free;
}

static void wait_for_every_place(void)
{
    const uint64_t start_us = clock_now_us();
    while (!has_every_place()) {
        assert_true(clock_now_us() - start_us < PATIENCE_MS * US_PER_MS);
    }
}

static bool a_slow_reader_ends(void)
{
    wait_for_every_place();
    const uint64_t start_us = clock_now_us();
    const int fd = dial_as(true);
    say(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_every_place();
    const uint64_t life_us = clock_now_us() - start_us;
    (void)close(fd);
    assert_true(life_us > 1500 * US_PER_MS);
    return life_us < 3500 * US_PER_MS;
}

static void a_client_that_does_not_read_is_closed(void **state)
{
    (void)state;
    metric_set(&big_samples, 7000);
    attempt(a_slow_reader_ends);
}

/* The ninth of nine is closed without a word, and the eight are served. */
static bool the_ninth_is_closed(void)
{
    static const char request[] = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
    int fds[9];
    wait_for_every_place();
    const uint64_t start_us = clock_now_us();
    for (size_t i = 0; i < 9; i++) {
        fds[i] = dial();
    }
    assert_true(read_to_end(fds[8], answer, sizeof(answer), PATIENCE_MS));
    bool is_good = answer[0] == '\0' && clock_now_us() - start_us < US_PER_S;
    for (size_t i = 0; i < 8; i++) {
        (void)send(fds[i], request, strlen(request), MSG_NOSIGNAL);
        assert_true(read_to_end(fds[i], answer, sizeof(answer), PATIENCE_MS));
        is_good = is_good && strncmp(answer, "HTTP/1.1 200", 12) == 0;
    }
    for (size_t i = 0; i < 9; i++) {
        (void)close(fds[i]);
    }
    return is_good;
}

static void the_ninth_connection_is_closed_at_once(void **state)
{
    (void)state;
    attempt(the_ninth_is_closed);
    /* The place of each is free afterwards. */
    assert_status(ask("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
}

static void a_taken_address_is_one_clear_line(void **state)
{
    (void)state;
    /* A second start in this process would take over the first's state: another socket plays the
     * other earshot. */
    admin_http_stop();
    struct sockaddr_storage at;
    const socklen_t at_len = net_addr_to_sockaddr(&address, &at);
    const int on = 1;
    const int other = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    assert_int_equal(bind(other, (struct sockaddr *)&at, at_len), 0);
    assert_int_equal(listen(other, 1), 0);
    struct fault fault = {0};
    assert_false(admin_http_start("relay", &address, &fault));
    char expected[FAULT_TEXT_CAP];
    (void)snprintf(expected, sizeof(expected),
                   "admin: listen %s: Address already in use (is another earshot running? change "
                   "admin_listen)",
                   address_text);
    assert_string_equal(fault.text, expected);
    (void)close(other);
    assert_true(admin_http_start("relay", &address, &fault));
    assert_status(ask("GET /version HTTP/1.1\r\nHost: x\r\n\r\n"), "200");
}

static bool is_found_healthy(void)
{
    return process_health(address_text) == 0;
}

static void health_asks_this_port(void **state)
{
    (void)state;
    attempt(is_found_healthy);
    metric_set(loop_beat[0], clock_now_us() - 5 * US_PER_S);
    assert_int_equal(process_health(address_text), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ready_is_503_until_every_condition_holds, be_well),
        cmocka_unit_test_setup(a_loop_that_stopped_is_named_and_makes_503, be_well),
        cmocka_unit_test_setup(version_and_unknown_paths_are_answered, be_well),
        cmocka_unit_test_setup(only_get_is_allowed, be_well),
        cmocka_unit_test_setup(what_is_not_http_gets_no_answer_of_ours, be_well),
        cmocka_unit_test_setup(metrics_come_in_the_form_that_is_accepted, be_well),
        cmocka_unit_test_setup(a_long_answer_arrives_whole, be_well),
        cmocka_unit_test_setup(a_client_that_says_nothing_is_closed, be_well),
        cmocka_unit_test_setup(a_client_that_speaks_byte_by_byte_is_closed, be_well),
        cmocka_unit_test_setup(a_client_that_does_not_read_is_closed, be_well),
        cmocka_unit_test_setup(the_ninth_connection_is_closed_at_once, be_well),
        cmocka_unit_test_setup(health_asks_this_port, be_well),
        cmocka_unit_test_setup(a_taken_address_is_one_clear_line, be_well),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
