/* backend_payload.c - see backend_payload.h */
#include "common/backend_link/backend_payload.h"

#include "common/base/json_bounds.h"

#include <jansson.h>

/* A parsed payload stays small whatever it holds. */
#define DEPTH_MAX       8
#define START_DEPTH_MAX 32
#define MEMBERS_MAX     4096

#define HEARTBEAT_MS_DEFAULT 1000
#define SESSIONS_MAX_DEFAULT 4096
#define PREBUFFER_MS_DEFAULT 20
#define PROGRESS_MS_DEFAULT  200
#define CREDIT_US_DEFAULT    10000000

static const struct {
    const char *name;
    struct backend_format format;
} known_format[] = {
    {"pcm16/8000", {BACKEND_CODEC_PCM16, 8}},   {"pcm16/16000", {BACKEND_CODEC_PCM16, 16}},
    {"pcm16/24000", {BACKEND_CODEC_PCM16, 24}}, {"pcm16/48000", {BACKEND_CODEC_PCM16, 48}},
    {"opus/48000", {BACKEND_CODEC_OPUS, 48}},   {"pcmu/8000", {BACKEND_CODEC_PCMU, 8}},
    {"pcma/8000", {BACKEND_CODEC_PCMA, 8}},
};

bool backend_format_parse(const char *name, struct backend_format *out)
{
    for (size_t i = 0; i < COUNT_OF(known_format); i++) {
        if (strcmp(known_format[i].name, name) == 0) {
            *out = known_format[i].format;
            return true;
        }
    }
    return false;
}

const char *backend_format_name(struct backend_format format)
{
    for (size_t i = 0; i < COUNT_OF(known_format); i++) {
        if (backend_format_equal(known_format[i].format, format)) {
            return known_format[i].name;
        }
    }
    return NULL;
}

/* --- decoding: typed getters over one object; a wrong type makes the whole payload wrong ------ */

struct object {
    json_t *json;
    bool failed;
};

/* The caller json_decref()s object.json, which may be NULL. */
static struct object object_parse(struct bytes_view payload, size_t bytes_max, size_t depth_max)
{
    struct object o = {0};
    if (payload.len <= bytes_max && json_bounds_hold(payload, depth_max, MEMBERS_MAX)) {
        o.json = json_loadb((const char *)payload.data, payload.len, JSON_REJECT_DUPLICATES, NULL);
    }
    o.failed = !json_is_object(o.json);
    return o;
}

static void object_text(struct object *o, const char *key, const char *fallback, char *text,
                        size_t cap)
{
    const json_t *value = json_object_get(o->json, key);
    if (value != NULL && !json_is_string(value)) {
        o->failed = true;
        value = NULL;
    }
    const char *from = value == NULL ? fallback : json_string_value(value);
    const size_t len = strnlen(from, cap - 1);
    memcpy(text, from, len);
    text[len] = '\0';
}

static uint64_t object_u64(struct object *o, const char *key, uint64_t max, uint64_t fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (value == NULL) {
        return fallback;
    }
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max) {
        o->failed = true;
        return fallback;
    }
    return (uint64_t)number;
}

static uint32_t object_u32(struct object *o, const char *key, uint32_t fallback)
{
    return (uint32_t)object_u64(o, key, UINT32_MAX, fallback);
}

static bool object_bool(struct object *o, const char *key, bool fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (value != NULL && !json_is_boolean(value)) {
        o->failed = true;
    }
    return value == NULL ? fallback : json_is_true(value);
}

static bool object_done(struct object *o)
{
    json_decref(o->json);
    return !o->failed;
}

