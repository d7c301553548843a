/* backend_payload_fuzz.c - every control payload, of any bytes: refused or read, text ended */
#include "common/backend_link/backend_message.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char text[BACKEND_TEXT_CAP])
{
    assert(memchr(text, '\0', BACKEND_TEXT_CAP) != NULL);
}

static void decode_reports(struct bytes_view payload)
{
    struct backend_connected connected;
    struct backend_flushed flushed;
    struct backend_playback playback;
    struct backend_speech speech;
    struct backend_dtmf dtmf;
    struct backend_net_stats stats;
    (void)!backend_connected_decode(payload, &connected);
    (void)!backend_flushed_decode(payload, &flushed);
    if (backend_playback_decode(payload, &playback)) {
        assert(playback.state != NULL);
    }
    if (backend_speech_decode(payload, &speech)) {
        assert(speech.level_dbov <= 0);
    }
    if (backend_dtmf_decode(payload, &dtmf)) {
        assert(dtmf.digit != '\0');
    }
    if (backend_net_stats_decode(payload, &stats)) {
        assert(stats.loss_per_mille <= 1000);
    }
}

static void decode_messages(struct bytes_view payload)
{
    struct backend_channel channel;
    struct backend_sideband sideband;
    if (backend_channel_decode(payload, &channel)) {
        check_text(channel.label);
    }
    (void)!backend_sideband_decode(payload, &sideband);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bytes_view payload = bytes_view_of(data, size);
    struct backend_hello hello;
    struct backend_start_request start;
    struct backend_accept accept;
    struct backend_reject reject;
    struct backend_end end;
    struct backend_error error;
    struct backend_go_away go_away;
    struct backend_resume resume;
    struct backend_ended ended;
    if (backend_hello_decode(payload, &hello)) {
        check_text(hello.name);
        assert(hello.format_count <= BACKEND_FORMATS_MAX);
    }
    if (backend_start_decode(payload, &start)) {
        check_text(start.call_id);
        assert(start.in_count <= BACKEND_FORMATS_MAX && start.out_count <= BACKEND_FORMATS_MAX);
    }
    if (backend_accept_decode(payload, &accept)) {
        assert(accept.in.codec == BACKEND_CODEC_NONE || backend_format_name(accept.in) != NULL);
    }
    if (backend_reject_decode(payload, &reject)) {
        check_text(reject.message);
    }
    if (backend_end_decode(payload, &end)) {
        check_text(end.reason);
    }
    if (backend_error_decode(payload, &error)) {
        check_text(error.message);
    }
    if (backend_go_away_decode(payload, &go_away)) {
        check_text(go_away.reason);
    }
    if (backend_resume_decode(payload, &resume)) {
        assert(strlen(resume.token) < BACKEND_TOKEN_CAP);
    }
    if (backend_ended_decode(payload, &ended)) {
        check_text(ended.reason);
    }
    decode_reports(payload);
    decode_messages(payload);
    return 0;
}
