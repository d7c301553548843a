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

static void a_backend_reads_what_a_transceiver_starts_with(void **state)
{
    (void)state;
    const struct backend_start start = {
        .call_id = "rtc_1",
        .format = {{BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_OPUS, 48}},
        .format_count = 2,
        .credit_us = 5000000,
        .session_json = bytes_view_of_text("{\"in\":[]}"),
        .has_events = false};
    char text[1024];
    const size_t len = backend_start_encode(&start, text, sizeof(text));
    struct backend_start_request got;
    assert_true(len > 0 && backend_start_decode(bytes_view_of(text, len), &got));
    assert_string_equal(got.call_id, "rtc_1");
    assert_int_equal(got.in_count, 2);
    assert_int_equal(got.out_count, 2);
    assert_true(backend_format_equal(got.out[1], start.format[1]));
    assert_int_equal(got.credit_us, 5000000);
    assert_false(got.has_events);
    assert_true(backend_start_decode(bytes_view_of_text("{}"), &got));
    assert_int_equal(got.credit_us, 10000000);
    assert_int_equal(got.message_bytes_max, 262144);
    assert_string_equal(backend_format_name(got.in[0]), "pcm16/24000");
    assert_true(got.has_events);
    assert_false(backend_start_decode(bytes_view_of_text("{\"credit_us\":-1}"), &got));
    assert_false(backend_start_decode(bytes_view_of_text("{\"in\":\"pcm16/24000\"}"), &got));
}

/* {"a":{"a": ... {"a":0} ... }} with depth braces */
static size_t nested(size_t depth, char *text)
{
    size_t len = 0;
    for (size_t i = 0; i < depth; i++) {
        memcpy(text + len, "{\"a\":", 5);
        len += 5;
    }
    text[len++] = '0';
    memset(text + len, '}', depth);
    return len + depth;
}

static void depth_ends_at_8_and_in_a_start_at_32(void **state)
{
    (void)state;
    char text[512];
    struct backend_end end;
    struct backend_start_request start;
    assert_true(backend_end_decode(bytes_view_of(text, nested(8, text)), &end));
    assert_false(backend_end_decode(bytes_view_of(text, nested(9, text)), &end));
    assert_true(backend_start_decode(bytes_view_of(text, nested(32, text)), &start));
    assert_false(backend_start_decode(bytes_view_of(text, nested(33, text)), &start));
}

static void playback_survives_a_round_trip_and_an_unknown_state(void **state)
{
    (void)state;
    const struct backend_playback in = {
        .utterance = 5, .state = "done", .reason = "flushed", .sent_us = 3, .queued_us = 4};
    char text[256];
    const size_t len = backend_playback_encode(&in, text, sizeof(text));
    struct backend_playback out;
    assert_true(len > 0 && backend_playback_decode(bytes_view_of(text, len), &out));
    assert_int_equal(out.utterance, 5);
    assert_string_equal(out.state, "done");
    assert_int_equal(out.sent_us, 3);
    assert_int_equal(out.queued_us, 4);
    assert_true(backend_playback_decode(bytes_view_of_text("{\"state\":\"new\"}"), &out));
    assert_string_equal(out.state, "");
    assert_false(backend_playback_decode(bytes_view_of_text("{\"utterance\":\"5\"}"), &out));
}

static void an_accept_survives_a_round_trip(void **state)
{
    (void)state;
    const struct backend_accept in = {
        {BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_PCM16, 16}, .prebuffer_ms = 40, .progress_ms = 9};
    char text[256];
    const size_t len = backend_accept_encode(&in, text, sizeof(text));
    struct backend_accept out;
    assert_true(len > 0 && backend_accept_decode(bytes_view_of(text, len), &out));
    assert_memory_equal(&in, &out, sizeof(in));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_keys_get_the_protocol_defaults),
        cmocka_unit_test(wrong_types_and_broken_json_are_refused),
        cmocka_unit_test(a_version_list_without_ours_is_seen),
        cmocka_unit_test(a_hello_survives_a_round_trip),
        cmocka_unit_test(the_session_json_goes_through_unread),
        cmocka_unit_test(a_backend_reads_what_a_transceiver_starts_with),
        cmocka_unit_test(depth_ends_at_8_and_in_a_start_at_32),
        cmocka_unit_test(playback_survives_a_round_trip_and_an_unknown_state),
        cmocka_unit_test(an_accept_survives_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
