/* session_json.c - see session_json.h */
#include "services/signaling/offer/session_json.h"

#include "common/base/json_bounds.h"

#include <jansson.h>
#include <stdlib.h>

/* What the Realtime API takes for granted. */
static const char defaults[] =
    "{\"type\":\"realtime\",\"object\":\"realtime.session\",\"model\":\"gpt-realtime\","
    "\"instructions\":\"\",\"output_modalities\":[\"audio\"],\"audio\":{"
    "\"input\":{\"format\":{\"type\":\"audio/pcm\",\"rate\":24000},\"noise_reduction\":null,"
    "\"transcription\":null,\"turn_detection\":{\"type\":\"server_vad\",\"threshold\":0.5,"
    "\"prefix_padding_ms\":300,\"silence_duration_ms\":500,\"create_response\":true,"
    "\"interrupt_response\":true}},"
    "\"output\":{\"format\":{\"type\":\"audio/pcm\",\"rate\":24000},\"voice\":\"alloy\","
    "\"speed\":1}},\"tools\":[],\"tool_choice\":\"auto\",\"max_output_tokens\":\"inf\","
    "\"tracing\":null}";

/* --- reading ---------------------------------------------------------------------------------- */

/* *out: a new reference; NULL for an empty text. */
static enum session_json_result read_object(struct bytes_view text, json_t **out)
{
    *out = NULL;
    if (text.len == 0) {
        return SESSION_JSON_GOOD;
    }
    if (text.len > SESSION_JSON_BYTES_MAX) {
        return SESSION_JSON_TOO_LARGE;
    }
    if (!json_bounds_hold(text, SESSION_JSON_DEPTH_MAX, SESSION_JSON_MEMBERS_MAX)) {
        return SESSION_JSON_INVALID;
    }
    json_t *root = json_loadb((const char *)text.data, text.len, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return SESSION_JSON_INVALID;
    }
    const json_t *type = json_object_get(root, "type");
    if (type != NULL &&
        (!json_is_string(type) || strcmp(json_string_value(type), "realtime") != 0)) {
        json_decref(root);
        return SESSION_JSON_WRONG_TYPE;
    }
    *out = root;
    return SESSION_JSON_GOOD;
}

/* Takes over both references; NULL when both are, or without memory. */
static json_t *lay_over(json_t *lower, json_t *upper, bool *out_failed)
{
    *out_failed = false;
    if (lower == NULL || upper == NULL) {
        return lower != NULL ? lower : upper;
    }
    *out_failed = json_object_update_recursive(lower, upper) != 0;
    json_decref(upper);
    if (*out_failed) {
        json_decref(lower);
        return NULL;
    }
    return lower;
}

static enum session_json_result write_text(json_t *merged, char **out)
{
    if (json_object_size(merged) == 0) { /* of NULL too */
        json_decref(merged);
        *out = NULL;
        return SESSION_JSON_GOOD;
    }
    *out = json_dumps(merged, JSON_TEXT_FLAGS);
    json_decref(merged);
    if (*out == NULL) {
        return SESSION_JSON_NO_MEMORY;
    }
    if (strlen(*out) > SESSION_JSON_BYTES_MAX) {
        free(*out);
        *out = NULL;
        return SESSION_JSON_TOO_LARGE;
    }
    return SESSION_JSON_GOOD;
}

enum session_json_result session_json_merge(struct bytes_view lower, struct bytes_view upper,
                                            char **out)
{
    json_t *low = NULL;
    json_t *up = NULL;
    bool has_failed = false;
    *out = NULL;
    enum session_json_result result = read_object(lower, &low);
    if (result != SESSION_JSON_GOOD) {
        return result;
    }
    result = read_object(upper, &up);
    if (result != SESSION_JSON_GOOD) {
        json_decref(low);
        return result;
    }
    json_t *merged = lay_over(low, up, &has_failed);
    return has_failed ? SESSION_JSON_NO_MEMORY : write_text(merged, out);
}

/* --- what clients are told -------------------------------------------------------------------- */

/* A turn detection of another type does not take over the numbers of this one. */
static void make_room_for_turn_detection(json_t *effective, const json_t *session)
{
    const json_t *given = json_object_get(
        json_object_get(json_object_get(session, "audio"), "input"), "turn_detection");
    const char *type = json_string_value(json_object_get(given, "type"));
    if (type != NULL && strcmp(type, "server_vad") != 0) {
        (void)json_object_del(json_object_get(json_object_get(effective, "audio"), "input"),
                              "turn_detection");
    }
}

char *session_json_effective(const char *session, const char *id, uint64_t expires_unix_s)
{
    json_t *effective = json_loads(defaults, 0, NULL);
    json_t *given = session != NULL ? json_loads(session, 0, NULL) : json_object();
    char *text = NULL;
    if (effective != NULL && given != NULL) {
        make_room_for_turn_detection(effective, given);
        bool is_good =
            json_object_update_recursive(effective, given) == 0 &&
            json_object_set_new(effective, "object", json_string("realtime.session")) == 0 &&
            json_object_set_new(effective, "id", json_string(id)) == 0;
        if (is_good && expires_unix_s != 0) {
            is_good = json_object_set_new(effective, "expires_at",
                                          json_integer((json_int_t)expires_unix_s)) == 0;
        }
        text = is_good ? json_dumps(effective, JSON_TEXT_FLAGS) : NULL;
    }
    json_decref(effective);
    json_decref(given);
    return text;
}
