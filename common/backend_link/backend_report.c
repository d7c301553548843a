/* backend_report.c - see backend_report.h */
#include "common/backend_link/backend_report.h"

#include "common/backend_link/backend_json.h"
#include "common/backend_link/backend_payload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define LEVEL_DBOV_MIN (-127.0)
#define MS_MAX         (UINT32_MAX / 1000)

/* Reports are told between packets, so they are written without the heap: numbers, and words that
 * need no escape. 0 when it does not fit. */
__attribute__((format(printf, 3, 4))) static size_t write_report(char *text, size_t cap,
                                                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(text, cap, format, arguments);
    va_end(arguments);
    return len < 0 || (size_t)len >= cap ? 0 : (size_t)len;
}

static struct backend_json open_report(struct bytes_view payload)
{
    return backend_json_open(payload, BACKEND_PAYLOAD_BYTES_MAX, BACKEND_JSON_DEPTH_MAX);
}

bool backend_connected_decode(struct bytes_view payload, struct backend_connected *out)
{
    struct backend_json o = open_report(payload);
    char transport[BACKEND_TEXT_CAP];
    backend_json_text(&o, "transport", "udp", transport, sizeof(transport));
    out->is_tcp = strcmp(transport, "tcp") == 0;
    out->setup_us = backend_json_u32(&o, "setup_ms", 0) * UINT64_C(1000);
    return backend_json_close(&o);
}

size_t backend_connected_encode(const struct backend_connected *in, char *text, size_t cap)
{
    return write_report(text, cap, "{\"transport\":\"%s\",\"setup_ms\":%" PRIu64 "}",
                        in->is_tcp ? "tcp" : "udp", in->setup_us / 1000);
}

bool backend_flushed_decode(struct bytes_view payload, struct backend_flushed *out)
{
    struct backend_json o = open_report(payload);
    out->utterance = backend_json_u32(&o, "utterance", 0);
    out->sent_us = backend_json_u64(&o, "sent_us", INT64_MAX, 0);
    out->heard_us = backend_json_u64(&o, "heard_us", INT64_MAX, 0);
    out->dropped_us = backend_json_u64(&o, "dropped_us", INT64_MAX, 0);
    return backend_json_close(&o);
}

size_t backend_flushed_encode(const struct backend_flushed *in, char *text, size_t cap)
{
    return write_report(text, cap,
                        "{\"utterance\":%" PRIu32 ",\"sent_us\":%" PRIu64 ",\"heard_us\":%" PRIu64
                        ",\"dropped_us\":%" PRIu64 "}",
                        in->utterance, in->sent_us, in->heard_us, in->dropped_us);
}

bool backend_playback_decode(struct bytes_view payload, struct backend_playback *out)
{
    static const char *const known_state[] = {"started", "progress", "underrun",
                                              "paused",  "resumed",  "done"};
    struct backend_json o = open_report(payload);
    *out = (struct backend_playback){.state = ""};
    char state[BACKEND_TEXT_CAP];
    backend_json_text(&o, "state", "", state, sizeof(state));
    for (size_t i = 0; i < COUNT_OF(known_state); i++) {
        if (strcmp(state, known_state[i]) == 0) {
            out->state = known_state[i];
        }
    }
    out->utterance = backend_json_u32(&o, "utterance", 0);
    out->sent_us = backend_json_u64(&o, "sent_us", INT64_MAX, 0);
    out->heard_us = backend_json_u64(&o, "heard_us", INT64_MAX, 0);
    out->queued_us = backend_json_u64(&o, "queued_us", INT64_MAX, 0);
    return backend_json_close(&o);
}

size_t backend_playback_encode(const struct backend_playback *in, char *text, size_t cap)
{
    const bool has_reason = in->reason != NULL;
    return write_report(text, cap,
                        "{\"utterance\":%" PRIu32 ",\"state\":\"%s\",\"sent_us\":%" PRIu64
                        ",\"heard_us\":%" PRIu64 ",\"queued_us\":%" PRIu64 "%s%s%s}",
                        in->utterance, in->state, in->sent_us, in->heard_us, in->queued_us,
                        has_reason ? ",\"reason\":\"" : "", has_reason ? in->reason : "",
                        has_reason ? "\"" : "");
}

bool backend_speech_decode(struct bytes_view payload, struct backend_speech *out)
{
    struct backend_json o = open_report(payload);
    char state[BACKEND_TEXT_CAP];
    backend_json_text(&o, "state", "", state, sizeof(state));
    out->is_started = strcmp(state, "started") == 0;
    o.failed = o.failed || (!out->is_started && strcmp(state, "stopped") != 0);
    out->level_dbov = (int)backend_json_number(&o, "level_dbov", LEVEL_DBOV_MIN, 0);
    return backend_json_close(&o);
}

size_t backend_speech_encode(const struct backend_speech *in, char *text, size_t cap)
{
    return write_report(text, cap, "{\"state\":\"%s\",\"level_dbov\":%d}",
                        in->is_started ? "started" : "stopped", in->level_dbov);
}

bool backend_dtmf_decode(struct bytes_view payload, struct backend_dtmf *out)
{
    struct backend_json o = open_report(payload);
    char digit[BACKEND_TEXT_CAP];
    backend_json_text(&o, "digit", "", digit, sizeof(digit));
    out->digit = digit[0];
    out->duration_ms = backend_json_u32(&o, "duration_ms", 0);
    o.failed = o.failed || strlen(digit) != 1 || strchr("0123456789*#ABCD", digit[0]) == NULL;
    return backend_json_close(&o);
}

size_t backend_dtmf_encode(const struct backend_dtmf *in, char *text, size_t cap)
{
    return write_report(text, cap, "{\"digit\":\"%c\",\"duration_ms\":%" PRIu32 "}", in->digit,
                        in->duration_ms);
}

bool backend_net_stats_decode(struct bytes_view payload, struct backend_net_stats *out)
{
    struct backend_json o = open_report(payload);
    out->loss_per_mille = (uint32_t)(backend_json_number(&o, "loss", 0, 1) * 1000 + 0.5);
    out->jitter_us = (uint32_t)(backend_json_number(&o, "jitter_ms", 0, MS_MAX) * 1000 + 0.5);
    out->rtt_us = (uint32_t)(backend_json_number(&o, "rtt_ms", 0, MS_MAX) * 1000 + 0.5);
    out->concealed_ms = backend_json_u32(&o, "concealed_ms", 0);
    out->fec_ms = backend_json_u32(&o, "fec_ms", 0);
    out->red_ms = backend_json_u32(&o, "red_ms", 0);
    out->late = backend_json_u32(&o, "late", 0);
    out->level_dbov = (int)backend_json_number(&o, "level_dbov", LEVEL_DBOV_MIN, 0);
    out->drift_ppm = (int)backend_json_number(&o, "drift_ppm", INT32_MIN, INT32_MAX);
    return backend_json_close(&o);
}

size_t backend_net_stats_encode(const struct backend_net_stats *in, char *text, size_t cap)
{
    return write_report(
        text, cap,
        "{\"loss\":%.3f,\"jitter_ms\":%.3f,\"rtt_ms\":%.3f,\"concealed_ms\":%" PRIu32
        ",\"fec_ms\":%" PRIu32 ",\"red_ms\":%" PRIu32 ",\"late\":%" PRIu32
        ",\"level_dbov\":%d,\"drift_ppm\":%d}",
        in->loss_per_mille / 1000.0, in->jitter_us / 1000.0, in->rtt_us / 1000.0, in->concealed_ms,
        in->fec_ms, in->red_ms, in->late, in->level_dbov, in->drift_ppm);
}
