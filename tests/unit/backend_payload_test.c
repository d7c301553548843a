/* backend_payload_test.c - defaults, wrong types, and nothing too long */
#include "tests/testing.h"

#include "common/backend_link/backend_payload.h"

static void missing_keys_get_the_protocol_defaults(void **state)
{
    (void)state;
    struct backend_hello hello;
    struct backend_accept accept;
    struct backend_end end;
    assert_true(backend_hello_decode(bytes_view_of_text("{}"), &hello));
    assert_true(hello.speaks_version_1);
    assert_int_equal(hello.format_count, 1);
    assert_string_equal(backend_format_name(hello.format[0]), "pcm16/24000");
    assert_int_equal(hello.session_count_max, 4096);
    assert_int_equal(hello.heartbeat_ms, 1000);
    assert_true(backend_accept_decode(bytes_view_of_text("{\"future\":[1]}"), &accept));
    assert_int_equal(accept.prebuffer_ms, 20);
    assert_int_equal(accept.in.rate_khz, 24);
    assert_true(backend_end_decode(bytes_view_of_text("{}"), &end));
    assert_false(end.when_drained);
}

static void wrong_types_and_broken_json_are_refused(void **state)
{
    (void)state;
    static const char *const hello_text[] = {
        "",
        "[]",
        "{",
        "{\"name\":1}",
        "{} {}",
        "{\"heartbeat_ms\":-1}",
        "{\"a\":\xff}",
        "{\"max_sessions\":4294967296}",
        "{\"codecs\":\"pcm16/24000\"}",
        "{\"versions\":1}",
    };
    for (size_t i = 0; i < COUNT_OF(hello_text); i++) {
        struct backend_hello hello;
        assert_false(backend_hello_decode(bytes_view_of_text(hello_text[i]), &hello));
    }
    struct backend_accept accept;
    assert_false(backend_accept_decode(bytes_view_of_text("{\"in\":\"mp3/44100\"}"), &accept));
    struct backend_end end;
    char long_text[BACKEND_PAYLOAD_BYTES_MAX + 1];
    memset(long_text, ' ', sizeof(long_text));
    memcpy(long_text, "{}", 2);
    assert_true(backend_end_decode(bytes_view_of(long_text, BACKEND_PAYLOAD_BYTES_MAX), &end));
    assert_false(backend_end_decode(bytes_view_of(long_text, sizeof(long_text)), &end));
}

static void a_version_list_without_ours_is_seen(void **state)
{
    (void)state;
    struct backend_hello hello;
    assert_true(backend_hello_decode(bytes_view_of_text("{\"versions\":[2,3]}"), &hello));
    assert_false(hello.speaks_version_1);
    assert_true(backend_hello_decode(bytes_view_of_text("{\"versions\":[2,1]}"), &hello));
    assert_true(hello.speaks_version_1);
}

static void a_hello_survives_a_round_trip(void **state)
{
    (void)state;
    const struct backend_hello in = {
        .name = "earshot",
        .instance = "0001",
        .format = {{BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_OPUS, 48}},
        .format_count = 2,
        .session_count_max = 7,
        .heartbeat_ms = 500};
    char text[512];
    const size_t len = backend_hello_encode(&in, text, sizeof(text));
    struct backend_hello out;
    assert_true(len > 0 && backend_hello_decode(bytes_view_of(text, len), &out));
    assert_string_equal(out.instance, "0001");
    assert_int_equal(out.format_count, 2);
    assert_true(backend_format_equal(out.format[1], in.format[1]));
    assert_int_equal(out.heartbeat_ms, 500);
    assert_int_equal(backend_hello_encode(&in, text, 20), 0);
}

static void the_session_json_goes_through_unread(void **state)
{
    (void)state;
    struct backend_start start = {.call_id = "rtc_1",
                                  .format = {{BACKEND_CODEC_PCM16, 16}},
                                  .format_count = 1,
                                  .client_agent = bytes_view_of_text("a \xff b"),
                                  .session_json = bytes_view_of_text("{\"n\":1.50}")};
    char text[1024];
    const size_t len = backend_start_encode(&start, text, sizeof(text));
    assert_true(len > 0 && len < sizeof(text));
    text[len] = '\0';
    assert_non_null(strstr(text, ",\"session\":{\"n\":1.50}}"));
    for (size_t cap = 0; cap < len; cap++) {
        assert_int_equal(backend_start_encode(&start, text, cap), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_keys_get_the_protocol_defaults),
        cmocka_unit_test(wrong_types_and_broken_json_are_refused),
        cmocka_unit_test(a_version_list_without_ours_is_seen),
        cmocka_unit_test(a_hello_survives_a_round_trip),
        cmocka_unit_test(the_session_json_goes_through_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
