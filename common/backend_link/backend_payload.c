/* backend_payload.c - see backend_payload.h */
#include "common/backend_link/backend_payload.h"

#include "common/backend_link/backend_json.h"
#include "common/base/time_us.h"

#define HEARTBEAT_MS_DEFAULT 1000
#define SESSIONS_MAX_DEFAULT 4096
#define PREBUFFER_MS_DEFAULT 20
#define PROGRESS_MS_DEFAULT  200
#define CREDIT_US_DEFAULT    10000000

/* The keys of SESSION_START, its numbers and the names of formats. */
#define START_BYTES_FIXED 1024
/* One byte of text may become \u001f. */
#define ESCAPED_BYTES_MAX 6

static struct backend_json open_payload(struct bytes_view payload)
{
    return backend_json_open(payload, BACKEND_PAYLOAD_BYTES_MAX, BACKEND_JSON_DEPTH_MAX);
}

/* --- formats ---------------------------------------------------------------------------------- */

/* Returns how many formats were put out; names we do not know are left out. */
static size_t read_formats(struct backend_json *o, const char *key,
                           struct backend_format out[BACKEND_FORMATS_MAX])
{
    const json_t *list = json_object_get(o->object, key);
    if (list == NULL) {
        out[0] = (struct backend_format){BACKEND_CODEC_PCM16, 24};
        return 1;
    }
    o->failed = o->failed || !json_is_array(list);
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list) && count < BACKEND_FORMATS_MAX; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL && backend_format_parse(name, &out[count])) {
            count++;
        }
    }
    return count;
}

static struct backend_format read_format(struct backend_json *o, const char *key)
{
    char name[BACKEND_TEXT_CAP];
    struct backend_format format;
    backend_json_text(o, key, "pcm16/24000", name, sizeof(name));
    /* A name that is not known is a wrong codec, not wrong JSON. */
    return backend_format_parse(name, &format) ? format : (struct backend_format){0};
}

static json_t *format_list(const struct backend_format *format, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, json_string(backend_format_name(format[i])));
    }
    return list;
}

/* --- the connection --------------------------------------------------------------------------- */

bool backend_hello_decode(struct bytes_view payload, struct backend_hello *out)
{
    struct backend_json o = open_payload(payload);
    *out = (struct backend_hello){0};
    const json_t *versions = json_object_get(o.object, "versions");
    o.failed = o.failed || (versions != NULL && !json_is_array(versions));
    out->speaks_version_1 = versions == NULL;
    for (size_t i = 0; i < json_array_size(versions); i++) {
        if (json_integer_value(json_array_get(versions, i)) == 1) {
            out->speaks_version_1 = true;
        }
    }
    backend_json_text(&o, "name", "", out->name, sizeof(out->name));
    backend_json_text(&o, "instance", "", out->instance, sizeof(out->instance));
    out->session_count_max = backend_json_u32(&o, "max_sessions", SESSIONS_MAX_DEFAULT);
    out->can_resume = backend_json_bool(&o, "resume", false);
    out->heartbeat_ms = backend_json_u32(&o, "heartbeat_ms", HEARTBEAT_MS_DEFAULT);
    out->format_count = read_formats(&o, "codecs", out->format);
    return backend_json_close(&o);
}

size_t backend_hello_encode(const struct backend_hello *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:[i], s:s, s:s, s:o, s:I, s:b, s:I}", "versions", 1,
                                       "name", in->name, "instance", in->instance, "codecs",
                                       format_list(in->format, in->format_count), "max_sessions",
                                       (json_int_t)in->session_count_max, "resume", in->can_resume,
                                       "heartbeat_ms", (json_int_t)in->heartbeat_ms),
                             text, cap);
}

bool backend_go_away_decode(struct bytes_view payload, struct backend_go_away *out)
{
    struct backend_json o = open_payload(payload);
    backend_json_text(&o, "reason", "", out->reason, sizeof(out->reason));
    const bool has_deadline = json_object_get(o.object, "deadline_ms") != NULL;
    const uint64_t deadline_ms = backend_json_u32(&o, "deadline_ms", 0);
    out->deadline_us = has_deadline ? deadline_ms * US_PER_MS : TIME_NEVER;
    return backend_json_close(&o);
}

size_t backend_go_away_encode(const struct backend_go_away *in, char *text, size_t cap)
{
    json_t *go_away = json_pack("{s:s}", "reason", in->reason);
    if (in->deadline_us != TIME_NEVER) {
        (void)json_object_set_new(go_away, "deadline_ms",
                                  json_integer((json_int_t)(in->deadline_us / US_PER_MS)));
    }
    return backend_json_dump(go_away, text, cap);
}

