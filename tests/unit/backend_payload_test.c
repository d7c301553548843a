/* backend_payload_test.c - defaults, wrong types, and nothing too long */
#include "tests/testing.h"

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"

#include <stdlib.h>

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
    assert_false(hello.can_resume);
    assert_true(backend_accept_decode(bytes_view_of_text("{\"future\":[1]}"), &accept));
    assert_int_equal(accept.prebuffer_ms, 20);
    assert_int_equal(accept.in.rate_khz, 24);
    assert_false(accept.pauses_on_speech);
    struct backend_go_away go_away;
    assert_true(backend_go_away_decode(bytes_view_of_text("{}"), &go_away));
    assert_true(go_away.deadline_us == TIME_NEVER);
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
        "{\"resume\":1}",
    };
    for (size_t i = 0; i < COUNT_OF(hello_text); i++) {
        struct backend_hello hello;
        assert_false(backend_hello_decode(bytes_view_of_text(hello_text[i]), &hello));
    }
    struct backend_accept accept;
    assert_false(backend_accept_decode(bytes_view_of_text("{\"in\":24000}"), &accept));
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
        .can_resume = true,
        .heartbeat_ms = 500};
    char text[512];
    const size_t len = backend_hello_encode(&in, text, sizeof(text));
    struct backend_hello out;
    assert_true(len > 0 && backend_hello_decode(bytes_view_of(text, len), &out));
    assert_string_equal(out.instance, "0001");
    assert_int_equal(out.format_count, 2);
    assert_true(backend_format_equal(out.format[1], in.format[1]));
    assert_int_equal(out.heartbeat_ms, 500);
    assert_true(out.can_resume);
    assert_int_equal(backend_hello_encode(&in, text, 20), 0);
}

