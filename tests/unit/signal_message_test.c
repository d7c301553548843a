/* signal_message_test.c - messages of WebSocket signaling, good, odd and hostile */
#include "tests/testing.h"

#include "services/signaling/signal_message.h"
#include "services/signaling/socket_error.h"

#include <stdio.h>
#include <stdlib.h>

#define PWD "0123456789abcdefghijkl"

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

static enum signal_message_kind read(const char *text, struct signal_message *m)
{
    return signal_message_read(bytes_view_of_text(text), m);
}

static void an_offer_brings_its_texts_and_its_session(void **state)
{
    (void)state;
    struct signal_message m;
    assert_int_equal(read("{\"type\":\"offer\",\"sdp\":\"v=0\\r\\n\",\"key\":\"ek_a\",\"x\":[1],"
                          "\"session\":{\"type\":\"realtime\"}}",
                          &m),
                     SIGNAL_OFFER);
    assert_true(is_text(m.sdp, "v=0\r\n"));
    assert_true(is_text(m.key, "ek_a"));
    assert_true(is_text(m.session, "{\"type\":\"realtime\"}"));
    signal_message_discard(&m);
    assert_int_equal(read("{\"type\":\"offer\",\"sdp\":7,\"key\":null,\"session\":null}", &m),
                     SIGNAL_OFFER);
    assert_int_equal(m.sdp.len + m.key.len + m.session.len, 0);
    signal_message_discard(&m);
    assert_int_equal(read("{\"type\":\"offer\",\"session\":[]}", &m), SIGNAL_OFFER);
    assert_true(is_text(m.session, "[]")); /* whoever merges sessions says what is wrong */
    signal_message_discard(&m);
}

static void types_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum signal_message_kind kind;
    } row[] = {
        {"{\"type\":\"restart\"}", SIGNAL_RESTART},
        {"{\"type\":\"hangup\"}", SIGNAL_HANGUP},
        {"{\"type\":\"answer\"}", SIGNAL_UNKNOWN},
        {"{\"type\":null}", SIGNAL_UNKNOWN},
        {"{}", SIGNAL_UNKNOWN},
        {"[]", SIGNAL_NO_MESSAGE},
        {"\"offer\"", SIGNAL_NO_MESSAGE},
        {"", SIGNAL_NO_MESSAGE},
        {"{\"type\":\"hangup\"", SIGNAL_NO_MESSAGE},
        {"{\"type\":\"hangup\"}{}", SIGNAL_NO_MESSAGE},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct signal_message m;
        assert_int_equal(read(row[i].text, &m), row[i].kind);
        signal_message_discard(&m);
    }
}

static void depth_and_members_are_bounded(void **state)
{
    (void)state;
    struct signal_message m;
    char text[3 * SIGNAL_MESSAGE_MEMBERS_MAX];
    for (int over = 0; over <= 1; over++) {
        const int depth = SIGNAL_MESSAGE_DEPTH_MAX - 1 + over;
        (void)snprintf(text, sizeof(text), "{\"x\":%.*s%.*s}", depth,
                       "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", depth,
                       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
        assert_int_equal(read(text, &m), over ? SIGNAL_NO_MESSAGE : SIGNAL_UNKNOWN);
        signal_message_discard(&m);
        size_t len = (size_t)snprintf(text, sizeof(text), "{\"x\":[0");
        for (int i = 2; i < SIGNAL_MESSAGE_MEMBERS_MAX + over; i++) {
            memcpy(text + len, ",0", 3);
            len += 2;
        }
        memcpy(text + len, "]}", 3);
        assert_int_equal(read(text, &m), over ? SIGNAL_NO_MESSAGE : SIGNAL_UNKNOWN);
        signal_message_discard(&m);
    }
}

static void credentials_become_a_fragment_or_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fragment; /* NULL: refused */
    } row[] = {
        {"{\"ufrag\":\"aB+/\",\"pwd\":\"" PWD "\"}", "a=ice-ufrag:aB+/\r\na=ice-pwd:" PWD "\r\n"},
        {"{\"ufrag\":\"abc\",\"pwd\":\"" PWD "\"}", NULL},
        {"{\"ufrag\":\"abcd\",\"pwd\":\"0123456789abcdefghijk\"}", NULL},
        {"{\"ufrag\":\"ab\\r\\na=x\",\"pwd\":\"" PWD "\"}", NULL},
        {"{\"ufrag\":\"abcd\"}", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct signal_message m;
        char text[SIGNAL_FRAGMENT_BYTES_MAX];
        (void)read(row[i].text, &m);
        const size_t len = signal_message_fragment(&m, text);
        assert_int_equal(len > 0, row[i].fragment != NULL);
        assert_true(len == 0 || is_text(bytes_view_of(text, len), row[i].fragment));
        signal_message_discard(&m);
    }
}