bool backend_error_decode(struct bytes_view payload, struct backend_error *out)
{
    struct backend_json o = open_payload(payload);
    backend_json_text(&o, "code", "internal", out->code, sizeof(out->code));
    backend_json_text(&o, "message", "", out->message, sizeof(out->message));
    out->is_fatal = backend_json_bool(&o, "fatal", false);
    out->type = (uint8_t)backend_json_u64(&o, "type", UINT8_MAX, 0);
    out->sequence = backend_json_u32(&o, "sequence", 0);
    return backend_json_close(&o);
}

size_t backend_error_encode(const struct backend_error *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:s, s:b, s:s, s:I, s:I}", "code", in->code, "fatal",
                                       in->is_fatal, "message", in->message, "type",
                                       (json_int_t)in->type, "sequence", (json_int_t)in->sequence),
                             text, cap);
}

/* --- the start of a session ------------------------------------------------------------------- */

bool backend_start_decode(struct bytes_view payload, struct backend_start_request *out)
{
    struct backend_json o =
        backend_json_open(payload, BACKEND_MESSAGE_BYTES_MAX, BACKEND_START_DEPTH_MAX);
    *out = (struct backend_start_request){0};
    backend_json_text(&o, "call_id", "", out->call_id, sizeof(out->call_id));
    backend_json_text(&o, "resume_token", "", out->resume_token, sizeof(out->resume_token));
    out->in_count = read_formats(&o, "in", out->in);
    out->out_count = read_formats(&o, "out", out->out);
    out->credit_us = backend_json_u64(&o, "credit_us", INT64_MAX, CREDIT_US_DEFAULT);
    out->message_bytes_max = backend_json_u32(&o, "max_message_bytes", BACKEND_MESSAGE_BYTES_MAX);
    out->expires_at_s = backend_json_u64(&o, "expires_at", INT64_MAX, 0);
    out->has_events = backend_json_bool(&o, "events", true);
    out->is_restarted = backend_json_bool(&o, "restarted", false);
    return backend_json_close(&o);
}

/* Foreign text that is not UTF-8 is left out rather than refused. */
static json_t *text_or_empty(struct bytes_view view)
{
    json_t *text = json_stringn((const char *)view.data, view.len);
    return text == NULL ? json_string("") : text;
}

static json_t *start_object(const struct backend_start *in)
{
    json_t *client =
        json_pack("{s:o, s:o, s:o}", "agent", text_or_empty(in->client_agent), "language",
                  text_or_empty(in->client_language), "place", text_or_empty(in->client_place));
    json_t *start = json_pack(
        "{s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:I, s:b}", "call_id", in->call_id, "in",
        format_list(in->in, in->in_count), "out", format_list(in->out, in->out_count), "credit_us",
        (json_int_t)in->credit_us, "wall_clock_us", (json_int_t)in->wall_clock_us, "trace_id",
        text_or_empty(in->trace_id), "client", client, "events", in->has_events,
        "max_message_bytes", (json_int_t)in->message_bytes_max, "restarted", in->is_restarted);
    if (in->resume_token != NULL) {
        (void)json_object_set_new(start, "resume_token", json_string(in->resume_token));
    }
    if (in->expires_at_s != 0) {
        (void)json_object_set_new(start, "expires_at", json_integer((json_int_t)in->expires_at_s));
    }
    return start;
}

size_t backend_start_encode(const struct backend_start *in, char *text, size_t cap)
{
    static const char session_key[] = ",\"session\":";
    const struct bytes_view session =
        in->session_json.len > 0 ? in->session_json : bytes_view_of_text("{}");
    size_t len = backend_json_dump(start_object(in), text, cap);
    /* The session is somebody's JSON: its bytes go in as they are, before the last brace. */
    if (len == 0 || cap - len < sizeof(session_key) - 1 + session.len) {
        return 0;
    }
    len--;
    memcpy(text + len, session_key, sizeof(session_key) - 1);
    len += sizeof(session_key) - 1;
    memcpy(text + len, session.data, session.len);
    len += session.len;
    text[len] = '}';
    return len + 1 <= BACKEND_MESSAGE_BYTES_MAX ? len + 1 : 0;
}

size_t backend_start_cap(const struct backend_start *in)
{
    const size_t escaped = strlen(in->call_id) + in->trace_id.len + in->client_agent.len +
                           in->client_language.len + in->client_place.len;
    return START_BYTES_FIXED + ESCAPED_BYTES_MAX * escaped + in->session_json.len;
}

bool backend_resume_decode(struct bytes_view payload, struct backend_resume *out)
{
    struct backend_json o = open_payload(payload);
    backend_json_text(&o, "call_id", "", out->call_id, sizeof(out->call_id));
    backend_json_text(&o, "resume_token", "", out->token, sizeof(out->token));
    backend_json_text(&o, "next_resume_token", "", out->next_token, sizeof(out->next_token));
    out->position.utterance = backend_json_u32(&o, "utterance", 0);
    out->position.received_us = backend_json_u64(&o, "received_us", INT64_MAX, 0);
    out->position.received_total_us = backend_json_u64(&o, "received_total_us", INT64_MAX, 0);
    out->position.sent_us = backend_json_u64(&o, "sent_us", INT64_MAX, 0);
    out->position.credit_us = backend_json_u64(&o, "credit_us", INT64_MAX, CREDIT_US_DEFAULT);
    out->audio_in_from_us = backend_json_u64(&o, "audio_in_from_us", INT64_MAX, 0);
    return backend_json_close(&o);
}

