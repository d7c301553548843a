/* conversation_item.c - see conversation_item.h */
#include "services/inference-stub/realtime/conversation_item.h"

#include <assert.h>
#include <stdlib.h>

/* What jansson 2.14 and malloc take beside the text, measured. */
#define ITEM_COST_BYTES 1280
#define PART_COST_BYTES 512

/* A kind of content, and the one field of it that is kept. */
struct part_form {
    const char *role;
    const char *type;
    const char *field;
    enum item_kind kind;
    bool may_be_null;
};

static const struct part_form part_forms[] = {
    {"user", "input_text", "text", ITEM_USER_TEXT, false},
    {"user", "input_audio", "transcript", ITEM_USER_SPEECH, true},
    {"user", "input_image", "image_url", ITEM_USER_TEXT, false},
    {"system", "input_text", "text", ITEM_SYSTEM, false},
    {"assistant", "output_text", "text", ITEM_ASSISTANT_TEXT, false},
    {"assistant", "output_audio", "transcript", ITEM_ASSISTANT_SPEECH, false},
};

void conversation_item_weigh(struct conversation_item *item)
{
    const size_t parts = json_array_size(json_object_get(item->json, "content"));
    item->cost_bytes =
        ITEM_COST_BYTES + parts * PART_COST_BYTES + json_dumpb(item->json, NULL, 0, JSON_COMPACT);
}

struct conversation_item *conversation_item_create(enum item_kind kind, json_t *json)
{
    struct conversation_item *item = json == NULL ? NULL : calloc(1, sizeof(*item));
    if (item == NULL) {
        json_decref(json);
        return NULL;
    }
    const char *id = json_string_value(json_object_get(json, "id"));
    assert(strlen(id) < sizeof(item->id));
    memcpy(item->id, id, strlen(id) + 1);
    item->kind = kind;
    item->json = json;
    conversation_item_weigh(item);
    return item;
}

void conversation_item_destroy(struct conversation_item *item)
{
    if (item != NULL) {
        json_decref(item->json);
        free(item);
    }
}

/* --- of a client ------------------------------------------------------------------------------ */

static bool text_is(const json_t *object, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL && strcmp(text, wanted) == 0;
}

static const struct part_form *form_of(const char *role, const json_t *part)
{
    for (size_t i = 0; i < COUNT_OF(part_forms); i++) {
        if (strcmp(part_forms[i].role, role) == 0 && text_is(part, "type", part_forms[i].type)) {
            return &part_forms[i];
        }
    }
    return NULL;
}

/* A new reference: the part with what is kept of it; NULL: it is wrong. */
static json_t *part_of_client(const struct part_form *form, const json_t *part)
{
    json_t *value = json_object_get(part, form->field);
    if (!json_is_string(value) && !form->may_be_null) {
        return NULL;
    }
    return json_pack("{s:s, s:o}", "type", form->type, form->field,
                     json_is_string(value) ? json_incref(value) : json_null());
}

/* A new reference; NULL: the error tells why. */
static json_t *content_of_client(const json_t *item, const char *role, enum item_kind *kind,
                                 struct client_error *error)
{
    const json_t *parts = json_object_get(item, "content");
    if (!json_is_array(parts) || json_array_size(parts) > ITEM_PARTS_MAX) {
        (void)client_error_set(error, "invalid_value", "item.content",
                               "'item.content' must be an array of at most %d parts.",
                               ITEM_PARTS_MAX);
        return NULL;
    }
    json_t *content = json_array();
    size_t i = 0;
    const json_t *part = NULL;
    json_array_foreach(parts, i, part)
    {
        const struct part_form *form = form_of(role, part);
        json_t *kept = form == NULL ? NULL : part_of_client(form, part);
        if (kept == NULL || json_array_append_new(content, kept) != 0) {
            (void)client_error_set(error, "invalid_value", "item.content",
                                   "Part %zu of 'item.content' is none that role '%s' may have.", i,
                                   role);
            json_decref(content);
            return NULL;
        }
        *kind = form->kind;
    }
    return content;
}

static json_t *message_of_client(const json_t *item, const char *id, enum item_kind *kind,
                                 struct client_error *error)
{
    static const struct {
        const char *role;
        enum item_kind kind; /* without content */
    } roles[] = {
        {"user", ITEM_USER_TEXT}, {"assistant", ITEM_ASSISTANT_TEXT}, {"system", ITEM_SYSTEM}};
    const char *role = NULL;
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        if (text_is(item, "role", roles[i].role)) {
            role = roles[i].role;
            *kind = roles[i].kind;
        }
    }
    if (role == NULL) {
        (void)client_error_set(error, "invalid_value", "item.role",
                               "'item.role' must be user, assistant or system.");
        return NULL;
    }
    json_t *content = content_of_client(item, role, kind, error);
    return content == NULL ? NULL
                           : json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "id", id, "object",
                                       "realtime.item", "type", "message", "status", "completed",
                                       "role", role, "content", content);
}

