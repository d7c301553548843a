/* http_screen_test.c - what libwebsockets may see, what it may not, and what a client is told */
#include "tests/testing.h"

#include "services/signaling/http_screen.h"

#include <stdio.h>

static enum http_screen_verdict look(const char *text)
{
    return http_screen_look(bytes_view_of_text(text));
}

static void expect(const char *text, enum http_screen_verdict verdict)
{
    const enum http_screen_verdict seen = look(text);
    if (seen != verdict) {
        print_error("%.60s: %d, wanted %d\n", text, (int)seen, (int)verdict);
    }
    assert_int_equal(seen, verdict);
}

static void a_first_line_is_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum http_screen_verdict verdict;
    } row[] = {
        {"GET / HTTP/1.1", HTTP_SCREEN_PASS},
        {"HEAD / HTTP/1.0", HTTP_SCREEN_PASS},
        {"POST /v1/realtime/calls?model=a&b=c HTTP/1.1", HTTP_SCREEN_PASS},
        {"PUT /a%20b HTTP/1.1", HTTP_SCREEN_PASS},
        {"PATCH /~!$'()*+,-._:@ HTTP/1.9", HTTP_SCREEN_PASS},
        {"DELETE //x HTTP/1.1", HTTP_SCREEN_PASS},
        {"OPTIONS /x HTTP/1.1", HTTP_SCREEN_PASS},
        {"OPTIONS * HTTP/1.1", HTTP_SCREEN_ASTERISK},
        {"GET * HTTP/1.1", HTTP_SCREEN_TARGET},
        {"GET http://x/healthz HTTP/1.1", HTTP_SCREEN_TARGET},
        {"GET x HTTP/1.1", HTTP_SCREEN_TARGET},
        {"GET ?x HTTP/1.1", HTTP_SCREEN_TARGET},
        {"TRACE / HTTP/1.1", HTTP_SCREEN_METHOD},
        {"CONNECT x:1 HTTP/1.1", HTTP_SCREEN_METHOD},
        {"get / HTTP/1.1", HTTP_SCREEN_METHOD},
        {"GETS / HTTP/1.1", HTTP_SCREEN_METHOD},
        {"GE / HTTP/1.1", HTTP_SCREEN_METHOD},
        {"GET /%zz HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /%2 HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /% HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /%00 HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /%0a?%zz HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /%aF%0g HTTP/1.1", HTTP_SCREEN_ESCAPE},
        {"GET /%aF HTTP/1.1", HTTP_SCREEN_PASS},
        {"PRI * HTTP/2.0", HTTP_SCREEN_VERSION},
        {"GET / HTTP/0.9", HTTP_SCREEN_VERSION},
        {"GET /", HTTP_SCREEN_REQUEST_LINE},
        {"GET / ", HTTP_SCREEN_REQUEST_LINE},
        {"GET", HTTP_SCREEN_REQUEST_LINE},
        {"GET  / HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET /  HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/1.1 ", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/1.10", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/1", HTTP_SCREEN_REQUEST_LINE},
        {"GET / http/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/x.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/1.x", HTTP_SCREEN_REQUEST_LINE},
        {"GET / HTTP/1,1", HTTP_SCREEN_REQUEST_LINE},
        {" GET / HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET /\x7f HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET /\xc3\xa4 HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET /\t HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"G(T / HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
        {"GET /\r HTTP/1.1", HTTP_SCREEN_REQUEST_LINE},
    };
    char text[128];
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        (void)snprintf(text, sizeof(text), "%s\r\nHost: x\r\n\r\n", row[i].line);
        expect(text, row[i].verdict);
    }
}

static void a_field_is_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum http_screen_verdict verdict;
    } row[] = {
        {"Host: x", HTTP_SCREEN_PASS},
        {"Host:", HTTP_SCREEN_PASS},
        {"X-A_b.1~!#$%&'*+^`|: \t y \t", HTTP_SCREEN_PASS},
        {"X: caf\xc3\xa9", HTTP_SCREEN_PASS},
        {"Upgrades: x", HTTP_SCREEN_PASS},
        {"Upgrade: websocket", HTTP_SCREEN_PASS},
        {"uPGRADE:h2c", HTTP_SCREEN_PASS},
        {"X", HTTP_SCREEN_FIELD},
        {"X : y", HTTP_SCREEN_FIELD},
        {": y", HTTP_SCREEN_FIELD},
        {"X y: z", HTTP_SCREEN_FIELD},
        {"X: \x01", HTTP_SCREEN_FIELD},
        {"X: \x7f", HTTP_SCREEN_FIELD},
        {"X: a\rb", HTTP_SCREEN_FIELD},
        {"X: a\r", HTTP_SCREEN_FIELD},
        {" folded", HTTP_SCREEN_FOLDED_FIELD},
        {"\tfolded", HTTP_SCREEN_FOLDED_FIELD},
    };
    char text[128];
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        (void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nA: b\r\n%s\r\n\r\n", row[i].line);
        expect(text, row[i].verdict);
    }
    static const char nul[] = "GET / HTTP/1.1\r\nX: a\0b\r\n\r\n";
    assert_int_equal(http_screen_look(bytes_view_of(nul, sizeof(nul) - 1)), HTTP_SCREEN_FIELD);
}

