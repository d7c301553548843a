/* session_fields.c - see session_fields.h */
#include "services/inference-stub/realtime/session_fields.h"

#include <stdio.h>

enum kind { KIND_STRING = 1, KIND_NUMBER = 2, KIND_BOOL = 4, KIND_OBJECT = 8, KIND_ARRAY = 16 };

struct field {
    const char *path;
    unsigned kinds;
    double min; /* of a number */
    double max;
};

#define TURN_DETECTION "audio.input.turn_detection"

static const struct field fields_known[] = {
    {"type", KIND_STRING, 0, 0},
    {"model", KIND_STRING, 0, 0},
    {"instructions", KIND_STRING, 0, 0},
    {"output_modalities", KIND_ARRAY, 0, 0},
    {"tools", KIND_ARRAY, 0, 0},
    {"tool_choice", KIND_STRING | KIND_OBJECT, 0, 0},
    {"max_output_tokens", KIND_STRING | KIND_NUMBER, 1, 1e6},
    {"tracing", KIND_STRING | KIND_OBJECT, 0, 0},
    {"prompt", KIND_OBJECT, 0, 0},
    {"include", KIND_ARRAY, 0, 0},
    {"metadata", KIND_OBJECT, 0, 0},
    {"input", KIND_ARRAY, 0, 0},
    {"conversation", KIND_STRING, 0, 0},
    {"audio", KIND_OBJECT, 0, 0},
    {"audio.input", KIND_OBJECT, 0, 0},
    {"audio.input.format", KIND_OBJECT, 0, 0},
    {"audio.input.noise_reduction", KIND_OBJECT, 0, 0},
    {"audio.input.transcription", KIND_OBJECT, 0, 0},
    {TURN_DETECTION, KIND_OBJECT, 0, 0},
    {TURN_DETECTION ".type", KIND_STRING, 0, 0},
    {TURN_DETECTION ".threshold", KIND_NUMBER, 0, 1},
    {TURN_DETECTION ".prefix_padding_ms", KIND_NUMBER, 0, 10000},
    {TURN_DETECTION ".silence_duration_ms", KIND_NUMBER, 0, 10000},
    {TURN_DETECTION ".create_response", KIND_BOOL, 0, 0},
    {TURN_DETECTION ".interrupt_response", KIND_BOOL, 0, 0},
    {"audio.output", KIND_OBJECT, 0, 0},
    {"audio.output.format", KIND_OBJECT, 0, 0},
    {"audio.output.voice", KIND_STRING | KIND_OBJECT, 0, 0},
    {"audio.output.speed", KIND_NUMBER, 0.25, 1.5},
};

/* Texts of which only some have a meaning. */
static const struct {
    const char *path;
    const char *const allowed[4];
} choices[] = {
    {"type", {"realtime"}},
    {TURN_DETECTION ".type", {"server_vad", "semantic_vad"}},
    {"conversation", {"auto", "none"}},
};

json_t *session_fields_at(const json_t *fields, const char *path)
{
    while (true) {
        const size_t len = strcspn(path, ".");
        json_t *value = json_object_getn(fields, path, len);
        if (path[len] == '\0') {
            return value;
        }
        fields = value;
        path += len + 1;
    }
}

static unsigned kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return KIND_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return KIND_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return KIND_BOOL;
    case JSON_OBJECT:
        return KIND_OBJECT;
    case JSON_ARRAY:
        return KIND_ARRAY;
    case JSON_NULL:
        break;
    }
    return 0;
}

static bool refuse(const char *prefix, const char *path, const char *must,
                   struct client_error *error)
{
    char param[sizeof(error->param)];
    (void)snprintf(param, sizeof(param), "%s%s", prefix, path);
    return client_error_set(error, "invalid_value", param, "'%s' %s.", param, must);
}

static const char *name_of(unsigned kinds)
{
    switch (kinds) {
    case KIND_STRING:
        return "must be a string";
    case KIND_NUMBER:
        return "must be a number";
    case KIND_BOOL:
        return "must be true or false";
    case KIND_OBJECT:
        return "must be an object";
    case KIND_ARRAY:
        return "must be an array";
    default:
        return "has a wrong type";
    }
}

