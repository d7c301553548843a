/* realtime_session.c - see realtime_session.h */
#include "services/inference-stub/realtime/realtime_session.h"

#include "services/inference-stub/realtime/realtime_id.h"
#include "services/inference-stub/realtime/session_fields.h"

#define TURN_DETECTION "audio.input.turn_detection"

static json_t *turn_detection_defaults(void)
{
    return json_pack("{s:s, s:f, s:i, s:i, s:b, s:b}", "type", "server_vad", "threshold", 0.5,
                     "prefix_padding_ms", 300, "silence_duration_ms", 500, "create_response", 1,
                     "interrupt_response", 1);
}

static json_t *audio_defaults(void)
{
    json_t *input =
        json_pack("{s:{s:s, s:i}, s:n, s:n, s:o}", "format", "type", "audio/pcm", "rate", 24000,
                  "transcription", "noise_reduction", "turn_detection", turn_detection_defaults());
    json_t *output = json_pack("{s:{s:s, s:i}, s:s, s:f}", "format", "type", "audio/pcm", "rate",
                               24000, "voice", "stub", "speed", 1.0);
    return json_pack("{s:o, s:o}", "input", input, "output", output);
}

static json_t *defaults(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:[s], s:o, s:[], s:s, s:s, s:n, s:n, s:n}", "type",
                     "realtime", "object", "realtime.session", "model", "gpt-realtime",
                     "instructions", "", "output_modalities", "audio", "audio", audio_defaults(),
                     "tools", "tool_choice", "auto", "max_output_tokens", "inf", "tracing",
                     "prompt", "include");
}

bool realtime_session_init(struct realtime_session *s, size_t bytes_max, uint64_t expires_at_s,
                           struct random_source random)
{
    char id[REALTIME_ID_CAP];
    realtime_id_make(random, "sess_", id);
    *s = (struct realtime_session){.json = defaults(), .bytes_max = bytes_max};
    return json_object_set_new(s->json, "id", json_string(id)) == 0 &&
           json_object_set_new(s->json, "expires_at", json_integer((json_int_t)expires_at_s)) == 0;
}

void realtime_session_clear(struct realtime_session *s)
{
    json_decref(s->json);
    s->json = NULL;
}

/* --- merge ------------------------------------------------------------------------------------ */

/* These are merged field by field, wherever they are; every other value is replaced whole. */
static bool is_merged_by_field(const char *name)
{
    static const char *const names[] = {"audio", "input", "output", "turn_detection"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool set(json_t *target, const char *name, json_t *value, const json_t *fallback)
{
    const bool may_be_null = strcmp(name, "turn_detection") == 0 || fallback == NULL;
    if (json_is_null(value) && !may_be_null) {
        return json_object_set_new(target, name, json_deep_copy(fallback)) == 0;
    }
    return json_object_set_new(target, name, json_deep_copy(value)) == 0;
}

/* base: the defaults of target's fields. Its depth bounds the recursion. */
static bool merge(json_t *target, const json_t *update, const json_t *base)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)update, name, value)
    {
        const json_t *fallback = json_object_get(base, name);
        const bool goes_down =
            json_is_object(value) && json_is_object(fallback) && is_merged_by_field(name);
        if (!goes_down) {
            if (!set(target, name, value, fallback)) {
                return false;
            }
            continue;
        }
        if (!json_is_object(json_object_get(target, name)) &&
            json_object_set_new(target, name, json_deep_copy(fallback)) != 0) {
            return false;
        }
        if (!merge(json_object_get(target, name), value, fallback)) {
            return false;
        }
    }
    return true;
}

/* On all levels; what came in has at most CLIENT_EVENT_DEPTH_MAX of them. */
static size_t members_of(const json_t *json)
{
    size_t members = json_array_size(json) + json_object_size(json);
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;
    json_object_foreach((json_t *)json, name, value)
    {
        members += members_of(value);
    }
    json_array_foreach(json, i, value)
    {
        members += members_of(value);
    }
    return members;
}

static bool is_within(const json_t *json, size_t bytes_max)
{
    return json_dumpb(json, NULL, 0, JSON_COMPACT) <= bytes_max &&
           members_of(json) <= CLIENT_EVENT_MEMBERS_MAX;
}

static json_t *merged(const struct realtime_session *s, const json_t *update)
{
    json_t *base = defaults();
    json_t *result = json_deep_copy(s->json);
    json_t *changes = json_copy((json_t *)update);
    static const char *const fixed[] = {"id", "object", "expires_at"}; /* the server's alone */
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        (void)json_object_del(changes, fixed[i]);
    }
    if (base == NULL || result == NULL || changes == NULL || !merge(result, changes, base)) {
        json_decref(result);
        result = NULL;
    }
    json_decref(base);
    json_decref(changes);
    return result;
}

bool realtime_session_merge(struct realtime_session *s, const json_t *update,
                            struct client_error *error)
{
    if (!json_is_object(update)) {
        return client_error_set(error, "invalid_value", "session", "'session' must be an object.");
    }
    if (!session_fields_check(update, "session.", error)) {
        return false;
    }
    json_t *result = merged(s, update);
    if (result == NULL || !is_within(result, s->bytes_max)) {
        json_decref(result);
        return client_error_set(error, "session_too_large", "session",
                                "The session would have more than %zu bytes or %d members.",
                                s->bytes_max, CLIENT_EVENT_MEMBERS_MAX);
    }
    json_decref(s->json);
    s->json = result;
    return true;
}

json_t *realtime_session_fields(const struct realtime_session *s)
{
    return json_pack("{s:O}", "session", s->json);
}

/* --- what it means ---------------------------------------------------------------------------- */

static const json_t *turn_field(const struct realtime_session *s, const char *name)
{
    return json_object_get(session_fields_at(s->json, TURN_DETECTION), name);
}

struct realtime_turn_detection realtime_session_turn_detection(const struct realtime_session *s)
{
    return (struct realtime_turn_detection){
        .is_on = json_is_object(session_fields_at(s->json, TURN_DETECTION)),
        .threshold = json_number_value(turn_field(s, "threshold")),
        .prefix_padding_ms = (uint32_t)json_number_value(turn_field(s, "prefix_padding_ms")),
        .silence_duration_ms = (uint32_t)json_number_value(turn_field(s, "silence_duration_ms")),
    };
}

bool realtime_session_creates_response(const struct realtime_session *s)
{
    return json_is_true(turn_field(s, "create_response"));
}

bool realtime_session_interrupts_response(const struct realtime_session *s)
{
    return json_is_true(turn_field(s, "interrupt_response"));
}

bool realtime_session_has_transcription(const struct realtime_session *s)
{
    return json_is_object(session_fields_at(s->json, "audio.input.transcription"));
}

bool realtime_session_takes_pcm(const struct realtime_session *s)
{
    const char *type = json_string_value(session_fields_at(s->json, "audio.input.format.type"));
    return type == NULL || strcmp(type, "audio/pcm") == 0;
}
