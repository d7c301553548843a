/* http_socket_test.c - WebSockets at the edge: who gets one, what goes through, how it ends */
#include "tests/unit/socket_world.h"

static struct bytes_view view(const char *text)
{
    return bytes_view_of_text(text);
}

/* --- the upgrade ------------------------------------------------------------------------------ */

static void a_good_upgrade_opens_and_its_socket_ends_once(void **state)
{
    (void)state;
    const int fd = socket_connect();
    assert_null(strstr(world.answer, "Sec-WebSocket-Protocol"));
    assert_int_equal(world.socket_tag, 77);
    assert_int_equal(metric_get(&http_server_counts(world.http)->sockets), 1);
    assert_true(http_server_is_idle(world.http));
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
    world_turns(5);
    assert_int_equal(world.opened, 1);
    assert_int_equal(world.closed, 1);
    assert_int_equal(metric_get(&http_server_counts(world.http)->sockets), 0);
    assert_false(http_server_send(world.http, world.socket, view("late")));
    assert_false(http_server_has_socket(world.http, world.socket));
}

static void the_paths_subprotocol_is_answered_and_never_the_key(void **state)
{
    (void)state;
    const int fd = socket_connect_with(
        "Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sk_SECRET-_9\r\n");
    assert_non_null(strstr(world.answer, "Sec-WebSocket-Protocol: realtime\r\n"));
    assert_null(strstr(world.answer, "SECRET"));
    socket_send_text(fd, "x");
    WORLD_UNTIL(world.messages == 1);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void a_list_of_126_chars_passes_and_a_longer_one_is_told_why(void **state)
{
    (void)state;
    char fields[256];
    const int room = HTTP_UPGRADE_LIST_CHARS_MAX - (int)strlen("realtime, ");
    (void)snprintf(fields, sizeof(fields), "Sec-WebSocket-Protocol: realtime, %0*d\r\n", room, 1);
    (void)close(socket_connect_with(fields));
    WORLD_UNTIL(world.closed == 1);
    (void)snprintf(fields, sizeof(fields), "Sec-WebSocket-Protocol: realtime, %0*d\r\n\r\n",
                   room + 1, 1);
    char head[1024];
    (void)snprintf(head, sizeof(head), "%s%s", SOCKET_HEAD, fields);
    (void)world_ask(head);
    assert_true(world_answer_has(400, "subprotocols is too long"));
}

static void the_judges_refusal_is_the_answer_with_cors(void **state)
{
    (void)state;
    (void)world_ask(SOCKET_HEAD "Authorization: Bearer nobody\r\n\r\n");
    assert_true(world_answer_has(401, "Bearer nobody"));
    assert_non_null(strstr(world.answer, "Access-Control-Allow-Origin: *"));
    world_turns(5);
    assert_int_equal(world.opened + world.closed, 0);
    assert_int_equal(metric_get(&http_server_counts(world.http)->sockets_refused_total), 1);
}

static void a_foreign_origin_is_refused_before_the_judge(void **state)
{
    (void)state;
    http_server_destroy(world.http);
    struct http_server_config config = world.config;
    config.origins = (struct http_origins){.allowed_count = 1};
    memcpy(config.origins.allowed[0], "https://app.example", sizeof("https://app.example"));
    world_open_with(&config);
    (void)world_ask(SOCKET_HEAD "Origin: https://evil.example\r\n\r\n");
    assert_true(world_answer_has(403, "origin_not_allowed"));
    (void)close(socket_connect_with("Origin: https://app.example\r\n"));
    (void)close(socket_connect()); /* no browser */
    WORLD_UNTIL(world.closed == 2);
}

static void a_head_that_is_no_good_upgrade_is_answered_by_us(void **state)
{
    (void)state;
#define HEAD_LINE  "GET /socket?a=b HTTP/1.1\r\n"
#define HOST       "Host: x\r\n"
#define ASKED      "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define SOCKET_13  "Sec-WebSocket-Version: 13\r\n"
#define SOCKET_KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    static const struct {
        const char *head;
        const char *why;
    } row[] = {
        {HEAD_LINE ASKED SOCKET_13 SOCKET_KEY "\r\n", "Host"},
        {HEAD_LINE HOST ASKED SOCKET_KEY "\r\n", "Version"},
        {HEAD_LINE HOST ASKED SOCKET_KEY "Sec-WebSocket-Version: 8\r\n\r\n", "Version"},
        {HEAD_LINE HOST ASKED SOCKET_13 "\r\n", "Key"},
        {HEAD_LINE HOST ASKED SOCKET_13 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n\r\n", "Key"},
        {HEAD_LINE HOST ASKED SOCKET_13 SOCKET_KEY "Content-Length: 1\r\n\r\n1", "body"},
        {HEAD_LINE HOST "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n\r\n", "Upgrade"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        (void)world_ask(row[i].head);
        assert_true(world_answer_has(400, row[i].why));
    }
    assert_int_equal(world.opened + world.closed, 0);
}

/* RFC 9110 s.7.8: a server may ignore it. */
static void an_upgrade_to_something_else_is_ignored(void **state)
{
    (void)state;
    static const char *const head[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: H2C\r\n"
        "Content-Length: 2\r\n\r\nab",
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\n" ASKED SOCKET_13 SOCKET_KEY "Content-Length: 0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(head); i++) {
        const int fd = world_connect(head[i]);
        char number[16];
        (void)snprintf(number, sizeof(number), "\r\n\r\n%zu", i + 1);
        (void)world_read(fd, number);
        assert_true(world_answer_has(200, number));
        (void)close(fd);
    }
    assert_int_equal(world.opened, 0);
}

static void sockets_count_as_connections_of_their_address(void **state)
{
    (void)state;
    int fd[6];
    for (int i = 0; i < 6; i++) {
        fd[i] = socket_connect();
    }
    (void)close(world_connect(""));
    WORLD_UNTIL(metric_get(&http_server_counts(world.http)->refused_address_total) == 1);
    for (int i = 0; i < 6; i++) {
        (void)close(fd[i]);
    }
    WORLD_UNTIL(world.closed == 6);
}

/* --- messages --------------------------------------------------------------------------------- */

static void texts_go_both_ways_in_order(void **state)
{
    (void)state;
    const int fd = socket_connect();
    socket_send_text(fd, "one");
    WORLD_UNTIL(world.messages == 1);
    assert_memory_equal(world.text, "one", 3);
    assert_true(http_server_send(world.http, world.socket, view("eins")));
    assert_true(http_server_send(world.http, world.socket, view("zwei")));
    assert_true(http_server_send(world.http, world.socket, view("")));
    socket_expect(fd, FIN | TEXT, "eins");
    socket_expect(fd, FIN | TEXT, "zwei");
    socket_expect(fd, FIN | TEXT, "");
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void fragments_are_one_message_and_a_ping_between_them_is_answered(void **state)
{
    (void)state;
    const int fd = socket_connect();
    socket_send(fd, TEXT, "ab", 2);
    socket_send(fd, FIN | PING, "p", 1);
    socket_expect(fd, FIN | PONG, "p");
    socket_send(fd, CONTINUATION, "", 0);
    socket_send(fd, CONTINUATION, "cd", 2);
    world_turns(3);
    assert_int_equal(world.messages, 0);
    socket_send(fd, FIN | CONTINUATION, "e", 1);
    WORLD_UNTIL(world.messages == 1);
    assert_int_equal(world.text_len, 5);
    assert_memory_equal(world.text, "abcde", 5);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void many_messages_in_one_packet_come_one_by_one(void **state)
{
    (void)state;
    const int fd = socket_connect();
    uint8_t packet[50 * 7];
    for (size_t i = 0; i < sizeof(packet); i += 7) { /* a mask of zeros is a mask too */
        const uint8_t frame[7] = {FIN | TEXT, 0x81, 0, 0, 0, 0, 'x'};
        memcpy(packet + i, frame, sizeof(frame));
    }
    world_send_bytes(fd, (const char *)packet, sizeof(packet));
    WORLD_UNTIL(world.messages == 50);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void a_message_of_the_bound_passes_and_a_byte_more_is_1009(void **state)
{
    (void)state;
    static char text[SOCKET_MESSAGE_BYTES_MAX + 1];
    memset(text, 'x', sizeof(text));
    int fd = socket_connect();
    socket_send(fd, FIN | TEXT, text, SOCKET_MESSAGE_BYTES_MAX);
    WORLD_UNTIL(world.messages == 1);
    assert_int_equal(world.text_len, SOCKET_MESSAGE_BYTES_MAX);
    socket_send(fd, TEXT, text, SOCKET_MESSAGE_BYTES_MAX);
    socket_send(fd, FIN | CONTINUATION, "x", 1);
    socket_expect_close(fd, HTTP_CLOSE_TOO_LARGE);
    assert_int_equal(world.messages, 1);
}

static void a_binary_message_is_1003_and_bad_utf8_is_1007(void **state)
{
    (void)state;
    int fd = socket_connect();
    socket_send(fd, FIN | BINARY, "ab", 2);
    socket_expect_close(fd, HTTP_CLOSE_NOT_TEXT);
    static const char *const bad[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf",
                                      "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        world.opened = 0;
        world.closed = 0;
        fd = socket_connect();
        socket_send_text(fd, bad[i]);
        socket_expect_close(fd, HTTP_CLOSE_NOT_UTF8);
    }
    assert_int_equal(world.messages, 0);
    world.opened = 0;
    fd = socket_connect();
    socket_send(fd, TEXT, "\xc3", 1); /* a character may be cut by a fragment */
    socket_send(fd, FIN | CONTINUATION, "\xa4", 1);
    WORLD_UNTIL(world.messages == 1);
    (void)close(fd);
}

/* RFC 6455 s.5.5.1: no data frame behind a Close, nor does its client hold the place. */
static void nothing_is_written_behind_a_close(void **state)
{
    (void)state;
    static const struct {
        unsigned first;
        const char *data;
        unsigned code;
    } row[] = {
        {FIN | 3, "x", 1002},
        {FIN | CONTINUATION, "x", 1002},
        {FIN | TEXT, "\xff", HTTP_CLOSE_NOT_UTF8},
        {FIN | BINARY, "x", HTTP_CLOSE_NOT_TEXT},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        world.opened = 0;
        world.closed = 0;
        const int fd = socket_connect();
        for (int text = 0; text < 8; text++) { /* a queue of them, and some that come late */
            assert_true(http_server_send(world.http, world.socket, view("before")));
        }
        socket_send(fd, row[i].first, row[i].data, strlen(row[i].data));
        struct frame frame = socket_read(fd);
        while (frame.first == (FIN | TEXT)) {
            frame = socket_read(fd);
        }
        assert_int_equal(frame.first, FIN | CLOSE);
        assert_int_equal(frame.data[0] << 8 | frame.data[1], row[i].code);
        world.messages += http_server_send(world.http, world.socket, view("late"));
        if (i > 0) { /* the first client does not answer it */
            socket_send(fd, FIN | CLOSE, frame.data, 2);
        }
        frame = socket_read(fd);
        while (frame.first == (FIN | PING)) {
            frame = socket_read(fd);
        }
        assert_int_equal(frame.first, 0);
        WORLD_UNTIL(world.closed == 1);
        (void)close(fd);
    }
}

static void what_is_held_is_read_when_it_is_let_go(void **state)
{
    (void)state;
    const int fd = socket_connect();
    http_server_hold(world.http, world.socket, true);
    socket_send_text(fd, "wait");
    world_turns(10);
    assert_int_equal(world.messages, 0);
    assert_true(http_server_send(world.http, world.socket, view("meanwhile")));
    socket_expect(fd, FIN | TEXT, "meanwhile");
    http_server_hold(world.http, world.socket, false);
    WORLD_UNTIL(world.messages == 1);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void who_leaves_while_held_is_gone_at_once(void **state)
{
    (void)state;
    const int fd = socket_connect();
    http_server_hold(world.http, world.socket, true);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
    world.opened = 0;
    const int other = socket_connect();
    (void)close(other);
    http_server_hold(world.http, world.socket, true); /* and who left just before */
    WORLD_UNTIL(world.closed == 2);
}

static void a_last_message_counts_though_its_client_has_closed(void **state)
{
    (void)state;
    const int fd = socket_connect();
    socket_send_text(fd, "last");
    socket_send(fd, FIN | CLOSE, "\x03\xe8", 2);
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
    assert_int_equal(world.messages, 1);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void what_was_sent_goes_out_before_the_close(void **state)
{
    (void)state;
    const int fd = socket_connect();
    assert_true(http_server_send(world.http, world.socket, view("{\"type\":\"error\"}")));
    http_server_close(world.http, world.socket, HTTP_CLOSE_POLICY);
    assert_false(http_server_send(world.http, world.socket, view("never")));
    socket_expect(fd, FIN | TEXT, "{\"type\":\"error\"}");
    socket_expect_close(fd, HTTP_CLOSE_POLICY);
}

static void a_client_that_answers_no_close_is_hung_up(void **state)
{
    (void)state;
    const int fd = socket_connect();
    http_server_close(world.http, world.socket, HTTP_CLOSE_NORMAL);
    assert_int_equal(socket_read(fd).first, FIN | CLOSE);
    WORLD_UNTIL(world.closed == 1);
    (void)close(fd);
}

static void a_queue_that_is_full_is_closed_with_1013(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof(text));
    const int fd = socket_connect();
    unsigned sent = 0;
    while (http_server_send(world.http, world.socket, bytes_view_of(text, sizeof(text)))) {
        sent++;
    }
    assert_true(http_server_has_socket(world.http, world.socket));
    assert_int_equal(sent, HTTP_SOCKET_QUEUE_BYTES_MAX / (sizeof(text) + 100));
    socket_expect_close(fd, HTTP_CLOSE_TRY_LATER);
}

static void a_slow_reader_gets_all_of_what_was_queued(void **state)
{
    (void)state;
    static char text[250000];
    memset(text, 'y', sizeof(text));
    const int fd = socket_connect();
    for (int i = 0; i < 4; i++) {
        assert_true(http_server_send(world.http, world.socket, bytes_view_of(text, sizeof(text))));
    }
    world_turns(20);
    for (int i = 0; i < 4; i++) {
        const struct frame frame = socket_read(fd);
        assert_int_equal(frame.first, FIN | TEXT);
        assert_int_equal(frame.len, sizeof(text));
        memmove(inbox.bytes, inbox.bytes + inbox.taken, inbox.len - inbox.taken);
        inbox.len -= inbox.taken;
        inbox.taken = 0;
    }
    (void)close(fd);
    WORLD_UNTIL(world.closed == 1);
}

static void a_quiet_client_is_pinged_and_hung_up_when_it_does_not_answer(void **state)
{
    (void)state;
    const int fd = socket_connect();
    struct frame frame = socket_read(fd);
    assert_int_equal(frame.first, FIN | PING);
    socket_send(fd, FIN | PONG, frame.data, frame.len);
    const uint64_t answered_us = clock_now_us();
    frame = socket_read(fd);
    assert_int_equal(frame.first, FIN | PING);
    WORLD_UNTIL(world.closed == 1);
    assert_in_range(clock_now_us() - answered_us, 1900 * US_PER_MS, 3 * US_PER_S);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCKET_TEST(a_good_upgrade_opens_and_its_socket_ends_once),
        SOCKET_TEST(the_paths_subprotocol_is_answered_and_never_the_key),
        SOCKET_TEST(a_list_of_126_chars_passes_and_a_longer_one_is_told_why),
        SOCKET_TEST(the_judges_refusal_is_the_answer_with_cors),
        SOCKET_TEST(a_foreign_origin_is_refused_before_the_judge),
        SOCKET_TEST(a_head_that_is_no_good_upgrade_is_answered_by_us),
        SOCKET_TEST(an_upgrade_to_something_else_is_ignored),
        SOCKET_TEST(sockets_count_as_connections_of_their_address),
        SOCKET_TEST(texts_go_both_ways_in_order),
        SOCKET_TEST(fragments_are_one_message_and_a_ping_between_them_is_answered),
        SOCKET_TEST(many_messages_in_one_packet_come_one_by_one),
        SOCKET_TEST(a_message_of_the_bound_passes_and_a_byte_more_is_1009),
        SOCKET_TEST(a_binary_message_is_1003_and_bad_utf8_is_1007),
        SOCKET_TEST(nothing_is_written_behind_a_close),
        SOCKET_TEST(what_is_held_is_read_when_it_is_let_go),
        SOCKET_TEST(who_leaves_while_held_is_gone_at_once),
        SOCKET_TEST(a_last_message_counts_though_its_client_has_closed),
        SOCKET_TEST(what_was_sent_goes_out_before_the_close),
        SOCKET_TEST(a_client_that_answers_no_close_is_hung_up),
        SOCKET_TEST(a_queue_that_is_full_is_closed_with_1013),
        SOCKET_TEST(a_slow_reader_gets_all_of_what_was_queued),
        SOCKET_TEST(a_quiet_client_is_pinged_and_hung_up_when_it_does_not_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