static void the_session_json_goes_through_unread(void **state)
{
    (void)state;
    struct backend_start start = {.call_id = "rtc_1",
                                  .in = {{BACKEND_CODEC_PCM16, 16}},
                                  .in_count = 1,
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

static void a_start_has_room_for_every_byte_of_its_text_escaped(void **state)
{
    (void)state;
    static char json[1000];
    char control[65];
    memset(control, '\x1f', sizeof(control) - 1);
    control[sizeof(control) - 1] = '\0';
    memset(json, '1', sizeof(json));
    const struct bytes_view text_of_controls = bytes_view_of_text(control);
    const struct backend_start start = {
        .call_id = control,
        .resume_token = "00112233445566778899aabbccddeeff",
        .in = {{1, 24}, {1, 16}, {1, 48}, {1, 8}, {2, 48}, {3, 8}, {4, 8}, {1, 24}},
        .in_count = BACKEND_FORMATS_MAX,
        .out = {{1, 24}, {1, 16}, {1, 48}, {1, 8}, {2, 48}, {3, 8}, {4, 8}, {1, 24}},
        .out_count = BACKEND_FORMATS_MAX,
        .credit_us = INT64_MAX,
        .wall_clock_us = INT64_MAX,
        .trace_id = text_of_controls,
        .client_agent = text_of_controls,
        .client_language = text_of_controls,
        .client_place = text_of_controls,
        .session_json = bytes_view_of(json, sizeof(json)),
        .expires_at_s = INT64_MAX,
    };
    const size_t cap = backend_start_cap(&start);
    char *text = malloc(cap);
    assert_true(backend_start_encode(&start, text, cap) > 0);
    free(text);
}

static void a_start_of_256_kilobytes_is_the_longest(void **state)
{
    (void)state;
    static char json[BACKEND_MESSAGE_BYTES_MAX];
    static char text[2 * BACKEND_MESSAGE_BYTES_MAX];
    memset(json, '1', sizeof(json));
    struct backend_start start = {.call_id = "c", .session_json = bytes_view_of(json, 1)};
    const size_t without = backend_start_encode(&start, text, sizeof(text)) - 1;
    start.session_json.len = BACKEND_MESSAGE_BYTES_MAX - without;
    assert_int_equal(backend_start_encode(&start, text, sizeof(text)), BACKEND_MESSAGE_BYTES_MAX);
    start.session_json.len++;
    assert_int_equal(backend_start_encode(&start, text, sizeof(text)), 0);
}

static void a_backend_reads_what_a_transceiver_starts_with(void **state)
{
    (void)state;
    const struct backend_start start = {.call_id = "rtc_1",
                                        .in = {{BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_OPUS, 48}},
                                        .in_count = 2,
                                        .out = {{BACKEND_CODEC_PCM16, 24}},
                                        .out_count = 1,
                                        .credit_us = 5000000,
                                        .resume_token = "00112233445566778899aabbccddeeff",
                                        .is_restarted = true,
                                        .session_json = bytes_view_of_text("{\"in\":[]}"),
                                        .has_events = false,
                                        .message_bytes_max = 65536};
    char text[1024];
    const size_t len = backend_start_encode(&start, text, sizeof(text));
    struct backend_start_request got;
    assert_true(len > 0 && backend_start_decode(bytes_view_of(text, len), &got));
    assert_string_equal(got.call_id, "rtc_1");
    assert_int_equal(got.in_count, 2);
    assert_int_equal(got.out_count, 1);
    assert_true(backend_format_equal(got.in[1], start.in[1]));
    assert_true(backend_format_equal(got.out[0], start.out[0]));
    assert_int_equal(got.credit_us, 5000000);
    assert_int_equal(got.message_bytes_max, 65536);
    assert_false(got.has_events);
    assert_true(got.is_restarted);
    assert_string_equal(got.resume_token, start.resume_token);
    assert_true(backend_start_decode(bytes_view_of_text("{}"), &got));
    assert_int_equal(got.credit_us, 10000000);
    assert_int_equal(got.message_bytes_max, 262144);
    assert_string_equal(backend_format_name(got.in[0]), "pcm16/24000");
    assert_true(got.has_events);
    assert_false(got.is_restarted);
    assert_string_equal(got.resume_token, "");
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

static void an_accept_survives_a_round_trip(void **state)
{
    (void)state;
    const struct backend_accept in = {{BACKEND_CODEC_PCM16, 24},
                                      {BACKEND_CODEC_PCM16, 16},
                                      .prebuffer_ms = 40,
                                      .progress_ms = 9,
                                      .pauses_on_speech = true};
    char text[256];
    const size_t len = backend_accept_encode(&in, text, sizeof(text));
    struct backend_accept out;
    assert_true(len > 0 && backend_accept_decode(bytes_view_of(text, len), &out));
    assert_true(backend_format_equal(out.in, in.in) && backend_format_equal(out.out, in.out));
    assert_int_equal(out.prebuffer_ms, 40);
    assert_int_equal(out.progress_ms, 9);
    assert_true(out.pauses_on_speech);
}

static void an_accept_of_an_unknown_format_is_read_as_no_format(void **state)
{
    (void)state;
    struct backend_accept out;
    assert_true(backend_accept_decode(
        bytes_view_of_text("{\"in\":\"mp3/44100\",\"out\":\"opus/48000\"}"), &out));
    assert_int_equal(out.in.codec, BACKEND_CODEC_NONE);
    assert_null(backend_format_name(out.in));
    assert_string_equal(backend_format_name(out.out), "opus/48000");
}

static void a_resume_survives_a_round_trip(void **state)
{
    (void)state;
    const struct backend_resume in = {
        .call_id = "rtc_1",
        .token = "00112233445566778899aabbccddeeff",
        .next_token = "ffeeddccbbaa99887766554433221100",
        .position = {5, 2000000, 7000000, 1240000, 17000000},
        .audio_in_from_us = 9000000,
    };
    char text[512];
    const size_t len = backend_resume_encode(&in, text, sizeof(text));
    struct backend_resume out;
    assert_true(len > 0 && backend_resume_decode(bytes_view_of(text, len), &out));
    assert_string_equal(out.call_id, in.call_id);
    assert_string_equal(out.token, in.token);
    assert_string_equal(out.next_token, in.next_token);
    assert_int_equal(out.position.utterance, 5);
    assert_int_equal(out.position.received_us, 2000000);
    assert_int_equal(out.position.received_total_us, 7000000);
    assert_int_equal(out.position.sent_us, 1240000);
    assert_int_equal(out.position.credit_us, 17000000);
    assert_int_equal(out.audio_in_from_us, in.audio_in_from_us);
    for (size_t cut = 1; cut < len; cut++) {
        assert_false(backend_resume_decode(bytes_view_of(text, cut), &out));
    }
}

static void a_go_away_survives_a_round_trip_with_and_without_a_deadline(void **state)
{
    (void)state;
    const uint64_t deadline_us[] = {0, 30 * US_PER_S, TIME_NEVER};
    for (size_t i = 0; i < COUNT_OF(deadline_us); i++) {
        const struct backend_go_away in = {"shutdown", deadline_us[i]};
        char text[128];
        struct backend_go_away out;
        const size_t len = backend_go_away_encode(&in, text, sizeof(text));
        assert_true(len > 0 && backend_go_away_decode(bytes_view_of(text, len), &out));
        assert_string_equal(out.reason, "shutdown");
        assert_true(out.deadline_us == deadline_us[i]);
    }
}

static void ends_survive_a_round_trip(void **state)
{
    (void)state;
    char text[256];
    for (int drained = 0; drained < 2; drained++) {
        const struct backend_end in = {.reason = "x", .when_drained = drained != 0};
        struct backend_end out;
        const size_t len = backend_end_encode(&in, text, sizeof(text));
        assert_true(len > 0 && backend_end_decode(bytes_view_of(text, len), &out));
        assert_int_equal(out.when_drained, drained);
    }
    const struct backend_ended in = {"hangup", 60000000, 40000000};
    struct backend_ended out;
    const size_t len = backend_ended_encode(&in, text, sizeof(text));
    assert_true(len > 0 && backend_ended_decode(bytes_view_of(text, len), &out));
    assert_string_equal(out.reason, "hangup");
    assert_int_equal(out.audio_in_frames, 60000000);
    assert_int_equal(out.audio_out_us, 40000000);
    assert_true(backend_ended_decode(bytes_view_of_text("{}"), &out));
    assert_false(backend_ended_decode(bytes_view_of_text("{\"totals\":[]}"), &out));
}

static void an_error_and_a_reject_survive_a_round_trip(void **state)
{
    (void)state;
    char text[256];
    const struct backend_error error = {"credit", "m", true, BACKEND_AUDIO_OUT, 77};
    struct backend_error error_out;
    size_t len = backend_error_encode(&error, text, sizeof(text));
    assert_true(len > 0 && backend_error_decode(bytes_view_of(text, len), &error_out));
    assert_string_equal(error_out.code, "credit");
    assert_true(error_out.is_fatal);
    assert_int_equal(error_out.type, BACKEND_AUDIO_OUT);
    assert_int_equal(error_out.sequence, 77);
    const struct backend_reject reject = {"no_session", "m", true};
    struct backend_reject reject_out;
    len = backend_reject_encode(&reject, text, sizeof(text));
    assert_true(len > 0 && backend_reject_decode(bytes_view_of(text, len), &reject_out));
    assert_string_equal(reject_out.code, "no_session");
    assert_true(reject_out.retry_elsewhere);
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
        cmocka_unit_test(a_start_has_room_for_every_byte_of_its_text_escaped),
        cmocka_unit_test(a_start_of_256_kilobytes_is_the_longest),
        cmocka_unit_test(an_accept_survives_a_round_trip),
        cmocka_unit_test(an_accept_of_an_unknown_format_is_read_as_no_format),
        cmocka_unit_test(a_resume_survives_a_round_trip),
        cmocka_unit_test(a_go_away_survives_a_round_trip_with_and_without_a_deadline),
        cmocka_unit_test(ends_survive_a_round_trip),
        cmocka_unit_test(an_error_and_a_reject_survive_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