static bool check_kinds(const json_t *fields, const char *prefix, struct client_error *error)
{
    for (size_t i = 0; i < COUNT_OF(fields_known); i++) {
        const struct field *f = &fields_known[i];
        const json_t *value = session_fields_at(fields, f->path);
        if (value == NULL || json_is_null(value)) {
            continue;
        }
        if ((kind_of(value) & f->kinds) == 0) {
            return refuse(prefix, f->path, name_of(f->kinds), error);
        }
        const double number = json_number_value(value);
        if (json_is_number(value) && (number < f->min || number > f->max)) {
            return refuse(prefix, f->path, "is out of its range", error);
        }
    }
    return true;
}

static bool check_choices(const json_t *fields, const char *prefix, struct client_error *error)
{
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const char *value = json_string_value(session_fields_at(fields, choices[i].path));
        bool is_allowed = value == NULL;
        for (size_t k = 0; !is_allowed && choices[i].allowed[k] != NULL; k++) {
            is_allowed = strcmp(value, choices[i].allowed[k]) == 0;
        }
        if (!is_allowed) {
            return refuse(prefix, choices[i].path, "is none of the values it may have", error);
        }
    }
    return true;
}

static bool check_modalities(const json_t *fields, const char *prefix, struct client_error *error)
{
    const json_t *modalities = json_object_get(fields, "output_modalities");
    size_t i = 0;
    const json_t *one = NULL;
    json_array_foreach(modalities, i, one)
    {
        const char *name = json_string_value(one);
        if (name == NULL || (strcmp(name, "audio") != 0 && strcmp(name, "text") != 0)) {
            return refuse(prefix, "output_modalities", "may hold 'audio' and 'text' alone", error);
        }
    }
    if (json_is_array(modalities) && json_array_size(modalities) == 0) {
        return refuse(prefix, "output_modalities", "must name one", error);
    }
    return true;
}

static bool check_tools(const json_t *fields, const char *prefix, struct client_error *error)
{
    size_t i = 0;
    const json_t *tool = NULL;
    json_array_foreach(json_object_get(fields, "tools"), i, tool)
    {
        const char *type = json_string_value(json_object_get(tool, "type"));
        const bool is_function = type != NULL && strcmp(type, "function") == 0;
        if (type == NULL || (is_function && !json_is_string(json_object_get(tool, "name")))) {
            return refuse(prefix, "tools", "needs a type in each, and a name in each function",
                          error);
        }
    }
    return true;
}

bool session_fields_check(const json_t *fields, const char *prefix, struct client_error *error)
{
    return check_kinds(fields, prefix, error) && check_choices(fields, prefix, error) &&
           check_modalities(fields, prefix, error) && check_tools(fields, prefix, error);
}

bool session_fields_are_text_only(const json_t *fields)
{
    size_t i = 0;
    const json_t *one = NULL;
    const json_t *modalities = json_object_get(fields, "output_modalities");
    json_array_foreach(modalities, i, one)
    {
        if (strcmp(json_string_value(one), "audio") == 0) {
            return false;
        }
    }
    return json_array_size(modalities) > 0;
}

/* NULL: no function, or not this one (name NULL: any). */
static json_t *function_name(const json_t *tool, const char *name)
{
    json_t *its_name = json_object_get(tool, "name");
    const char *type = json_string_value(json_object_get(tool, "type"));
    if (type == NULL || strcmp(type, "function") != 0 || !json_is_string(its_name)) {
        return NULL;
    }
    return name == NULL || strcmp(json_string_value(its_name), name) == 0 ? its_name : NULL;
}

static json_t *find_function(const json_t *tools, const char *name)
{
    size_t i = 0;
    const json_t *tool = NULL;
    json_array_foreach(tools, i, tool)
    {
        json_t *its_name = function_name(tool, name);
        if (its_name != NULL) {
            return its_name;
        }
    }
    return NULL;
}

json_t *session_fields_tool(const json_t *tools, const json_t *tool_choice)
{
    const char *choice = json_string_value(tool_choice);
    if (choice != NULL && strcmp(choice, "none") == 0) {
        return NULL;
    }
    return find_function(tools, json_string_value(json_object_get(tool_choice, "name")));
}

bool session_fields_have_tool(const json_t *fields, const char *name)
{
    return find_function(json_object_get(fields, "tools"), name) != NULL;
}
