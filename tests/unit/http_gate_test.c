/* http_gate_test.c - heads that libwebsockets must not see, over a real connection */
#include "tests/unit/http_world.h"

#include "services/signaling/http_connection.h"
#include "services/signaling/http_screen.h"

#define GATE_TEST(name) cmocka_unit_test_setup_teardown(name, world_open_patient, world_close)

static uint64_t malformed(void)
{
    return metric_get(&http_server_counts(world.http)->malformed_total);
}

/* libwebsockets answers each of these itself, with a page of its own, or hangs up. */
static void what_the_library_would_refuse_is_answered_with_json_and_cors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned status;
        const char *contains;
    } row[] = {
        {"GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "Send the path alone"},
        {"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "no such method"},
        {"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501, "no such method"},
        {"FOO / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "no such method"},
        {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "percent"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/1.1"},
        {"GET /\r\nHost: x\r\n\r\n", 400, "first line"},
        {"GET / HTTP/1.1\nHost: x\n\n", 400, "CR LF"},
        {"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400, "second line"},
        {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400, "Name: value"},
        {"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: TLS/1.0\r\n\r\n", 400, "Upgrade"},
        {"\x16\x03\x01\x02", 400, "first line"},
        {"nonsense-without-an-end", 400, "first line"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        (void)world_ask(row[i].text);
        assert_true(world_answer_has(row[i].status, row[i].contains));
        assert_non_null(strstr(world.answer, "\r\nAccess-Control-Allow-Origin: *\r\n"));
        assert_non_null(strstr(world.answer, "\r\nContent-Type: application/json\r\n"));
        assert_non_null(strstr(world.answer, "\r\nConnection: close\r\n"));
        assert_non_null(strstr(world.answer, "{\"error\":{"));
        assert_int_equal(malformed(), i + 1);
    }
    assert_int_equal(world.requests, 0);
}

static void options_of_the_server_itself_is_a_preflight(void **state)
{
    (void)state;
    (void)world_ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n"
                    "Access-Control-Request-Headers: authorization\r\n\r\n");
    assert_true(world_answer_has(204, "Access-Control-Allow-Headers: authorization\r\n"));
    assert_non_null(strstr(world.answer, "Access-Control-Allow-Methods: "));
}

static void a_refusal_names_the_origin_that_may_read_it(void **state)
{
    (void)state;
    struct http_server_config config = world.config;
    config.origins = (struct http_origins){.allowed = {"https://app.example"}, .allowed_count = 1};
    http_server_destroy(world.http);
    world_open_with(&config);
    (void)world_ask("FOO / HTTP/1.1\r\norigin:  https://app.example \r\n\r\n");
    assert_true(world_answer_has(501, "\r\nAccess-Control-Allow-Origin: https://app.example\r\n"));
    (void)world_ask("FOO / HTTP/1.1\r\nOrigin: https://other.example\r\n\r\n");
    assert_true(world_answer_has(501, "\r\nVary: Origin\r\n"));
    assert_null(strstr(world.answer, "Allow-Origin"));
}

static void the_answer_to_a_bad_head_request_has_no_body(void **state)
{
    (void)state;
    (void)world_ask("HEAD /% HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(world_answer_has(400, "Content-Type: application/json"));
    assert_null(strstr(world.answer, "{\"error\""));
}

static void a_head_may_come_in_single_bytes(void **state)
{
    (void)state;
    const char text[] = "\r\nGET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const int fd = world_connect("");
    for (size_t i = 0; text[i] != '\0'; i++) {
        assert_int_equal(world.requests, 0);
        world_send_bytes(fd, text + i, 1);
        world_turn();
    }
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    (void)close(fd);
}

static void empty_lines_ahead_of_a_request_are_ignored(void **state)
{
    (void)state;
    const int fd = world_connect("\r\n\r\n" WORLD_GET);
    (void)world_read(fd, "\r\n\r\n1");
    assert_true(world_answer_has(200, ""));
    world_send(fd, "\r\n");
    world_turns(3);
    world_send(fd, WORLD_GET);
    (void)world_read(fd, "\r\n\r\n2");
    assert_true(world_answer_has(200, ""));
    (void)close(fd);
}

static void nothing_but_empty_lines_is_no_request(void **state)
{
    (void)state;
    char text[HTTP_SCREEN_BYTES_MAX + 1];
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        text[i] = i % 2 ? '\n' : '\r';
    }
    text[sizeof(text) - 1] = '\0';
    (void)world_ask(text);
    assert_true(world_answer_has(431, "too_large"));
}

/* A field of so many bytes beside the rest of a good head. */
static void send_head(int fd, size_t head_len)
{
    static char text[4 * HTTP_SCREEN_BYTES_MAX];
    const char begin[] = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Unknown: ";
    memset(text, 'y', head_len);
    memcpy(text, begin, sizeof(begin) - 1);
    memcpy(text + head_len - 4, "\r\n\r\n", 4);
    world_send_bytes(fd, text, head_len);
}

static void the_largest_head_passes_and_a_larger_one_is_told_so(void **state)
{
    (void)state;
    int fd = world_connect("");
    send_head(fd, HTTP_SCREEN_BYTES_MAX);
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    (void)close(fd);
    static const size_t larger[] = {HTTP_SCREEN_BYTES_MAX + 1, 3 * HTTP_SCREEN_BYTES_MAX};
    for (size_t i = 0; i < COUNT_OF(larger); i++) {
        fd = world_connect("");
        send_head(fd, larger[i]);
        (void)world_read(fd, NULL);
        assert_true(world_answer_has(431, "too_large"));
        (void)close(fd);
    }
}

static void the_library_has_room_for_all_that_passes(void **state)
{
    (void)state;
    char text[8192] = "GET /a?";
    for (int i = 0; i < HTTP_SCREEN_SEPARATORS_MAX; i++) {
        strcat(text, "a=b&");
    }
    strcat(text, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    for (int i = 2; i < HTTP_SCREEN_FIELDS_MAX; i++) {
        strcat(text, "Accept: y\r\n"); /* one it knows: each takes a part of its own */
    }
    strcat(text, "\r\n");
    (void)world_ask(text);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    assert_true(bytes_equal(world.request->path, bytes_view_of_text("/a")));
}

static void the_second_head_of_a_connection_is_looked_at_too(void **state)
{
    (void)state;
    const int fd = world_connect(WORLD_GET);
    (void)world_read(fd, "\r\n\r\n1");
    world_send(fd, "FOO / HTTP/1.1\r\n");
    world_turns(3);
    assert_int_equal(malformed(), 0);
    world_send(fd, "\r\n");
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(501, "Connection: close"));
    (void)close(fd);
    assert_int_equal(world.ends, 1);
}

static void a_head_that_comes_while_an_answer_waits_is_served_after_it(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect(WORLD_GET);
    WORLD_UNTIL(world.requests == 1);
    world_send(fd, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    world_turns(5);
    assert_int_equal(world.requests, 1);
    world.is_holding = false;
    world_answer();
    (void)world_read(fd, "\r\n\r\n2");
    assert_non_null(strstr(world.answer, "\r\n\r\n1"));
    assert_true(bytes_equal(world.request->path, bytes_view_of_text("/b")));
    (void)close(fd);
}

/* False when we were so slow to read that we were hung up for it. */
static bool reads_both_answers(void)
{
    static char body[16 << 20];
    memset(body, 'b', sizeof(body));
    world.body = bytes_view_of(body, sizeof(body));
    const int fd = world_connect(WORLD_GET);
    uint64_t began_us = 0;
    for (int idle = 0; idle<20; idle = clock_now_us() - began_us> US_PER_MS ? idle + 1 : 0) {
        began_us = clock_now_us(); /* until the kernel is full of it, while nobody reads */
        world_turn();
    }
    world_send(fd, "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    began_us = clock_now_us();
    world_turns(5);
    assert_int_equal(world.requests, 1);
    size_t len = 0;
    ssize_t got = -1;
    while (got != 0) {
        const bool is_slow = clock_now_us() - began_us >= HTTP_LINGER_US;
        world_turn();
        got = recv(fd, world.answer, sizeof(world.answer), MSG_DONTWAIT);
        if (is_slow && world.requests == 1) {
            (void)close(fd);
            return false;
        }
        len += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    assert_in_range(len, 2 * sizeof(body), 2 * sizeof(body) + 1024);
    assert_int_equal(world.requests, 2);
    assert_int_equal(world.delivered, 2);
    return true;
}

static void a_head_that_comes_while_an_answer_is_written_waits_for_its_end(void **state)
{
    (void)state;
    world_attempt(reads_both_answers, world_open_patient);
}

static void who_sends_ahead_and_does_not_read_is_hung_up_soon(void **state)
{
    (void)state;
    static char body[16 << 20];
    world.body = bytes_view_of(body, sizeof(body));
    const int fd = world_connect(WORLD_GET);
    WORLD_UNTIL(world.requests == 1);
    world_turns(100);
    world_send(fd, WORLD_GET);
    WORLD_UNTIL(world.ends == 1); /* and not with the time of a request */
    assert_int_equal(world.delivered, 0);
    assert_int_equal(world.requests, 1);
    (void)close(fd);
}

/* Sooner than the server would let it go. */
static bool leaves_after_its_refusal(void)
{
    const struct http_server_counts *counts = http_server_counts(world.http);
    const uint64_t began_us = clock_now_us();
    const int fd = world_connect("FOO / HTTP/1.1\r\n\r\n");
    (void)world_read(fd, NULL);
    (void)close(fd);
    WORLD_UNTIL(metric_get(&counts->connections) == 0);
    assert_int_equal(metric_get(&counts->timed_out_total), 0);
    return clock_now_us() - began_us < HTTP_LINGER_US / 2;
}

static void a_client_that_reads_its_refusal_and_closes_frees_its_place(void **state)
{
    (void)state;
    world_attempt(leaves_after_its_refusal, world_open_patient);
}

static void a_client_that_stays_after_its_refusal_is_let_go(void **state)
{
    (void)state;
    const struct http_server_counts *counts = http_server_counts(world.http);
    const int fd = world_connect("FOO / HTTP/1.1\r\n\r\n");
    const uint64_t began_us = clock_now_us();
    (void)world_read(fd, NULL);
    while (metric_get(&counts->connections) > 0) {
        (void)send(fd, "more", 4, MSG_NOSIGNAL | MSG_DONTWAIT);
        world_turn();
        assert_true(clock_now_us() - began_us < WORLD_PATIENCE_US); /* not with that of a head */
    }
    assert_true(clock_now_us() - began_us > HTTP_LINGER_US / 2);
    (void)close(fd);
}

/* In half of the time that it has for that. */
static bool writes_a_long_body(void)
{
    static char body[8 << 20];
    const int fd = world_connect("FOO / HTTP/1.1\r\n\r\n");
    size_t sent = 0;
    const uint64_t began_us = clock_now_us();
    while (sent < sizeof(body)) {
        if (clock_now_us() - began_us >= HTTP_LINGER_US / 2) {
            (void)close(fd);
            return false;
        }
        const ssize_t len = send(fd, body + sent, sizeof(body) - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += len > 0 ? (size_t)len : 0;
        world_turn();
    }
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(501, "no such method"));
    (void)close(fd);
    return true;
}

static void who_writes_a_long_body_behind_a_bad_head_is_answered_all_the_same(void **state)
{
    (void)state;
    world_attempt(writes_a_long_body, world_open_patient);
}

/* None of the following waits for a time of the server's: those are longer than our patience. */
static void a_client_that_has_closed_its_half_is_answered_and_let_go(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect(WORLD_GET);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    WORLD_UNTIL(world.requests == 1);
    world_turns(5);
    world_answer();
    (void)world_read(fd, NULL);
    assert_true(world_answer_has(200, "\r\n\r\n1"));
    (void)close(fd);
}

static void a_client_that_leaves_within_a_head_frees_its_place(void **state)
{
    (void)state;
    const struct http_server_counts *counts = http_server_counts(world.http);
    int fd = world_connect("GET /");
    WORLD_UNTIL(metric_get(&counts->connections) == 1);
    world_turns(3);
    (void)close(fd);
    WORLD_UNTIL(metric_get(&counts->connections) == 0);
    fd = world_connect("GET /");
    WORLD_UNTIL(metric_get(&counts->connections) == 1);
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(fd); /* with a reset */
    WORLD_UNTIL(metric_get(&counts->connections) == 0);
}

static bool sleeps_with_a_head_that_waits(void)
{
    const int fd = world_connect("GET / HTTP/1.1\r\nX: y");
    world_turns(5);
    const uint64_t began_us = clock_now_us();
    http_server_wait(world.http, began_us + 100 * US_PER_MS);
    (void)close(fd);
    return clock_now_us() - began_us >= 90 * US_PER_MS;
}

static void a_head_that_waits_costs_no_turn_of_the_loop(void **state)
{
    (void)state;
    world_attempt(sleeps_with_a_head_that_waits, world_open_patient);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GATE_TEST(what_the_library_would_refuse_is_answered_with_json_and_cors),
        GATE_TEST(options_of_the_server_itself_is_a_preflight),
        GATE_TEST(a_refusal_names_the_origin_that_may_read_it),
        GATE_TEST(the_answer_to_a_bad_head_request_has_no_body),
        GATE_TEST(a_head_may_come_in_single_bytes),
        GATE_TEST(empty_lines_ahead_of_a_request_are_ignored),
        GATE_TEST(nothing_but_empty_lines_is_no_request),
        GATE_TEST(the_largest_head_passes_and_a_larger_one_is_told_so),
        GATE_TEST(the_library_has_room_for_all_that_passes),
        GATE_TEST(the_second_head_of_a_connection_is_looked_at_too),
        GATE_TEST(a_head_that_comes_while_an_answer_waits_is_served_after_it),
        GATE_TEST(a_head_that_comes_while_an_answer_is_written_waits_for_its_end),
        GATE_TEST(who_sends_ahead_and_does_not_read_is_hung_up_soon),
        GATE_TEST(a_client_that_reads_its_refusal_and_closes_frees_its_place),
        GATE_TEST(a_client_that_stays_after_its_refusal_is_let_go),
        GATE_TEST(who_writes_a_long_body_behind_a_bad_head_is_answered_all_the_same),
        GATE_TEST(a_client_that_has_closed_its_half_is_answered_and_let_go),
        GATE_TEST(a_client_that_leaves_within_a_head_frees_its_place),
        GATE_TEST(a_head_that_waits_costs_no_turn_of_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