static void the_longest_credentials_fit(void **state)
{
    (void)state;
    struct signal_message m;
    char chars[258];
    char json[700];
    char text[SIGNAL_FRAGMENT_BYTES_MAX];
    memset(chars, 'x', sizeof(chars));
    for (int over = 0; over <= 1; over++) {
        (void)snprintf(json, sizeof(json), "{\"ufrag\":\"%.256s\",\"pwd\":\"%.*s\"}", chars,
                       256 + over, chars);
        (void)read(json, &m);
        assert_int_equal(signal_message_fragment(&m, text),
                         over ? 0 : 2 * 256 + strlen("a=ice-ufrag:\r\na=ice-pwd:\r\n"));
        signal_message_discard(&m);
    }
}

static void what_is_written_is_escaped(void **state)
{
    (void)state;
    char *text = signal_message_write("answer", "sdp", bytes_view_of_text("v=0\r\n\""), "rtc_1");
    assert_string_equal(text,
                        "{\"type\":\"answer\",\"sdp\":\"v=0\\r\\n\\\"\",\"call_id\":\"rtc_1\"}");
    free(text);
    text = signal_message_write("ended", "reason", bytes_view_of_text("hangup"), NULL);
    assert_string_equal(text, "{\"type\":\"ended\",\"reason\":\"hangup\"}");
    free(text);
    assert_null(signal_message_write("ended", "reason", bytes_view_of_text("\xff"), NULL));
}

static void errors_of_http_and_of_the_api_become_messages(void **state)
{
    (void)state;
    char text[SOCKET_ERROR_BYTES_MAX];
    size_t len = socket_error_message(bytes_view_of_text("{\"error\":{\"code\":\"x\"}}"), text);
    assert_true(
        is_text(bytes_view_of(text, len), "{\"type\":\"error\",\"error\":{\"code\":\"x\"}}"));
    static const char *const no_error[] = {"", "{}", "[", "\"error\""};
    for (size_t i = 0; i < COUNT_OF(no_error); i++) {
        len = socket_error_message(bytes_view_of_text(no_error[i]), text);
        assert_non_null(memmem(text, len, "\"code\":\"internal\"", 17));
    }
    char other[SOCKET_ERROR_BYTES_MAX];
    len = socket_error_event("invalid_json", "No.", text);
    assert_int_equal(socket_error_event("invalid_json", "No.", other), len);
    assert_memory_not_equal(text, other, len); /* each has an event id of its own */
    assert_non_null(memmem(text, len, "\"code\":\"invalid_json\",\"message\":\"No.\"", 36));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_brings_its_texts_and_its_session),
        cmocka_unit_test(types_are_told_apart),
        cmocka_unit_test(depth_and_members_are_bounded),
        cmocka_unit_test(credentials_become_a_fragment_or_nothing),
        cmocka_unit_test(the_longest_credentials_fit),
        cmocka_unit_test(what_is_written_is_escaped),
        cmocka_unit_test(errors_of_http_and_of_the_api_become_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