/* Returns how many formats were put out; names we do not know are left out. */
static size_t object_formats(struct object *o, const char *key,
                             struct backend_format out[BACKEND_FORMATS_MAX])
{
    const json_t *list = json_object_get(o->json, key);
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

bool backend_hello_decode(struct bytes_view payload, struct backend_hello *out)
{
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    *out = (struct backend_hello){0};
    const json_t *versions = json_object_get(o.json, "versions");
    o.failed = o.failed || (versions != NULL && !json_is_array(versions));
    out->speaks_version_1 = versions == NULL;
    for (size_t i = 0; i < json_array_size(versions); i++) {
        if (json_integer_value(json_array_get(versions, i)) == 1) {
            out->speaks_version_1 = true;
        }
    }
    object_text(&o, "name", "", out->name, sizeof(out->name));
    object_text(&o, "instance", "", out->instance, sizeof(out->instance));
    out->session_count_max = object_u32(&o, "max_sessions", SESSIONS_MAX_DEFAULT);
    out->heartbeat_ms = object_u32(&o, "heartbeat_ms", HEARTBEAT_MS_DEFAULT);
    out->format_count = object_formats(&o, "codecs", out->format);
    return object_done(&o);
}

bool backend_start_decode(struct bytes_view payload, struct backend_start_request *out)
{
    struct object o = object_parse(payload, BACKEND_MESSAGE_BYTES_MAX, START_DEPTH_MAX);
    *out = (struct backend_start_request){0};
    object_text(&o, "call_id", "", out->call_id, sizeof(out->call_id));
    out->in_count = object_formats(&o, "in", out->in);
    out->out_count = object_formats(&o, "out", out->out);
    out->credit_us = object_u64(&o, "credit_us", INT64_MAX, CREDIT_US_DEFAULT);
    out->message_bytes_max = object_u32(&o, "max_message_bytes", BACKEND_MESSAGE_BYTES_MAX);
    out->has_events = object_bool(&o, "events", true);
    return object_done(&o);
}

static struct backend_format object_format(struct object *o, const char *key)
{
    char name[BACKEND_TEXT_CAP];
    struct backend_format format = {0};
    object_text(o, key, "pcm16/24000", name, sizeof(name));
    o->failed = !backend_format_parse(name, &format) || o->failed;
    return format;
}

bool backend_accept_decode(struct bytes_view payload, struct backend_accept *out)
{
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    out->in = object_format(&o, "in");
    out->out = object_format(&o, "out");
    out->prebuffer_ms = object_u32(&o, "prebuffer_ms", PREBUFFER_MS_DEFAULT);
    out->progress_ms = object_u32(&o, "progress_ms", PROGRESS_MS_DEFAULT);
    return object_done(&o);
}

bool backend_reject_decode(struct bytes_view payload, struct backend_reject *out)
{
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    object_text(&o, "code", "rejected", out->code, sizeof(out->code));
    object_text(&o, "message", "", out->message, sizeof(out->message));
    return object_done(&o);
}

bool backend_end_decode(struct bytes_view payload, struct backend_end *out)
{
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    char when[BACKEND_TEXT_CAP];
    object_text(&o, "reason", "backend", out->reason, sizeof(out->reason));
    object_text(&o, "when", "now", when, sizeof(when));
    out->when_drained = strcmp(when, "drained") == 0;
    return object_done(&o);
}

bool backend_error_decode(struct bytes_view payload, struct backend_error *out)
{
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    object_text(&o, "code", "internal", out->code, sizeof(out->code));
    object_text(&o, "message", "", out->message, sizeof(out->message));
    out->is_fatal = object_bool(&o, "fatal", false);
    return object_done(&o);
}

bool backend_playback_decode(struct bytes_view payload, struct backend_playback *out)
{
    static const char *const known_state[] = {"started", "progress", "underrun",
                                              "paused",  "resumed",  "done"};
    struct object o = object_parse(payload, BACKEND_PAYLOAD_BYTES_MAX, DEPTH_MAX);
    *out = (struct backend_playback){.state = ""};
    char state[BACKEND_TEXT_CAP];
    object_text(&o, "state", "", state, sizeof(state));
    for (size_t i = 0; i < COUNT_OF(known_state); i++) {
        if (strcmp(state, known_state[i]) == 0) {
            out->state = known_state[i];
        }
    }
    out->utterance = object_u32(&o, "utterance", 0);
    out->sent_us = object_u64(&o, "sent_us", INT64_MAX, 0);
    out->heard_us = object_u64(&o, "heard_us", INT64_MAX, 0);
    out->queued_us = object_u64(&o, "queued_us", INT64_MAX, 0);
    return object_done(&o);
}

/* --- encoding --------------------------------------------------------------------------------- */

/* Takes the reference to json; NULL (out of memory) gives 0. */
static size_t dump(json_t *json, char *text, size_t cap)
{
    const size_t len = json == NULL ? 0 : json_dumpb(json, text, cap, JSON_COMPACT);
    json_decref(json);
    return len <= cap ? len : 0;
}

static json_t *format_list(const struct backend_format *format, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, json_string(backend_format_name(format[i])));
    }
    return list;
}