size_t backend_resume_encode(const struct backend_resume *in, char *text, size_t cap)
{
    const struct backend_position *position = &in->position;
    return backend_json_dump(
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "call_id", in->call_id,
                  "resume_token", in->token, "next_resume_token", in->next_token, "utterance",
                  (json_int_t)position->utterance, "received_us", (json_int_t)position->received_us,
                  "received_total_us", (json_int_t)position->received_total_us, "sent_us",
                  (json_int_t)position->sent_us, "audio_in_from_us",
                  (json_int_t)in->audio_in_from_us, "credit_us", (json_int_t)position->credit_us),
        text, cap);
}

bool backend_accept_decode(struct bytes_view payload, struct backend_accept *out)
{
    struct backend_json o = open_payload(payload);
    char on_speech[BACKEND_TEXT_CAP];
    out->in = read_format(&o, "in");
    out->out = read_format(&o, "out");
    out->prebuffer_ms = backend_json_u32(&o, "prebuffer_ms", PREBUFFER_MS_DEFAULT);
    out->progress_ms = backend_json_u32(&o, "progress_ms", PROGRESS_MS_DEFAULT);
    backend_json_text(&o, "on_speech", "hint", on_speech, sizeof(on_speech));
    out->pauses_on_speech = strcmp(on_speech, "pause") == 0;
    return backend_json_close(&o);
}

size_t backend_accept_encode(const struct backend_accept *in, char *text, size_t cap)
{
    return backend_json_dump(
        json_pack("{s:s, s:s, s:I, s:I, s:s}", "in", backend_format_name(in->in), "out",
                  backend_format_name(in->out), "prebuffer_ms", (json_int_t)in->prebuffer_ms,
                  "progress_ms", (json_int_t)in->progress_ms, "on_speech",
                  in->pauses_on_speech ? "pause" : "hint"),
        text, cap);
}

bool backend_reject_decode(struct bytes_view payload, struct backend_reject *out)
{
    struct backend_json o = open_payload(payload);
    backend_json_text(&o, "code", "rejected", out->code, sizeof(out->code));
    backend_json_text(&o, "message", "", out->message, sizeof(out->message));
    out->retry_elsewhere = backend_json_bool(&o, "retry_elsewhere", false);
    return backend_json_close(&o);
}

size_t backend_reject_encode(const struct backend_reject *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:s, s:s, s:b}", "code", in->code, "message", in->message,
                                       "retry_elsewhere", in->retry_elsewhere),
                             text, cap);
}

/* --- the end of a session --------------------------------------------------------------------- */

bool backend_end_decode(struct bytes_view payload, struct backend_end *out)
{
    struct backend_json o = open_payload(payload);
    char when[BACKEND_TEXT_CAP];
    backend_json_text(&o, "reason", "backend", out->reason, sizeof(out->reason));
    backend_json_text(&o, "when", "now", when, sizeof(when));
    out->when_drained = strcmp(when, "drained") == 0;
    return backend_json_close(&o);
}

size_t backend_end_encode(const struct backend_end *in, char *text, size_t cap)
{
    json_t *end = json_pack("{s:s}", "reason", in->reason);
    if (in->when_drained) {
        (void)json_object_set_new(end, "when", json_string("drained"));
    }
    return backend_json_dump(end, text, cap);
}

bool backend_ended_decode(struct bytes_view payload, struct backend_ended *out)
{
    struct backend_json o = open_payload(payload);
    *out = (struct backend_ended){0};
    backend_json_text(&o, "reason", "", out->reason, sizeof(out->reason));
    json_t *totals = json_object_get(o.object, "totals");
    if (totals != NULL) {
        struct backend_json t = {json_incref(totals), !json_is_object(totals)};
        out->audio_in_frames = backend_json_u64(&t, "audio_in_frames", INT64_MAX, 0);
        out->audio_out_us = backend_json_u64(&t, "audio_out_us", INT64_MAX, 0);
        o.failed = !backend_json_close(&t) || o.failed;
    }
    return backend_json_close(&o);
}

size_t backend_ended_encode(const struct backend_ended *in, char *text, size_t cap)
{
    return backend_json_dump(json_pack("{s:s, s:{s:I, s:I}}", "reason", in->reason, "totals",
                                       "audio_in_frames", (json_int_t)in->audio_in_frames,
                                       "audio_out_us", (json_int_t)in->audio_out_us),
                             text, cap);
}
