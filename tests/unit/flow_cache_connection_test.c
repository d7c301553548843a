/* flow_cache_connection_test.c - what a server may say, and when it is not believed any more */
#include "tests/far_end.h"

#include "services/relay/flow_cache/flow_cache_connection.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define START_US (100 * US_PER_S)

static const char value[] = "$36\r\n0001|5eed0001|00002a03|10.0.0.5|4000\r\n";

struct server {
    struct far_end far_end;
    struct flow_cache_connection *connection;
    struct fault fault;
};

static void say(const struct server *s, const char *text)
{
    const size_t len = strlen(text);
    assert_int_equal(send(s->far_end.link, text, len, MSG_NOSIGNAL), len);
}

/* What the other side has sent, up to the end of this command. */
static void hear(struct server *s, const char *end, char *text, size_t cap)
{
    struct pollfd ready = {.fd = s->far_end.link, .events = POLLIN};
    size_t len = 0;
    text[0] = '\0';
    while (strstr(text, end) == NULL) {
        assert_true(flow_cache_connection_write(s->connection, &s->fault));
        assert_true(len < cap - 1 && poll(&ready, 1, FAR_END_PATIENCE_MS) == 1);
        const ssize_t got = recv(s->far_end.link, text + len, cap - 1 - len, 0);
        assert_true(got > 0);
        len += (size_t)got;
        text[len] = '\0';
    }
}

/* What the connection makes of the next bytes that come. */
static enum flow_cache_taken take(struct server *s, struct flow_cache_reply *reply)
{
    struct pollfd ready = {.fd = flow_cache_connection_fd(s->connection), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, FAR_END_PATIENCE_MS), 1);
    return flow_cache_connection_read(s->connection, &s->fault)
               ? flow_cache_connection_take(s->connection, reply, &s->fault)
               : FLOW_CACHE_BROKEN;
}

static void open_silent(struct server *s, const char *text)
{
    struct flow_cache_url url;
    *s = (struct server){0};
    (void)signal(SIGPIPE, SIG_IGN);
    far_end_listen(&s->far_end);
    const struct net_addr address = far_end_address_of(s->far_end.listener);
    assert_null(flow_cache_url_parse(text, &url));
    s->connection = flow_cache_connection_open(&address, &url, START_US, &s->fault);
    assert_non_null(s->connection);
    far_end_accept(&s->far_end);
}

static void open_greeted(struct server *s)
{
    char text[256];
    struct flow_cache_reply reply;
    open_silent(s, "redis://127.0.0.1:1");
    hear(s, "PING\r\n", text, sizeof(text));
    assert_string_equal(text, "*1\r\n$4\r\nPING\r\n");
    assert_false(flow_cache_connection_is_greeted(s->connection));
    say(s, "+PONG\r\n");
    assert_int_equal(take(s, &reply), FLOW_CACHE_NONE);
    assert_true(flow_cache_connection_is_greeted(s->connection));
}

static void close_server(struct server *s)
{
    flow_cache_connection_close(s->connection);
    far_end_close(&s->far_end);
}

static void send_request(struct server *s, enum flow_cache_request_kind kind, uint32_t port)
{
    struct flow_cache_request request = {.kind = kind, .port = port, .key = {.cluster_id = 1}};
    assert_true(net_addr_parse("198.51.100.7:51870", &request.key.client));
    assert_true(net_addr_parse("10.0.0.5:4000", &request.flow.next_hop));
    assert_true(flow_cache_connection_send(s->connection, &request, START_US));
}

static void it_introduces_itself_in_order(void **state)
{
    struct server s;
    char text[256];
    (void)state;
    open_silent(&s, "redis://relay:secret@127.0.0.1:1/3");
    hear(&s, "PING\r\n", text, sizeof(text));
    assert_string_equal(text, "*3\r\n$4\r\nAUTH\r\n$5\r\nrelay\r\n$6\r\nsecret\r\n"
                              "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*1\r\n$4\r\nPING\r\n");
    close_server(&s);
}

/* How often these bytes stand in what malloc has given out or got back. */
static unsigned copies_on_the_heap(const char *text, size_t len)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        if (strstr(line, "[heap]") == NULL ||
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) {
            continue;
        }
        const char *at = (const char *)begin;
        while ((at = memmem(at, (size_t)(end - (uintptr_t)at), text, len)) != NULL) {
            count++;
            at++;
        }
    }
    (void)fclose(maps);
    return count;
}