static json_t *call_of_client(const json_t *item, const char *id, struct client_error *error)
{
    const char *name = client_event_text(item, "name", error);
    const char *call_id = name == NULL ? NULL : client_event_text(item, "call_id", error);
    const char *arguments = call_id == NULL ? NULL : client_event_text(item, "arguments", error);
    return arguments == NULL
               ? NULL
               : json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "object",
                           "realtime.item", "type", "function_call", "status", "completed", "name",
                           name, "call_id", call_id, "arguments", arguments);
}

static json_t *output_of_client(const json_t *item, const char *id, struct client_error *error)
{
    const char *call_id = client_event_text(item, "call_id", error);
    const char *output = call_id == NULL ? NULL : client_event_text(item, "output", error);
    return output == NULL ? NULL
                          : json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "object",
                                      "realtime.item", "type", "function_call_output", "status",
                                      "completed", "call_id", call_id, "output", output);
}

/* The id that the client chose, else `own`; NULL: the error tells why. */
static const char *id_of_client(const json_t *item, const char *own, struct client_error *error)
{
    const json_t *given = json_object_get(item, "id");
    if (given == NULL || json_is_null(given)) {
        return own;
    }
    const char *id = json_string_value(given);
    size_t len = 0;
    while (id != NULL && id[len] > ' ' && id[len] <= '~' && len < ITEM_ID_CAP) {
        len++;
    }
    if (len == 0 || len >= ITEM_ID_CAP || id[len] != '\0') {
        (void)client_error_set(error, "invalid_value", "item.id",
                               "'item.id' must have 1 to %d visible ASCII characters.",
                               ITEM_ID_CAP - 1);
        return NULL;
    }
    return id;
}

struct conversation_item *conversation_item_of_client_create(const json_t *json, const char *id,
                                                             struct client_error *error)
{
    *error = (struct client_error){.code = "server_error", .message = "Out of memory."};
    id = id_of_client(json, id, error);
    if (id == NULL) {
        return NULL;
    }
    enum item_kind kind = ITEM_USER_TEXT;
    if (text_is(json, "type", "message")) {
        json_t *message = message_of_client(json, id, &kind, error);
        return conversation_item_create(kind, message);
    }
    if (text_is(json, "type", "function_call")) {
        return conversation_item_create(ITEM_FUNCTION_CALL, call_of_client(json, id, error));
    }
    if (text_is(json, "type", "function_call_output")) {
        return conversation_item_create(ITEM_FUNCTION_OUTPUT, output_of_client(json, id, error));
    }
    (void)client_error_set(error, "invalid_value", "item.type",
                           "'item.type' must be message, function_call or function_call_output.");
    return NULL;
}

/* --- our own ---------------------------------------------------------------------------------- */

json_t *conversation_item_user_speech(const char *id)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:n}]}", "id", id, "object",
                     "realtime.item", "type", "message", "status", "completed", "role", "user",
                     "content", "type", "input_audio", "transcript");
}

json_t *conversation_item_assistant(const char *id)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[]}", "id", id, "object", "realtime.item", "type",
                     "message", "status", "in_progress", "role", "assistant", "content");
}

json_t *conversation_item_function_call(const char *id, const char *name, const char *call_id)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "object", "realtime.item",
                     "type", "function_call", "status", "in_progress", "name", name, "call_id",
                     call_id, "arguments", "");
}

bool conversation_item_set_transcript(struct conversation_item *item, const char *text)
{
    json_t *part = json_array_get(json_object_get(item->json, "content"), 0);
    const bool is_set = json_object_set_new(part, "transcript", json_string(text)) == 0;
    conversation_item_weigh(item);
    return is_set;
}

void conversation_item_truncate(struct conversation_item *item)
{
    item->is_truncated = true;
    if (json_array_size(json_object_get(item->json, "content")) > 0) {
        (void)conversation_item_set_transcript(item, ""); /* else they are still to come */
    }
}

const char *conversation_item_text(const struct conversation_item *item)
{
    const json_t *text = json_object_get(item->json, "output");
    if (item->kind == ITEM_USER_TEXT) {
        const json_t *content = json_object_get(item->json, "content");
        text = json_object_get(json_array_get(content, json_array_size(content) - 1), "text");
    }
    return json_is_string(text) ? json_string_value(text) : "";
}
