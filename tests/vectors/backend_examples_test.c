/* backend_examples_test.c - every example in docs/backend-protocol.md is what the code produces */
#include "tests/vectors/documented_examples.h"

#include "common/backend_link/backend_payload.h"

#define DOCUMENT "docs/backend-protocol.md"

#define CALL_ID_TEXT "rtc_H0-PHtjQYoeTQjD284teUfQ"

static void header(struct backend_frame frame, char *text)
{
    uint8_t out[BACKEND_FRAME_HEADER_BYTES];
    backend_frame_encode_header(&frame, out);
    write_hex(out, sizeof(out), text);
}

/* Only its length counts for a header. */
static const uint8_t pcm[4800];

static void audio_in(char *text)
{
    header((struct backend_frame){.type = BACKEND_AUDIO_IN,
                                  .flags = BACKEND_AUDIO_CONCEALED,
                                  .session = 7,
                                  .sequence = 9,
                                  .time_us = 123456,
                                  .utterance = 0x1774,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = 24,
                                  .channels = 1,
                                  .duration_2500us = 8,
                                  .payload = bytes_view_of(pcm, 960)},
           text);
}

static void audio_out(char *text)
{
    header((struct backend_frame){.type = BACKEND_AUDIO_OUT,
                                  .flags = BACKEND_FLAG_LAST,
                                  .session = 7,
                                  .sequence = 40,
                                  .utterance = 5,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = 24,
                                  .channels = 1,
                                  .payload = bytes_view_of(pcm, 4800)},
           text);
}

static void flush(char *text)
{
    header(
        (struct backend_frame){.type = BACKEND_FLUSH, .session = 7, .sequence = 41, .utterance = 5},
        text);
}