/* A sanitizer keeps its memory elsewhere. */
static void need_a_heap(void)
{
    static const char text[] = "unmistakable-0815-probe";
    char *probe = strdup(text);
    assert_non_null(probe);
    const bool is_found = copies_on_the_heap(text, strlen(text)) > 0;
    free(probe);
    if (!is_found) {
        print_message("skipped: what malloc gives is not in [heap]\n");
        skip();
    }
}

static void no_copy_of_the_password_stays_behind(void **state)
{
    static const char password[] = "unmistakable-0815-password"; /* not on the heap */
    static char said[256];
    static char url[256];
    struct server s;
    (void)state;
    need_a_heap();
    (void)snprintf(url, sizeof(url), "redis://relay:%s@127.0.0.1:1/3", password);
    open_silent(&s, url);
    assert_int_equal(copies_on_the_heap(password, strlen(password)), 1); /* it can be found */
    hear(&s, "PING\r\n", said, sizeof(said));
    assert_non_null(strstr(said, password));
    assert_int_equal(copies_on_the_heap(password, strlen(password)), 0);
    close_server(&s);

    open_silent(&s, url); /* and is closed before it could be sent */
    close_server(&s);
    assert_int_equal(copies_on_the_heap(password, strlen(password)), 0);
}

static void a_greeting_that_is_refused_is_a_fault_that_says_why(void **state)
{
    static const struct {
        const char *answer;
        const char *fault;
    } row[] = {
        {"-WRONGPASS invalid\r\n", "AUTH: WRONGPASS invalid"},
        {"+OK\r\n-ERR index\r\n", "SELECT: ERR index"},
        {"+OK\r\n+OK\r\n-LOADING \"x\"\r\n", "PING: LOADING \"x\""},
        {"+OK\r\n+OK\r\n$4\r\nPONG\r\n", "PING: ?"},
        {":1\r\n", "AUTH: ?"},
        {"-\r\n", "AUTH: ?"},
        {"-a\tb\x1e\xff\r\n", "AUTH: a?b??"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct server s;
        struct flow_cache_reply reply;
        char text[256];
        open_silent(&s, "redis://:secret@127.0.0.1:1/3");
        hear(&s, "PING\r\n", text, sizeof(text));
        say(&s, row[i].answer);
        assert_int_equal(take(&s, &reply), FLOW_CACHE_BROKEN);
        assert_string_equal(s.fault.text, row[i].fault);
        close_server(&s);
    }
}

static void commands_are_those_of_the_documents(void **state)
{
    struct server s;
    char text[512];
    (void)state;
    open_greeted(&s);
    send_request(&s, FLOW_CACHE_STORE, 0);
    send_request(&s, FLOW_CACHE_LOOK_UP, 0);
    hear(&s, "GETRANGE\r\n$37\r\nearshot:flow:1:udp:198.51.100.7|51870\r\n$1\r\n0\r\n$3\r\n128\r\n",
         text, sizeof(text));
    assert_non_null(strstr(text, "*5\r\n$3\r\nSET\r\n"));
    assert_non_null(strstr(text, "\r\n0000|00000000|00000000|10.0.0.5|4000\r\n"));
    assert_non_null(strstr(text, "\r\n$2\r\nEX\r\n$3\r\n120\r\n"));
    close_server(&s);
}

static void answers_belong_to_requests_in_their_order(void **state)
{
    struct server s;
    struct flow_cache_reply reply;
    char text[1024];
    static const enum flow_cache_result expected[] = {
        FLOW_CACHE_ABSENT,  FLOW_CACHE_FOUND,     FLOW_CACHE_FOUND,    FLOW_CACHE_MALFORMED,
        FLOW_CACHE_REFUSED, FLOW_CACHE_MALFORMED, FLOW_CACHE_MALFORMED};
    (void)state;
    open_greeted(&s);
    for (uint32_t i = 0; i < COUNT_OF(expected); i++) {
        send_request(&s, i == 2 ? FLOW_CACHE_STORE : FLOW_CACHE_LOOK_UP, i);
    }
    hear(&s, "EX\r\n", text, sizeof(text));
    assert_int_equal(flow_cache_connection_owes(s.connection, FLOW_CACHE_LOOK_UP), 6);
    assert_int_equal(flow_cache_connection_owes(s.connection, FLOW_CACHE_STORE), 1);
    (void)snprintf(text, sizeof(text),
                   "$0\r\n\r\n%s+OK\r\n$1\r\nx\r\n-NOPERM no\r\n-WRONGTYPE x\r\n:7\r\n", value);
    say(&s, text);
    assert_int_equal(take(&s, &reply), FLOW_CACHE_REPLY);
    for (uint32_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(reply.request.port, i);
        assert_int_equal(reply.result, expected[i]);
        if (i == 4) {
            assert_string_equal(reply.refusal, "NOPERM no");
        }
        const bool is_last = i + 1 == COUNT_OF(expected);
        assert_int_equal(flow_cache_connection_take(s.connection, &reply, &s.fault),
                         is_last ? FLOW_CACHE_NONE : FLOW_CACHE_REPLY);
    }
    assert_int_equal(flow_cache_connection_owes(s.connection, FLOW_CACHE_LOOK_UP), 0);
    assert_int_equal(flow_cache_connection_owes(s.connection, FLOW_CACHE_STORE), 0);
    close_server(&s);
}

/* A flood of look-ups that Redis is slow to answer, or of stores. */
static void neither_kind_takes_the_others_room(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FLOW_CACHE_REQUEST_KIND_COUNT; i++) {
        const enum flow_cache_request_kind kind = (enum flow_cache_request_kind)i;
        const enum flow_cache_request_kind other =
            kind == FLOW_CACHE_STORE ? FLOW_CACHE_LOOK_UP : FLOW_CACHE_STORE;
        struct server s;
        struct flow_cache_reply reply;
        open_greeted(&s);
        for (size_t sent = 0; sent < FLOW_CACHE_IN_FLIGHT_MAX; sent++) {
            assert_true(flow_cache_connection_has_room(s.connection, kind));
            send_request(&s, kind, 0);
        }
        assert_false(flow_cache_connection_has_room(s.connection, kind));
        for (size_t sent = 0; sent < FLOW_CACHE_IN_FLIGHT_MAX; sent++) {
            assert_true(flow_cache_connection_has_room(s.connection, other));
            send_request(&s, other, 0);
        }
        assert_false(flow_cache_connection_has_room(s.connection, other));
        say(&s, kind == FLOW_CACHE_STORE ? "+OK\r\n" : "$0\r\n\r\n");
        assert_int_equal(take(&s, &reply), FLOW_CACHE_REPLY);
        assert_true(flow_cache_connection_has_room(s.connection, kind));
        assert_false(flow_cache_connection_has_room(s.connection, other));
        close_server(&s);
    }
}