/* Foreign text that is not UTF-8 is left out rather than refused. */
static json_t *text_or_empty(struct bytes_view view)
{
    json_t *text = json_stringn((const char *)view.data, view.len);
    return text == NULL ? json_string("") : text;
}

size_t backend_hello_encode(const struct backend_hello *in, char *text, size_t cap)
{
    return dump(json_pack("{s:[i], s:s, s:s, s:o, s:I, s:b, s:I}", "versions", 1, "name", in->name,
                          "instance", in->instance, "codecs",
                          format_list(in->format, in->format_count), "max_sessions",
                          (json_int_t)in->session_count_max, "resume", false, "heartbeat_ms",
                          (json_int_t)in->heartbeat_ms),
                text, cap);
}

size_t backend_start_encode(const struct backend_start *in, char *text, size_t cap)
{
    static const char session_key[] = ",\"session\":";
    json_t *client =
        json_pack("{s:o, s:o, s:o}", "agent", text_or_empty(in->client_agent), "language",
                  text_or_empty(in->client_language), "place", text_or_empty(in->client_place));
    json_t *start = json_pack(
        "{s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:b}", "call_id", in->call_id, "in",
        format_list(in->format, in->format_count), "out", format_list(in->format, in->format_count),
        "credit_us", (json_int_t)in->credit_us, "wall_clock_us", (json_int_t)in->wall_clock_us,
        "trace_id", text_or_empty(in->trace_id), "client", client, "events", in->has_events,
        "restarted", false);
    const struct bytes_view session =
        in->session_json.len > 0 ? in->session_json : bytes_view_of_text("{}");
    size_t len = dump(start, text, cap);
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
    return len + 1;
}

size_t backend_accept_encode(const struct backend_accept *in, char *text, size_t cap)
{
    return dump(json_pack("{s:s, s:s, s:I, s:I, s:s}", "in", backend_format_name(in->in), "out",
                          backend_format_name(in->out), "prebuffer_ms",
                          (json_int_t)in->prebuffer_ms, "progress_ms", (json_int_t)in->progress_ms,
                          "on_speech", "hint"),
                text, cap);
}

size_t backend_reject_encode(const struct backend_reject *in, bool retry_elsewhere, char *text,
                             size_t cap)
{
    return dump(json_pack("{s:s, s:s, s:b}", "code", in->code, "message", in->message,
                          "retry_elsewhere", retry_elsewhere),
                text, cap);
}

size_t backend_go_away_encode(const char *reason, uint64_t deadline_us, char *text, size_t cap)
{
    return dump(
        json_pack("{s:s, s:I}", "reason", reason, "deadline_ms", (json_int_t)(deadline_us / 1000)),
        text, cap);
}

size_t backend_connected_encode(bool is_tcp, uint64_t setup_us, char *text, size_t cap)
{
    return dump(json_pack("{s:s, s:I}", "transport", is_tcp ? "tcp" : "udp", "setup_ms",
                          (json_int_t)(setup_us / 1000)),
                text, cap);
}

size_t backend_end_encode(const char *reason, char *text, size_t cap)
{
    return dump(json_pack("{s:s}", "reason", reason), text, cap);
}

size_t backend_error_encode(const struct backend_error *in, char *text, size_t cap)
{
    return dump(json_pack("{s:s, s:b, s:s, s:I, s:I}", "code", in->code, "fatal", in->is_fatal,
                          "message", in->message, "type", (json_int_t)in->type, "sequence",
                          (json_int_t)in->sequence),
                text, cap);
}

size_t backend_flushed_encode(const struct backend_flushed *in, char *text, size_t cap)
{
    return dump(json_pack("{s:I, s:I, s:I, s:I}", "utterance", (json_int_t)in->utterance, "sent_us",
                          (json_int_t)in->sent_us, "heard_us", (json_int_t)in->heard_us,
                          "dropped_us", (json_int_t)in->dropped_us),
                text, cap);
}

size_t backend_playback_encode(const struct backend_playback *in, char *text, size_t cap)
{
    json_t *playback =
        json_pack("{s:I, s:s, s:I, s:I, s:I}", "utterance", (json_int_t)in->utterance, "state",
                  in->state, "sent_us", (json_int_t)in->sent_us, "heard_us",
                  (json_int_t)in->heard_us, "queued_us", (json_int_t)in->queued_us);
    if (in->reason != NULL) {
        (void)json_object_set_new(playback, "reason", json_string(in->reason));
    }
    return dump(playback, text, cap);
}