static void flushed_payload(char *text)
{
    const struct backend_flushed in = {5, 1240000, 1130000, 2760000};
    text[backend_flushed_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void flushed(char *text)
{
    char payload[TEXT_CAP];
    flushed_payload(payload);
    header((struct backend_frame){.type = BACKEND_FLUSHED,
                                  .session = 7,
                                  .sequence = 212,
                                  .time_us = 9876543,
                                  .utterance = 5,
                                  .payload = bytes_view_of_text(payload)},
           text);
}

static void credit(char *text)
{
    const uint8_t limit_us[8] = {0x80, 0xba, 0x8c, 0x01}; /* 26,000,000, little-endian */
    header((struct backend_frame){.type = BACKEND_CREDIT,
                                  .session = 7,
                                  .sequence = 213,
                                  .time_us = 9900000,
                                  .payload = bytes_view_of(limit_us, sizeof(limit_us))},
           text);
    const size_t len = strlen(text);
    assert_true(
        bytes_to_hex(bytes_view_of(limit_us, sizeof(limit_us)), text + len, TEXT_CAP - len));
}

static void hello(char *text)
{
    struct backend_hello in = {.name = "t1",
                               .instance = "5eed0001",
                               .format = {{BACKEND_CODEC_PCM16, 24},
                                          {BACKEND_CODEC_PCM16, 16},
                                          {BACKEND_CODEC_PCM16, 48},
                                          {BACKEND_CODEC_PCM16, 8},
                                          {BACKEND_CODEC_OPUS, 48}},
                               .format_count = 5,
                               .session_count_max = 251,
                               .can_resume = true,
                               .heartbeat_ms = 1000};
    text[backend_hello_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_start(char *text)
{
    const struct backend_start in = {.call_id = CALL_ID_TEXT,
                                     .message_bytes_max = BACKEND_MESSAGE_BYTES_MAX,
                                     .has_events = true,
                                     .in = {{BACKEND_CODEC_PCM16, 24},
                                            {BACKEND_CODEC_PCM16, 16},
                                            {BACKEND_CODEC_PCM16, 48},
                                            {BACKEND_CODEC_PCM16, 8},
                                            {BACKEND_CODEC_OPUS, 48}},
                                     .in_count = 5,
                                     .out = {{BACKEND_CODEC_PCM16, 24},
                                             {BACKEND_CODEC_PCM16, 16},
                                             {BACKEND_CODEC_PCM16, 48},
                                             {BACKEND_CODEC_PCM16, 8},
                                             {BACKEND_CODEC_OPUS, 48}},
                                     .out_count = 5,
                                     .credit_us = 10000000,
                                     .wall_clock_us = 1790000000000000,
                                     .resume_token = "00112233445566778899aabbccddeeff",
                                     .expires_at_s = 1790003600,
                                     .client_agent = bytes_view_of_text("curl/7.88.1"),
                                     .client_language = bytes_view_of_text("en")};
    text[backend_start_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_accept(char *text)
{
    const struct backend_format format = {BACKEND_CODEC_PCM16, 24};
    const struct backend_accept in = {format, format, 20, 200, false};
    text[backend_accept_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_reject(char *text)
{
    const struct backend_reject in = {
        .code = "overload", .message = "sessions_max is reached", .retry_elsewhere = true};
    text[backend_reject_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void connected(char *text)
{
    const struct backend_connected in = {.setup_us = 184000};
    text[backend_connected_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void playback(char *text)
{
    const struct backend_playback in = {.utterance = 5,
                                        .state = "done",
                                        .reason = "flushed",
                                        .sent_us = 1240000,
                                        .heard_us = 1130000};
    text[backend_playback_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void speech(char *text)
{
    const struct backend_speech in = {.is_started = true, .level_dbov = -23};
    text[backend_speech_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void dtmf(char *text)
{
    const struct backend_dtmf in = {.digit = '5', .duration_ms = 120};
    text[backend_dtmf_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_resume(char *text)
{
    const struct backend_resume in = {.call_id = CALL_ID_TEXT,
                                      .token = "00112233445566778899aabbccddeeff",
                                      .next_token = "ffeeddccbbaa99887766554433221100",
                                      .position = {.utterance = 5,
                                                   .received_us = 4000000,
                                                   .received_total_us = 16000000,
                                                   .sent_us = 1240000,
                                                   .credit_us = 24000000},
                                      .audio_in_from_us = 61200000};
    text[backend_resume_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void net_stats(char *text)
{
    const struct backend_net_stats in = {.loss_per_mille = 125,
                                         .jitter_us = 1875,
                                         .rtt_us = 48123,
                                         .concealed_ms = 20,
                                         .level_dbov = -31,
                                         .drift_ppm = -12};
    text[backend_net_stats_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_ended(char *text)
{
    const struct backend_ended in = {"backend_ended", 3000, 40000000};
    text[backend_ended_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_end(char *text)
{
    const struct backend_end in = {.reason = "client_closed"};
    text[backend_end_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void error(char *text)
{
    const struct backend_error in = {.code = "sequence", .is_fatal = true};
    text[backend_error_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static const struct example example[] = {
    {"AUDIO_IN header", audio_in},
    {"AUDIO_OUT header", audio_out},
    {"FLUSH", flush},
    {"FLUSHED header", flushed},
    {"FLUSHED payload", flushed_payload},
    {"CREDIT", credit},
    {"HELLO", hello},
    {"SESSION_START", session_start},
    {"SESSION_ACCEPT", session_accept},
    {"SESSION_REJECT", session_reject},
    {"CONNECTED", connected},
    {"PLAYBACK", playback},
    {"SPEECH", speech},
    {"DTMF", dtmf},
    {"SESSION_END", session_end},
    {"SESSION_ENDED", session_ended},
    {"SESSION_RESUME", session_resume},
    {"NET_STATS", net_stats},
    {"ERROR", error},
};

static void each_example_of_the_code_stands_in_the_document(void **state)
{
    (void)state;
    assert_stand_in(DOCUMENT, example, COUNT_OF(example));
}

static void no_example_stands_there_that_nobody_checks(void **state)
{
    (void)state;
    assert_no_others_in(DOCUMENT, example, COUNT_OF(example));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_example_of_the_code_stands_in_the_document),
        cmocka_unit_test(no_example_stands_there_that_nobody_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