static void an_answer_may_come_byte_by_byte(void **state)
{
    struct server s;
    struct flow_cache_reply reply;
    (void)state;
    open_greeted(&s);
    send_request(&s, FLOW_CACHE_LOOK_UP, 5);
    for (size_t i = 0; value[i] != '\0'; i++) {
        const char text[] = {value[i], '\0'};
        say(&s, text);
        assert_int_equal(take(&s, &reply),
                         value[i + 1] == '\0' ? FLOW_CACHE_REPLY : FLOW_CACHE_NONE);
    }
    assert_int_equal(reply.result, FLOW_CACHE_FOUND);
    assert_int_equal(reply.flow.instance_id, 0x5eed0001);
    close_server(&s);
}

static void a_hostile_answer_ends_the_connection(void **state)
{
    static const char *const row[] = {
        "*1\r\n$1\r\na\r\n",
        "*0\r\n",
        "*2147483647\r\n",
        "*4294967297\r\n",
        "garbage\r\n",

        "$-2\r\n",
        ":x\r\n",
        "\r\n",
        "%1\r\n",
        "*1\r\n*1\r\n*1\r\n",
        "HTTP/1.1 400",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct server s;
        struct flow_cache_reply reply;
        open_greeted(&s);
        send_request(&s, FLOW_CACHE_LOOK_UP, 0);
        say(&s, row[i]);
        if (take(&s, &reply) != FLOW_CACHE_BROKEN) {
            fail_msg("\"%s\" was taken", row[i]);
        }
        assert_true(s.fault.text[0] != '\0');
        close_server(&s);
    }
}

static void an_answer_without_end_is_not_kept(void **state)
{
    enum { PIECE = 4096 };
    static char piece[PIECE + 1];
    struct server s;
    struct flow_cache_reply reply;
    size_t sent = 0;
    enum flow_cache_taken taken = FLOW_CACHE_NONE;
    (void)state;
    open_greeted(&s);
    send_request(&s, FLOW_CACHE_LOOK_UP, 0);
    memset(piece, 'x', PIECE);
    say(&s, "$500000000\r\n");
    while (taken == FLOW_CACHE_NONE) {
        say(&s, piece);
        sent += PIECE;
        taken = take(&s, &reply);
    }
    assert_int_equal(taken, FLOW_CACHE_BROKEN);
    assert_in_range(sent, FLOW_CACHE_ANSWER_BYTES_MAX - PIECE,
                    FLOW_CACHE_ANSWER_BYTES_MAX + 2 * PIECE);
    close_server(&s);
}

