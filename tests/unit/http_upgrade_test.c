/* http_upgrade_test.c - which heads ask for a WebSocket, and what they say */
#include "tests/testing.h"

#include "services/signaling/http_upgrade.h"

#include <stdio.h>

#define LINE    "GET /v1/realtime?call_id=rtc_a&x=%20 HTTP/1.1\r\n"
#define HOST    "Host: x\r\n"
#define ASKED   "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

static void a_good_head_gives_all_that_a_judge_asks_for(void **state)
{
    (void)state;
    struct http_upgrade upgrade;
    struct http_response refusal;
    assert_int_equal(
        http_upgrade_read(bytes_view_of_text(LINE HOST ASKED VERSION KEY
                                             "Authorization: Bearer k\r\n"
                                             "Origin: https://a.example\r\n"
                                             "Sec-WebSocket-Protocol: realtime, b\r\n\r\n"),
                          &upgrade, &refusal),
        HTTP_UPGRADE_SOCKET);
    assert_true(is_text(upgrade.path, "/v1/realtime"));
    assert_true(is_text(upgrade.query, "call_id=rtc_a&x=%20"));
    assert_true(is_text(upgrade.authorization, "Bearer k"));
    assert_true(is_text(upgrade.origin, "https://a.example"));
    assert_true(is_text(upgrade.subprotocols, "realtime, b"));
}

static void heads_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        enum http_upgrade_kind kind;
    } row[] = {
        {LINE HOST "\r\n", HTTP_UPGRADE_NONE},
        {LINE HOST ASKED VERSION KEY "\r\n", HTTP_UPGRADE_SOCKET},
        {"GET / HTTP/1.1\r\n" HOST ASKED VERSION KEY "\r\n", HTTP_UPGRADE_SOCKET},
        {LINE HOST "connection:UPGRADE\r\nupgrade:WEBSOCKET\r\n" VERSION KEY "\r\n",
         HTTP_UPGRADE_SOCKET},
        {LINE HOST "Connection: Upgraded\r\nUpgrade: websocket\r\n" VERSION KEY "\r\n",
         HTTP_UPGRADE_NONE},
        {LINE HOST "Upgrade: websocket\r\n" VERSION KEY "\r\n", HTTP_UPGRADE_NONE},
        {LINE HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", HTTP_UPGRADE_NONE},
        {"GET / HTTP/1.0\r\n" HOST ASKED VERSION KEY "\r\n", HTTP_UPGRADE_NONE},
        {"POST / HTTP/1.1\r\n" HOST ASKED VERSION KEY "\r\n", HTTP_UPGRADE_NONE},
        {LINE HOST "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n", HTTP_UPGRADE_BAD},
        {LINE HOST "Upgrade: TLS/1.0\r\n\r\n", HTTP_UPGRADE_BAD},
        {LINE ASKED VERSION KEY "\r\n", HTTP_UPGRADE_BAD},
        {LINE HOST ASKED KEY "\r\n", HTTP_UPGRADE_BAD},
        {LINE HOST ASKED VERSION "\r\n", HTTP_UPGRADE_BAD},
        {LINE HOST ASKED VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n\r\n",
         HTTP_UPGRADE_BAD},
        {LINE HOST ASKED VERSION "Sec-WebSocket-Key: =GhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
         HTTP_UPGRADE_BAD},
        {LINE HOST ASKED VERSION KEY "Content-Length: 0\r\n\r\n", HTTP_UPGRADE_BAD},
        {LINE HOST ASKED VERSION KEY "Transfer-Encoding: chunked\r\n\r\n", HTTP_UPGRADE_BAD},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct http_upgrade upgrade;
        struct http_response refusal = {0};
        const enum http_upgrade_kind kind =
            http_upgrade_read(bytes_view_of_text(row[i].head), &upgrade, &refusal);
        if (kind != row[i].kind) {
            fail_msg("%d instead of %d: %s", kind, row[i].kind, row[i].head);
        }
        assert_int_equal(refusal.status, kind == HTTP_UPGRADE_BAD ? 400 : 0);
    }
}

/* The judge would look at one, and whoever stands before or behind us at the other. */
static void a_field_that_may_stand_once_is_refused_twice(void **state)
{
    (void)state;
    static const char *const fields[] = {
        HOST,
        "Authorization: Bearer a\r\n",
        "Origin: https://a.example\r\n",
        "Content-Length:\r\n",
        "Transfer-Encoding:\r\n",
        KEY,
        VERSION,
        "Upgrade: websocket\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        char head[512];
        struct http_upgrade upgrade;
        struct http_response refusal = {0};
        (void)snprintf(head, sizeof(head), "%s%s%s%s", LINE HOST ASKED VERSION KEY, fields[i],
                       fields[i], "\r\n");
        assert_int_equal(http_upgrade_read(bytes_view_of_text(head), &upgrade, &refusal),
                         HTTP_UPGRADE_BAD);
        assert_int_equal(refusal.status, 400);
    }
}

static void the_key_of_a_browser_is_found_in_the_list(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *key;
    } row[] = {
        {"realtime, openai-insecure-api-key.sk-1_a, openai-beta.realtime-v1", "sk-1_a"},
        {"openai-insecure-api-key.k", "k"},
        {"realtime,\topenai-insecure-api-key.k \t", "k"},
        {"openai-insecure-api-key.", ""},
        {"xopenai-insecure-api-key.k", ""},
        {"realtime", ""},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_true(is_text(http_upgrade_offered_key(bytes_view_of_text(row[i].list)), row[i].key));
    }
}

static void only_the_first_name_can_be_answered(void **state)
{
    (void)state;
    const struct bytes_view list = bytes_view_of_text(" realtime ,b");
    assert_true(http_upgrade_can_answer(list, "realtime"));
    assert_false(http_upgrade_can_answer(list, "b"));
    assert_false(http_upgrade_can_answer(list, "Realtime"));
    assert_false(http_upgrade_can_answer(list, NULL));
    assert_true(http_upgrade_can_answer(bytes_view_of(NULL, 0), NULL));
    assert_false(http_upgrade_can_answer(bytes_view_of(NULL, 0), "realtime"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_head_gives_all_that_a_judge_asks_for),
        cmocka_unit_test(heads_are_told_apart),
        cmocka_unit_test(a_field_that_may_stand_once_is_refused_twice),
        cmocka_unit_test(the_key_of_a_browser_is_found_in_the_list),
        cmocka_unit_test(only_the_first_name_can_be_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
