/* http_connection_test.c - one client, from its first byte to its last, over a real connection */
#include "tests/unit/http_world.h"

static const struct http_server_counts *counts(void)
{
    return http_server_counts(world.http);
}

static void a_request_arrives_with_what_its_header_says(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect("POST /v1/%63alls?model=m&dcid=%37&x HTTP/1.1\r\nHost: x\r\n"
                                 "Content-Type: application/sdp\r\nUser-Agent: kit/1\r\n"
                                 "Accept-Language: de\r\nOrigin: https://app.example\r\n"
                                 "Access-Control-Request-Headers: a, b\r\n"
                                 "Content-Length: 3\r\n\r\nv=0");
    const uint64_t before_us = clock_now_us();
    WORLD_UNTIL(world.requests == 1);
    const struct http_request *r = world.request;
    assert_int_equal(r->method, HTTP_POST);
    assert_true(bytes_equal(r->path, bytes_view_of_text("/v1/calls")));
    assert_true(bytes_equal(r->query, bytes_view_of_text("model=m&dcid=7&x")));
    assert_true(bytes_equal(r->host, bytes_view_of_text("x")));
    assert_memory_equal(r->id, "req_", 4);
    assert_true(net_addr_is_ipv4(&r->client));
    assert_true(bytes_equal(r->content_type, bytes_view_of_text("application/sdp")));
    assert_true(bytes_equal(r->user_agent, bytes_view_of_text("kit/1")));
    assert_true(bytes_equal(r->language, bytes_view_of_text("de")));
    assert_true(bytes_equal(r->origin, bytes_view_of_text("https://app.example")));
    assert_true(bytes_equal(r->asked_request_headers, bytes_view_of_text("a, b")));
    assert_true(bytes_equal(r->body, bytes_view_of_text("v=0")));
    assert_true(r->has_length);
    assert_in_range(r->received_us, before_us, clock_now_us());
    (void)close(fd);
}

static void each_method_has_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum http_method method;
    } row[] = {{"GET", HTTP_GET},     {"HEAD", HTTP_HEAD},     {"PUT", HTTP_PUT},
               {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE}, {"OPTIONS", HTTP_OPTIONS},
               {"POST", HTTP_POST}};
    world.is_holding = true;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                       row[i].name);
        const int fd = world_connect(text);
        WORLD_UNTIL(world.requests == i + 1);
        assert_int_equal(world.request->method, row[i].method);
        assert_int_equal(world.request->body.len, 0);
        world_answer();
        (void)world_read(fd, "\r\n\r\n");
        (void)close(fd);
    }
}

static void a_path_or_field_too_long_to_mean_anything_is_empty(void **state)
{
    (void)state;
    world.is_holding = true;
    for (int over = 0; over < 2; over++) {
        char text[1024] = "GET /";
        const size_t path_len = 255 + (size_t)over;
        memset(text + 5, 'p', path_len - 1);
        strcpy(text + 4 + path_len, " HTTP/1.1\r\nHost: x\r\nUser-Agent: ");
        const size_t len = strlen(text);
        memset(text + len, 'u', 127 + (size_t)over);
        strcpy(text + len + 127 + over, "\r\n\r\n");
        const int fd = world_connect(text);
        WORLD_UNTIL(world.requests == 1 + (unsigned)over);
        assert_int_equal(world.request->path.len, over ? 0 : path_len);
        assert_int_equal(world.request->user_agent.len, over ? 0 : 127);
        (void)close(fd);
    }
}

static void framing_that_can_be_misread_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        unsigned status;
        const char *code;
    } row[] = {
        {"Host: x\r\nContent-Length: 1001\r\n", 413, "too_large"},
        {"Host: x\r\nContent-Length: 99999999999\r\n", 413, "too_large"},
        {"Host: x\r\nTransfer-Encoding: chunked\r\n", 411, "length_required"},
        {"Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400, "invalid_value"},
        {"Host: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n", 400, "invalid_value"},
        {"Host: x\r\nContent-Length: 3, 3\r\n", 400, "invalid_value"},
        {"Host: x\r\nContent-Length: -3\r\n", 400, "invalid_value"},
        {"Host: x\r\nContent-Length: 0x3\r\n", 400, "invalid_value"},
        {"Content-Length: 3\r\n", 400, "invalid_value"},
        {"Host:\r\nContent-Length: 3\r\n", 400, "invalid_value"},
        {"Host: x\r\nHost: y\r\nContent-Length: 3\r\n", 400, "invalid_value"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "POST /a HTTP/1.1\r\n%s\r\nv=0", row[i].fields);
        (void)world_ask(text);
        assert_true(world_answer_has(row[i].status, row[i].code));
        assert_non_null(strstr(world.answer, "Access-Control-Allow-Origin: *"));
        assert_non_null(strstr(world.answer, "Connection: close"));
        assert_int_equal(metric_get(&counts()->malformed_total), i + 1);
    }
    assert_int_equal(world.requests, 0);
}