/* RFC 9110 s.10.1.1: no client waits in vain; in HTTP/1.0 the field says nothing. */
static void an_expectation_is_refused_at_once(void **state)
{
    (void)state;
    expect("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", HTTP_SCREEN_EXPECT);
    expect("POST /a HTTP/1.1\r\nexpect:anything\r\nHost: x\r\n\r\n", HTTP_SCREEN_EXPECT);
    expect("POST /a HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", HTTP_SCREEN_PASS);
    expect("POST /a HTTP/1.1\r\nExpected: 100-continue\r\n\r\n", HTTP_SCREEN_PASS);
    expect("POST /a HTTP/1.1\r\nX: Expect: y\r\n\r\n", HTTP_SCREEN_PASS);
}

static void a_line_ends_with_cr_and_lf(void **state)
{
    (void)state;
    expect("GET / HTTP/1.1\n", HTTP_SCREEN_LINE_END);
    expect("GET / HTTP/1.1\r\nA: b\n", HTTP_SCREEN_LINE_END);
    expect("GET / HTTP/1.1\r\n\n", HTTP_SCREEN_LINE_END);
    expect("\n", HTTP_SCREEN_LINE_END);
}

static void a_good_head_cut_anywhere_waits_for_the_rest(void **state)
{
    (void)state;
    static const char text[] = "POST /v1/realtime/calls HTTP/1.1\r\nHost: x\r\n"
                               "Content-Type: application/sdp\r\nContent-Length: 3\r\n\r\n";
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        assert_int_equal(http_screen_look(bytes_view_of(text, len)), HTTP_SCREEN_MORE);
    }
    expect(text, HTTP_SCREEN_PASS);
    char longer[256];
    (void)snprintf(longer, sizeof(longer), "%sbody: \x01\n", text);
    expect(longer, HTTP_SCREEN_PASS); /* what is behind the head is none of its business */
}

static void what_can_not_become_a_request_is_refused_with_its_first_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum http_screen_verdict verdict;
    } row[] = {
        {"\x16\x03\x01\x02", HTTP_SCREEN_REQUEST_LINE}, /* a ClientHello */
        {"GET\x01", HTTP_SCREEN_REQUEST_LINE},
        {"{\"sdp\"", HTTP_SCREEN_REQUEST_LINE},
        {"\rx", HTTP_SCREEN_REQUEST_LINE},
        {"ABCDEFGHIJKLMNOP", HTTP_SCREEN_MORE},
        {"ABCDEFGHIJKLMNOPQ", HTTP_SCREEN_REQUEST_LINE},
        {"GET \x01", HTTP_SCREEN_MORE}, /* its line is read when it is whole */
        {"\r", HTTP_SCREEN_MORE},
        {"", HTTP_SCREEN_MORE},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        expect(row[i].text, row[i].verdict);
    }
}

/* A head of so many bytes, with one long field or one long target. */
static struct bytes_view long_head(char text[HTTP_SCREEN_BYTES_MAX + 64], size_t len,
                                   bool is_target)
{
    const char *begin = is_target ? "GET /" : "GET / HTTP/1.1\r\nX: ";
    const char *end = is_target ? " HTTP/1.1\r\n\r\n" : "\r\n\r\n";
    memset(text, 'y', len);
    memcpy(text, begin, strlen(begin));
    memcpy(text + len - strlen(end), end, strlen(end));
    return bytes_view_of(text, len);
}

static void a_head_has_room_for_so_many_bytes(void **state)
{
    (void)state;
    char text[HTTP_SCREEN_BYTES_MAX + 64];
    for (int is_target = 0; is_target < 2; is_target++) {
        struct bytes_view head = long_head(text, HTTP_SCREEN_BYTES_MAX, is_target);
        assert_int_equal(http_screen_look(head), HTTP_SCREEN_PASS);
        head = long_head(text, HTTP_SCREEN_BYTES_MAX + 1, is_target);
        head.len = HTTP_SCREEN_BYTES_MAX - 1;
        assert_int_equal(http_screen_look(head), HTTP_SCREEN_MORE);
        head.len = HTTP_SCREEN_BYTES_MAX;
        assert_int_equal(http_screen_look(head), HTTP_SCREEN_LARGE);
    }
    memset(text, 'y', sizeof(text));
    memcpy(text, "GET /", 5);
    assert_int_equal(http_screen_look(bytes_view_of(text, HTTP_SCREEN_BYTES_MAX)),
                     HTTP_SCREEN_LONG_TARGET);
}

