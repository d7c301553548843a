/* stub_line.c - see stub_line.h */
#include "services/inference-stub/agent/stub_line.h"

#include "common/base/json_bounds.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define LINE_START  "#stub "
#define LINE_BYTES  8192
#define DEPTH_MAX   32
#define MEMBERS_MAX 1024

/* The JSON of the line; len 0 and data NULL when there is no line. */
static struct bytes_view find_json(const char *instructions)
{
    const size_t start_len = strlen(LINE_START);
    for (const char *line = instructions; line != NULL;) {
        if (strncmp(line, LINE_START, start_len) == 0) {
            const char *json = line + start_len;
            return bytes_view_of(json, strcspn(json, "\r\n"));
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return (struct bytes_view){0};
}

/* The caller json_decref()s; NULL for whatever is not an object within the bounds. */
static json_t *parse_object(struct bytes_view text)
{
    if (text.len > LINE_BYTES || !json_bounds_hold(text, DEPTH_MAX, MEMBERS_MAX)) {
        return NULL;
    }
    json_t *json = json_loadb((const char *)text.data, text.len, 0, NULL);
    if (json_is_object(json)) {
        return json;
    }
    json_decref(json);
    return NULL;
}

static uint32_t read_number(const json_t *object, const char *key, uint32_t min, uint32_t max,
                            uint32_t fallback)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        return fallback;
    }
    const double number = json_number_value(value);
    return number >= min && number <= max ? (uint32_t)number : fallback;
}

static void read_arguments(const json_t *object, struct stub_line *out)
{
    const json_t *arguments = json_object_get(object, "args");
    size_t len = 0;
    if (json_is_object(arguments)) {
        len = json_dumpb(arguments, out->arguments, sizeof(out->arguments) - 1, JSON_COMPACT);
    }
    if (len == 0 || len > sizeof(out->arguments) - 1) {
        len = (size_t)snprintf(out->arguments, sizeof(out->arguments), "{}");
    }
    out->arguments[len] = '\0';
}

bool stub_line_exists(const char *instructions)
{
    return find_json(instructions).data != NULL;
}

bool stub_line_read(const char *instructions, struct stub_line *out)
{
    const struct bytes_view text = find_json(instructions);
    if (text.data == NULL) {
        return false;
    }
    json_t *object = parse_object(text);
    const char *tool = json_string_value(json_object_get(object, "tool"));
    *out = (struct stub_line){0};
    out->speak_ms = read_number(object, "speak_ms", 1, STUB_SPEAK_MS_MAX, STUB_SPEAK_MS_DEFAULT);
    out->tool_on_turn = read_number(object, "tool_on_turn", 0, UINT32_MAX, 0);
    (void)snprintf(out->tool, sizeof(out->tool), "%s", tool == NULL ? "" : tool);
    read_arguments(object, out);
    json_decref(object);
    return true;
}

bool stub_line_is_object(const char *text)
{
    json_t *object = parse_object(bytes_view_of_text(text));
    json_decref(object);
    return object != NULL;
}