static void an_answer_that_nobody_asked_for_ends_the_connection(void **state)
{
    struct server s;
    struct flow_cache_reply reply;
    (void)state;
    open_greeted(&s);
    say(&s, "+OK\r\n");
    assert_int_equal(take(&s, &reply), FLOW_CACHE_BROKEN);
    close_server(&s);
}

static void a_server_that_hangs_up_ends_the_connection(void **state)
{
    struct server s;
    struct flow_cache_reply reply;
    (void)state;
    open_greeted(&s);
    far_end_hang_up(&s.far_end);
    assert_int_equal(take(&s, &reply), FLOW_CACHE_BROKEN);
    close_server(&s);
}

static void an_answer_that_is_a_second_late_ends_the_connection(void **state)
{
    struct server s;
    (void)state;
    open_greeted(&s);
    send_request(&s, FLOW_CACHE_LOOK_UP, 0);
    const uint64_t late_us = START_US + FLOW_CACHE_PATIENCE_US;
    assert_int_equal(flow_cache_connection_next_timeout(s.connection), late_us);
    assert_true(flow_cache_connection_tick(s.connection, &s.fault, late_us - 1));
    assert_false(flow_cache_connection_tick(s.connection, &s.fault, late_us));
    assert_string_equal(s.fault.text, "no answer to GETRANGE within 1000 ms");
    close_server(&s);
}

static void a_server_that_takes_connections_and_says_nothing_is_given_up(void **state)
{
    struct server s;
    (void)state;
    open_silent(&s, "redis://127.0.0.1:1");
    assert_true(flow_cache_connection_tick(s.connection, &s.fault, START_US + US_PER_S - 1));
    assert_false(flow_cache_connection_tick(s.connection, &s.fault, START_US + US_PER_S));
    assert_false(flow_cache_connection_is_greeted(s.connection));
    close_server(&s);
}

static void an_idle_connection_is_asked_whether_it_lives(void **state)
{
    struct server s;
    struct flow_cache_reply reply;
    char text[256];
    (void)state;
    open_greeted(&s);
    const uint64_t idle_us = START_US + FLOW_CACHE_IDLE_US;
    assert_true(flow_cache_connection_tick(s.connection, &s.fault, idle_us - 1));
    assert_false(flow_cache_connection_has_output(s.connection));
    assert_true(flow_cache_connection_tick(s.connection, &s.fault, idle_us));
    hear(&s, "PING\r\n", text, sizeof(text));
    say(&s, "+PONG\r\n");
    assert_int_equal(take(&s, &reply), FLOW_CACHE_NONE);
    assert_true(flow_cache_connection_next_timeout(s.connection) > idle_us);
    close_server(&s);
}

static void a_client_without_a_text_is_not_asked_for(void **state)
{
    struct server s;
    struct flow_cache_request request = {.kind = FLOW_CACHE_LOOK_UP};
    (void)state;
    open_greeted(&s);
    assert_true(net_addr_parse("[fe80::1]:5", &request.key.client));
    request.key.client.scope = 2;
    assert_false(flow_cache_connection_send(s.connection, &request, START_US));
    assert_int_equal(flow_cache_connection_owes(s.connection, FLOW_CACHE_LOOK_UP), 0);
    assert_false(flow_cache_connection_has_output(s.connection));
    close_server(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_introduces_itself_in_order),
        cmocka_unit_test(no_copy_of_the_password_stays_behind),
        cmocka_unit_test(a_greeting_that_is_refused_is_a_fault_that_says_why),
        cmocka_unit_test(commands_are_those_of_the_documents),
        cmocka_unit_test(answers_belong_to_requests_in_their_order),
        cmocka_unit_test(neither_kind_takes_the_others_room),
        cmocka_unit_test(an_answer_may_come_byte_by_byte),
        cmocka_unit_test(a_hostile_answer_ends_the_connection),
        cmocka_unit_test(an_answer_without_end_is_not_kept),
        cmocka_unit_test(an_answer_that_nobody_asked_for_ends_the_connection),
        cmocka_unit_test(a_server_that_hangs_up_ends_the_connection),
        cmocka_unit_test(an_answer_that_is_a_second_late_ends_the_connection),
        cmocka_unit_test(a_server_that_takes_connections_and_says_nothing_is_given_up),
        cmocka_unit_test(an_idle_connection_is_asked_whether_it_lives),
        cmocka_unit_test(a_client_without_a_text_is_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