static void it_has_room_for_so_many_fields_and_separators(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        char text[1024] = "GET / HTTP/1.1\r\n";
        for (int i = 0; i < HTTP_SCREEN_FIELDS_MAX + over; i++) {
            strcat(text, "A: b\r\n");
        }
        expect(text, over ? HTTP_SCREEN_LARGE : HTTP_SCREEN_MORE);
        strcat(text, "\r\n");
        expect(text, over ? HTTP_SCREEN_LARGE : HTTP_SCREEN_PASS);
    }
    for (int over = 0; over < 2; over++) {
        char text[1024] = "GET /?";
        for (int i = 0; i < HTTP_SCREEN_SEPARATORS_MAX + over; i++) {
            strcat(text, i % 2 ? "&" : ";");
        }
        strcat(text, " HTTP/1.1\r\n\r\n");
        expect(text, over ? HTTP_SCREEN_LONG_TARGET : HTTP_SCREEN_PASS);
    }
}

static void empty_lines_ahead_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } row[] = {{"", 0},         {"\r", 0},        {"\r\n", 2},   {"\r\n\r", 2}, {"\r\n\r\n\r\n", 6},
               {"\r\nGET ", 2}, {"GET /\r\n", 0}, {"\n\r\n", 0}, {"\r\n\n", 2}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_int_equal(http_screen_empty_lines(bytes_view_of_text(row[i].text)), row[i].len);
    }
}

static void a_field_is_found_by_its_name(void **state)
{
    (void)state;
    const struct bytes_view head =
        bytes_view_of_text("GET / HTTP/1.1\r\nOrigins: a\r\nORIGIN: \t https://b \t\r\nOrigin: "
                           "c\r\nEmpty: \r\nCut: d");
    assert_true(bytes_equal(http_screen_field(head, "origin"), bytes_view_of_text("https://b")));
    assert_int_equal(http_screen_field(head, "empty").len, 0);
    assert_int_equal(http_screen_field(head, "cut").len, 0);
    const struct bytes_view with_body = bytes_view_of_text("GET / HTTP/1.1\r\n\r\nX: y\r\n");
    assert_int_equal(http_screen_field(with_body, "x").len, 0);
    assert_int_equal(http_screen_field(head, "absent").len, 0);
}

static void fields_of_a_name_are_counted(void **state)
{
    (void)state;
    const struct bytes_view head = bytes_view_of_text(
        "GET / HTTP/1.1\r\nHost: a\r\nX: Host: b\r\nHOST:\r\nHosts: c\r\n\r\nHost: body\r\n");
    assert_int_equal(http_screen_count(head, "host"), 2);
    assert_int_equal(http_screen_count(head, "x"), 1);
    assert_int_equal(http_screen_count(head, "absent"), 0);
}

static void each_refusal_says_why_in_json(void **state)
{
    (void)state;
    static const unsigned status[HTTP_SCREEN_VERDICT_COUNT] = {
        [HTTP_SCREEN_REQUEST_LINE] = 400, [HTTP_SCREEN_LINE_END] = 400,
        [HTTP_SCREEN_METHOD] = 501,       [HTTP_SCREEN_TARGET] = 400,
        [HTTP_SCREEN_ESCAPE] = 400,       [HTTP_SCREEN_VERSION] = 505,
        [HTTP_SCREEN_LONG_TARGET] = 414,  [HTTP_SCREEN_FIELD] = 400,
        [HTTP_SCREEN_FOLDED_FIELD] = 400, [HTTP_SCREEN_LARGE] = 431,
        [HTTP_SCREEN_EXPECT] = 417,
    };
    for (int verdict = HTTP_SCREEN_REQUEST_LINE; verdict < HTTP_SCREEN_VERDICT_COUNT; verdict++) {
        const struct http_response r = http_screen_answer((enum http_screen_verdict)verdict);
        assert_int_equal(r.status, status[verdict]);
        assert_string_equal(r.content_type, "application/json");
        assert_non_null(strstr(r.own_body, "\"message\":\""));
        assert_null(strstr(r.own_body, "could not say"));
    }
    const struct http_response r = http_screen_answer(HTTP_SCREEN_ASTERISK);
    assert_int_equal(r.status, 204);
    assert_true(r.is_preflight);
}

static void the_answer_to_head_has_no_body(void **state)
{
    (void)state;
    assert_true(http_screen_is_head_request(bytes_view_of_text("HEAD ")));
    assert_false(http_screen_is_head_request(bytes_view_of_text("HEAD")));
    assert_false(http_screen_is_head_request(bytes_view_of_text("HEADS /")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_line_is_read_strictly),
        cmocka_unit_test(a_field_is_read_strictly),
        cmocka_unit_test(an_expectation_is_refused_at_once),
        cmocka_unit_test(a_line_ends_with_cr_and_lf),
        cmocka_unit_test(a_good_head_cut_anywhere_waits_for_the_rest),
        cmocka_unit_test(what_can_not_become_a_request_is_refused_with_its_first_bytes),
        cmocka_unit_test(a_head_has_room_for_so_many_bytes),
        cmocka_unit_test(it_has_room_for_so_many_fields_and_separators),
        cmocka_unit_test(empty_lines_ahead_are_counted),
        cmocka_unit_test(a_field_is_found_by_its_name),
        cmocka_unit_test(fields_of_a_name_are_counted),
        cmocka_unit_test(each_refusal_says_why_in_json),
        cmocka_unit_test(the_answer_to_head_has_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
