/* backend_payload.c - see backend_payload.h */
#include "common/backend_link/backend_payload.h"

#include <jansson.h>

#define HEARTBEAT_MS_DEFAULT 1000
#define SESSIONS_MAX_DEFAULT 4096
#define PREBUFFER_MS_DEFAULT 20
#define PROGRESS_MS_DEFAULT  200

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
static struct object object_parse(struct bytes_view payload)
{
    struct object o = {0};
    if (payload.len <= BACKEND_PAYLOAD_BYTES_MAX) {
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

static uint32_t object_u32(struct object *o, const char *key, uint32_t fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (value == NULL) {
        return fallback;
    }
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > UINT32_MAX) {
        o->failed = true;
        return fallback;
    }
    return (uint32_t)number;
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

static void hello_formats(struct object *o, struct backend_hello *out)
{
    const json_t *list = json_object_get(o->json, "codecs");
    if (list == NULL) {
        out->format[out->format_count++] = (struct backend_format){BACKEND_CODEC_PCM16, 24};
        return;
    }
    o->failed = o->failed || !json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL && out->format_count < BACKEND_FORMATS_MAX &&
            backend_format_parse(name, &out->format[out->format_count])) {
            out->format_count++;
        }
    }
}

bool backend_hello_decode(struct bytes_view payload, struct backend_hello *out)
{
    struct object o = object_parse(payload);
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
    hello_formats(&o, out);
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
    struct object o = object_parse(payload);
    out->in = object_format(&o, "in");
    out->out = object_format(&o, "out");
    out->prebuffer_ms = object_u32(&o, "prebuffer_ms", PREBUFFER_MS_DEFAULT);
    out->progress_ms = object_u32(&o, "progress_ms", PROGRESS_MS_DEFAULT);
    return object_done(&o);
}

bool backend_reject_decode(struct bytes_view payload, struct backend_reject *out)
{
    struct object o = object_parse(payload);
    object_text(&o, "code", "rejected", out->code, sizeof(out->code));
    object_text(&o, "message", "", out->message, sizeof(out->message));
    return object_done(&o);
}

bool backend_end_decode(struct bytes_view payload, struct backend_end *out)
{
    struct object o = object_parse(payload);
    char when[BACKEND_TEXT_CAP];
    object_text(&o, "reason", "backend", out->reason, sizeof(out->reason));
    object_text(&o, "when", "now", when, sizeof(when));
    out->when_drained = strcmp(when, "drained") == 0;
    return object_done(&o);
}

bool backend_error_decode(struct bytes_view payload, struct backend_error *out)
{
    struct object o = object_parse(payload);
    object_text(&o, "code", "internal", out->code, sizeof(out->code));
    object_text(&o, "message", "", out->message, sizeof(out->message));
    out->is_fatal = object_bool(&o, "fatal", false);
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
    return dump(json_pack("{s:s, s:b, s:s}", "code", in->code, "fatal", in->is_fatal, "message",
                          in->message),
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