static void the_largest_body_comes_whole_in_any_pieces(void **state)
{
    (void)state;
    char body[1001];
    memset(body, 'b', sizeof(body));
    world.is_holding = true;
    const int fd = world_connect("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    for (size_t sent = 0; sent < 1000; sent += 250) {
        assert_int_equal(world.requests, 0);
        world_send_bytes(fd, body, 250);
        world_turns(2);
    }
    WORLD_UNTIL(world.requests == 1);
    assert_true(bytes_equal(world.request->body, bytes_view_of(body, 1000)));
    (void)close(fd);
}

static void a_post_without_a_length_is_a_request_and_the_last_of_its_connection(void **state)
{
    (void)state;
    (void)world_ask("POST /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(world_answer_has(200, "Connection: close"));
    assert_false(world.request->has_length);
}

/* As netcat and many a script do: all is written, then their half is closed. Behind a body a 100
 * may come first. */
static void a_client_that_closes_its_half_behind_a_request_is_answered(void **state)
{
    (void)state;
    static const char *const request[] = {
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nv=0",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    world.is_holding = true;
    for (unsigned i = 0; i < COUNT_OF(request); i++) {
        const int fd = world_connect(request[i]);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        WORLD_UNTIL(world.requests == i + 1);
        world_turns(20); /* the answer takes its time */
        assert_int_equal(world.ends, i);
        world_answer();
        (void)world_read(fd, NULL);
        assert_non_null(strstr(world.answer, "HTTP/1.1 200 OK\r\n"));
        (void)close(fd);
        WORLD_UNTIL(world.delivered == i + 1);
    }
}

static void a_connection_serves_so_many_requests(void **state)
{
    (void)state;
    const int fd = world_connect("");
    for (unsigned i = 1; i <= 4; i++) {
        char end[16];
        (void)snprintf(end, sizeof(end), "\r\n\r\n%u", i);
        world_send(fd, WORLD_GET);
        (void)world_read(fd, end);
        assert_true(world_answer_has(200, end));
        assert_true((strstr(world.answer, "Connection: close") != NULL) == (i == 4));
    }
    assert_string_equal(world_read(fd, NULL), "");
    (void)close(fd);
    WORLD_UNTIL(world.ends == 4);
    assert_int_equal(world.delivered, 4);
}

static void a_client_of_http_1_0_is_answered_and_let_go(void **state)
{
    (void)state;
    (void)world_ask("GET /a HTTP/1.0\r\n\r\n");
    assert_true(world_answer_has(200, "\r\n\r\n1"));
}

/* All in one read of libwebsockets. */
static void who_sends_requests_ahead_is_hung_up_after_the_first(void **state)
{
    (void)state;
#define POST "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv"
    static const char *const text[] = {WORLD_GET WORLD_GET WORLD_GET, WORLD_GET POST POST,
                                       POST WORLD_GET WORLD_GET, POST POST POST, POST "\r\n"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        const uint64_t began_us = clock_now_us();
        (void)world_ask(text[i]);
        assert_true(world_answer_has(200, ""));
        assert_null(strstr(world.answer + 1, "HTTP/1.1 200"));
        assert_true(clock_now_us() - began_us < US_PER_S / 2);
    }
}

static void a_large_answer_comes_whole(void **state)
{
    (void)state;
    static char body[1000000];
    memset(body, 'b', sizeof(body));
    world.body = bytes_view_of(body, sizeof(body));
    const int fd = world_connect("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    size_t len = 0;
    ssize_t got = -1;
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    while (got != 0 && clock_now_us() < give_up_us) {
        world_turn();
        got = recv(fd, world.answer, sizeof(world.answer), MSG_DONTWAIT);
        len += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    assert_in_range(len, sizeof(body) + 100, sizeof(body) + 2048);
    assert_int_equal(world.delivered, 1);
}

static void the_answer_to_head_is_a_head(void **state)
{
    (void)state;
    (void)world_ask("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_true(world_answer_has(200, "Content-Length: 1\r\n"));
    assert_string_equal(strstr(world.answer, "\r\n\r\n"), "\r\n\r\n");
}

static void a_client_that_leaves_ends_its_exchange_undelivered(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv");
    WORLD_UNTIL(world.requests == 1);
    (void)close(fd);
    WORLD_UNTIL(world.ends == 1);
    assert_int_equal(world.delivered, 0);
    world_answer(); /* in vain */
    world_turns(3);
    assert_int_equal(world.ends, 1);
}

static void each_wait_has_its_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t after_us;
        uint64_t timed_out;
    } row[] = {
        {"", US_PER_S, 1},
        {"GET /a HTTP/1.1\r\nX", US_PER_S, 2},
        {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nv", 2 * US_PER_S, 3},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const uint64_t silence_us = world_silence_us(world_connect(row[i].text));
        assert_in_range(silence_us, row[i].after_us * 8 / 10, row[i].after_us * 2);
        WORLD_UNTIL(metric_get(&counts()->connections) == 0);
        assert_int_equal(metric_get(&counts()->timed_out_total), row[i].timed_out);
    }
}

static void a_second_head_has_its_time_from_its_first_byte(void **state)
{
    (void)state;
    const int fd = world_connect(WORLD_GET);
    (void)world_read(fd, "\r\n\r\n1");
    const uint64_t began_us = clock_now_us();
    while (clock_now_us() < began_us + US_PER_S * 7 / 10) {
        world_turn();
    }
    world_send(fd, "GET");
    const uint64_t silence_us = world_silence_us(fd);
    assert_in_range(silence_us, US_PER_S * 8 / 10, 2 * US_PER_S);
    WORLD_UNTIL(metric_get(&counts()->timed_out_total) == 1);
}

static void an_idle_connection_is_closed_and_is_no_timeout(void **state)
{
    (void)state;
    const int fd = world_connect(WORLD_GET);
    (void)world_read(fd, "\r\n\r\n1");
    assert_in_range(world_silence_us(fd), US_PER_S * 8 / 10, 2 * US_PER_S);
    assert_int_equal(metric_get(&counts()->timed_out_total), 0);
}

static void a_request_that_nobody_answers_is_hung_up(void **state)
{
    (void)state;
    world.is_holding = true;
    const int fd = world_connect(WORLD_GET);
    WORLD_UNTIL(world.requests == 1);
    assert_in_range(world_silence_us(fd), US_PER_S * 16 / 10, 3 * US_PER_S);
    WORLD_UNTIL(world.ends == 1);
    assert_int_equal(world.delivered, 0);
    assert_int_equal(metric_get(&counts()->timed_out_total), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_request_arrives_with_what_its_header_says),
        WORLD_TEST(each_method_has_its_name),
        WORLD_TEST(a_path_or_field_too_long_to_mean_anything_is_empty),
        WORLD_TEST(framing_that_can_be_misread_is_refused),
        WORLD_TEST(the_largest_body_comes_whole_in_any_pieces),
        WORLD_TEST(a_post_without_a_length_is_a_request_and_the_last_of_its_connection),
        WORLD_TEST(a_client_that_closes_its_half_behind_a_request_is_answered),
        WORLD_TEST(a_connection_serves_so_many_requests),
        WORLD_TEST(a_client_of_http_1_0_is_answered_and_let_go),
        WORLD_TEST(who_sends_requests_ahead_is_hung_up_after_the_first),
        WORLD_TEST(a_large_answer_comes_whole),
        WORLD_TEST(the_answer_to_head_is_a_head),
        WORLD_TEST(a_client_that_leaves_ends_its_exchange_undelivered),
        WORLD_TEST(each_wait_has_its_end),
        WORLD_TEST(a_second_head_has_its_time_from_its_first_byte),
        WORLD_TEST(an_idle_connection_is_closed_and_is_no_timeout),
        WORLD_TEST(a_request_that_nobody_answers_is_hung_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
