/* backend_report_test.c - what is told of a call: round trips, defaults, wrong values */
#include "tests/testing.h"

#include "common/backend_link/backend_report.h"

#include <stdlib.h>

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

static void flushed_and_connected_survive_a_round_trip(void **state)
{
    (void)state;
    char text[256];
    const struct backend_flushed flushed = {5, 1240000, 1130000, 2760000};
    struct backend_flushed flushed_out;
    size_t len = backend_flushed_encode(&flushed, text, sizeof(text));
    assert_true(len > 0 && backend_flushed_decode(bytes_view_of(text, len), &flushed_out));
    assert_int_equal(flushed_out.utterance, 5);
    assert_int_equal(flushed_out.sent_us, 1240000);
    assert_int_equal(flushed_out.heard_us, 1130000);
    assert_int_equal(flushed_out.dropped_us, 2760000);
    const struct backend_connected connected = {true, 184000};
    struct backend_connected connected_out;
    len = backend_connected_encode(&connected, text, sizeof(text));
    assert_true(len > 0 && backend_connected_decode(bytes_view_of(text, len), &connected_out));
    assert_true(connected_out.is_tcp);
    assert_int_equal(connected_out.setup_us, 184000);
}

static void speech_survives_a_round_trip_and_has_two_states(void **state)
{
    (void)state;
    for (int is_started = 0; is_started < 2; is_started++) {
        const struct backend_speech in = {is_started != 0, -31};
        struct backend_speech out;
        char text[64];
        const size_t len = backend_speech_encode(&in, text, sizeof(text));
        assert_true(len > 0 && backend_speech_decode(bytes_view_of(text, len), &out));
        assert_int_equal(out.is_started, is_started);
        assert_int_equal(out.level_dbov, -31);
    }
    struct backend_speech out;
    assert_false(backend_speech_decode(bytes_view_of_text("{\"state\":\"maybe\"}"), &out));
    assert_false(backend_speech_decode(
        bytes_view_of_text("{\"state\":\"started\",\"level_dbov\":1}"), &out));
}

static void a_digit_survives_a_round_trip_and_is_one_of_sixteen(void **state)
{
    (void)state;
    static const char digits[] = "0123456789*#ABCD";
    struct backend_dtmf out;
    for (size_t i = 0; i < sizeof(digits) - 1; i++) {
        const struct backend_dtmf in = {digits[i], 2000};
        char text[64];
        const size_t len = backend_dtmf_encode(&in, text, sizeof(text));
        assert_true(len > 0 && backend_dtmf_decode(bytes_view_of(text, len), &out));
        assert_int_equal(out.digit, digits[i]);
        assert_int_equal(out.duration_ms, 2000);
    }
    assert_false(backend_dtmf_decode(bytes_view_of_text("{\"digit\":\"E\"}"), &out));
    assert_false(backend_dtmf_decode(bytes_view_of_text("{\"digit\":\"11\"}"), &out));
    assert_false(backend_dtmf_decode(bytes_view_of_text("{\"digit\":\"\"}"), &out));
}

static void net_stats_survive_a_round_trip_to_the_microsecond(void **state)
{
    (void)state;
    const struct backend_net_stats in = {12, 1875, 48123, 40, 20, 60, 3, -127, -250};
    char text[256];
    const size_t len = backend_net_stats_encode(&in, text, sizeof(text) - 1);
    struct backend_net_stats out;
    assert_true(len > 0 && backend_net_stats_decode(bytes_view_of(text, len), &out));
    assert_memory_equal(&in, &out, sizeof(in));
    text[len] = '\0';
    assert_string_equal(text, "{\"loss\":0.012,\"jitter_ms\":1.875,\"rtt_ms\":48.123,"
                              "\"concealed_ms\":40,\"fec_ms\":20,\"red_ms\":60,\"late\":3,"
                              "\"level_dbov\":-127,\"drift_ppm\":-250}");
    for (size_t cap = 0; cap < len; cap++) {
        assert_int_equal(backend_net_stats_encode(&in, text, cap), 0);
    }
    assert_false(backend_net_stats_decode(bytes_view_of_text("{\"loss\":1.5}"), &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(playback_survives_a_round_trip_and_an_unknown_state),
        cmocka_unit_test(flushed_and_connected_survive_a_round_trip),
        cmocka_unit_test(speech_survives_a_round_trip_and_has_two_states),
        cmocka_unit_test(a_digit_survives_a_round_trip_and_is_one_of_sixteen),
        cmocka_unit_test(net_stats_survive_a_round_trip_to_the_microsecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
