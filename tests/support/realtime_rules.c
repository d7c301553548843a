/* realtime_rules.c - see realtime_rules.h */
#include "tests/support/realtime_rules.h"

#include <stdio.h>
#include <stdlib.h>

/* Paths and their kinds: s text, n number, o object, a array, 0 null as well, ? may be absent. */
#define PART "response_id:s item_id:s output_index:n content_index:n "
#define CALL "response_id:s item_id:s output_index:n call_id:s "

static const struct {
    const char *type;
    const char *fields;
} forms[] = {
    {"session.created", "session:o session.id:s session.type:s session.object:s session.model:s "
                        "session.instructions:s session.output_modalities:a session.audio.input:o "
                        "session.audio.output:o session.tools:a session.expires_at:n"},
    {"session.updated", "session:o session.id:s session.type:s session.object:s session.model:s "
                        "session.instructions:s session.output_modalities:a session.audio.input:o "
                        "session.audio.output:o session.tools:a session.expires_at:n"},
    {"conversation.item.added", "item:o previous_item_id:s0"},
    {"conversation.item.done", "item:o previous_item_id:s0"},
    {"conversation.item.retrieved", "item:o"},
    {"conversation.item.deleted", "item_id:s"},
    {"conversation.item.truncated", "item_id:s content_index:n audio_end_ms:n"},
    {"conversation.item.input_audio_transcription.delta", "item_id:s content_index:n delta:s"},
    {"conversation.item.input_audio_transcription.completed",
     "item_id:s content_index:n transcript:s"},
    {"input_audio_buffer.speech_started", "item_id:s audio_start_ms:n"},
    {"input_audio_buffer.speech_stopped", "item_id:s audio_end_ms:n"},
    {"input_audio_buffer.committed", "item_id:s previous_item_id:s0"},
    {"input_audio_buffer.cleared", ""},
    {"output_audio_buffer.started", "response_id:s"},
    {"output_audio_buffer.stopped", "response_id:s"},
    {"output_audio_buffer.cleared", "response_id:s"},
    {"response.created", "response:o response.id:s response.status:s response.output:a "
                         "response.object:s response.status_details:o0 response.usage:o0"},
    {"response.done", "response:o response.id:s response.status:s response.output:a "
                      "response.object:s response.status_details:o0 response.usage:o0"},
    {"response.output_item.added", "response_id:s output_index:n item:o"},
    {"response.output_item.done", "response_id:s output_index:n item:o"},
    {"response.content_part.added", PART "part:o part.type:s"},
    {"response.content_part.done", PART "part:o part.type:s"},
    {"response.output_audio.done", PART},
    {"response.output_audio_transcript.delta", PART "delta:s"},
    {"response.output_audio_transcript.done", PART "transcript:s"},
    {"response.output_text.delta", PART "delta:s"},
    {"response.output_text.done", PART "text:s"},
    {"response.function_call_arguments.delta", CALL "delta:s"},
    {"response.function_call_arguments.done", CALL "arguments:s"},
    {"error", "error:o error.type:s error.code:s0 error.message:s error.param:s0 "
              "error.event_id:s0"},
};

static void breaks(struct realtime_rules *rules, const json_t *event, const char *what)
{
    if (rules->broken[0] != '\0') {
        return;
    }
    char *text = json_dumps(event, JSON_COMPACT);
    (void)snprintf(rules->broken, sizeof(rules->broken), "%s: %.400s", what,
                   text == NULL ? "?" : text);
    free(text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words != NULL && strcmp(text, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

/* --- the form of one event -------------------------------------------------------------------- */

static char kind_of(const json_t *value)
{
    return json_is_null(value)     ? '0'
           : json_is_string(value) ? 's'
           : json_is_number(value) ? 'n'
           : json_is_object(value) ? 'o'
           : json_is_array(value)  ? 'a'
                                   : '-';
}

static bool field_is(const json_t *event, const char *path, size_t path_len, const char *kinds)
{
    const json_t *value = event;
    while (path_len > 0) {
        const char *dot = memchr(path, '.', path_len);
        const size_t len = dot == NULL ? path_len : (size_t)(dot - path);
        value = json_object_getn(value, path, len);
        path += dot == NULL ? len : len + 1;
        path_len -= dot == NULL ? len : len + 1;
    }
    const char wanted = value == NULL ? '?' : kind_of(value);
    return memchr(kinds, wanted, strcspn(kinds, " ")) != NULL;
}

static void check_fields(struct realtime_rules *rules, const json_t *event, const char *fields)
{
    while (*fields != '\0') {
        const size_t path_len = strcspn(fields, ":");
        const char *kinds = fields + path_len + 1;
        if (!field_is(event, fields, path_len, kinds)) {
            char what[96];
            (void)snprintf(what, sizeof(what), "%.*s is missing or has a wrong type", (int)path_len,
                           fields);
            breaks(rules, event, what);
        }
        fields = kinds + strcspn(kinds, " ");
        fields += strspn(fields, " ");
    }
}

static const char *const item_statuses[] = {"in_progress", "completed", "incomplete", NULL};
static const char *const response_statuses[] = {"in_progress", "completed", "incomplete",
                                                "failed",      "cancelled", NULL};
static const char *const user_parts[] = {"input_text", "input_audio", "input_image", NULL};
static const char *const assistant_parts[] = {"output_audio", "output_text", NULL};
static const char *const system_parts[] = {"input_text", NULL};
static const char *const spoken_parts[] = {"input_audio", "output_audio", NULL};
static const char *const shown_parts[] = {"audio", "text", NULL};

static void check_message(struct realtime_rules *rules, const json_t *event, const json_t *item)
{
    const char *role = text_of(item, "role");
    const char *const *parts = strcmp(role, "user") == 0        ? user_parts
                               : strcmp(role, "assistant") == 0 ? assistant_parts
                               : strcmp(role, "system") == 0    ? system_parts
                                                                : NULL;
    if (parts == NULL || !json_is_array(json_object_get(item, "content"))) {
        breaks(rules, event, "a message needs a role and an array of content");
        return;
    }
    size_t i = 0;
    const json_t *part = NULL;
    json_array_foreach(json_object_get(item, "content"), i, part)
    {
        const char *type = text_of(part, "type");
        const json_t *transcript = json_object_get(part, "transcript");
        if (!is_one_of(type, parts)) {
            breaks(rules, event, "a part that this role can not have");
        }
        if (is_one_of(type, spoken_parts) && transcript == NULL) {
            breaks(rules, event, "a spoken part without the key transcript");
        }
        if (strcmp(type, "output_audio") == 0 && !json_is_string(transcript)) {
            breaks(rules, event, "what an assistant spoke has a transcript");
        }
    }
}

static void check_item(struct realtime_rules *rules, const json_t *event, const json_t *item)
{
    const char *type = text_of(item, "type");
    if (text_of(item, "id")[0] == '\0') {
        breaks(rules, event, "an item without id");
    }
    if (!is_one_of(text_of(item, "status"), item_statuses)) {
        breaks(rules, event, "a status that no item has");
    }
    if (strcmp(type, "message") == 0) {
        check_message(rules, event, item);
    } else if (strcmp(type, "function_call") == 0) {
        check_fields(rules, item, "name:s call_id:s arguments:s");
    } else if (strcmp(type, "function_call_output") == 0) {
        check_fields(rules, item, "call_id:s output:s");
    } else {
        breaks(rules, event, "a type that no item has");
    }
}

static void check_response(struct realtime_rules *rules, const json_t *event,
                           const json_t *response)
{
    size_t i = 0;
    const json_t *item = NULL;
    if (!is_one_of(text_of(response, "status"), response_statuses)) {
        breaks(rules, event, "a status that no response has");
    }
    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        check_item(rules, event, item);
    }
}

static void check_form(struct realtime_rules *rules, const json_t *event)
{
    const char *type = text_of(event, "type");
    const json_t *part = json_object_get(event, "part");
    size_t i = 0;
    while (i < COUNT_OF(forms) && strcmp(forms[i].type, type) != 0) {
        i++;
    }
    if (i == COUNT_OF(forms)) {
        breaks(rules, event, "a type that clients do not know");
        return;
    }
    check_fields(rules, event, forms[i].fields);
    if (json_object_get(event, "item") != NULL) {
        check_item(rules, event, json_object_get(event, "item"));
    }
    if (json_object_get(event, "response") != NULL) {
        check_response(rules, event, json_object_get(event, "response"));
    }
    if (part != NULL && !is_one_of(text_of(part, "type"), shown_parts)) {
        breaks(rules, event, "a part that is neither audio nor text");
    }
}

/* --- the order of events ---------------------------------------------------------------------- */

static bool remember(json_t *set, const char *name)
{
    const bool is_new = json_object_get(set, name) == NULL;
    (void)json_object_set_new(set, name, json_true());
    return is_new;
}

static void check_items(struct realtime_rules *rules, const json_t *event, const char *type)
{
    const char *id = text_of(json_object_get(event, "item"), "id");
    const char *item_id = text_of(event, "item_id");
    if (strcmp(type, "conversation.item.added") == 0 && !remember(rules->items, id)) {
        breaks(rules, event, "an item is added twice");
    }
    if (strcmp(type, "conversation.item.done") == 0 && json_object_get(rules->items, id) == NULL) {
        breaks(rules, event, "an item is done before it was added");
    }
    if (strcmp(type, "conversation.item.deleted") == 0 &&
        json_object_del(rules->items, item_id) != 0) {
        breaks(rules, event, "an item is deleted that is not there");
    }
    if (strcmp(type, "conversation.item.truncated") == 0 &&
        json_object_get(rules->items, item_id) == NULL) {
        breaks(rules, event, "an item is truncated that is not there");
    }
}

static void check_calls(struct realtime_rules *rules, const json_t *event, const char *type)
{
    const json_t *item = json_object_get(event, "item");
    const bool is_output = strncmp(type, "response.output_item.", 21) == 0;
    if (is_output && strcmp(text_of(item, "type"), "function_call") == 0 &&
        strcmp(text_of(item, "status"), "completed") == 0 &&
        !remember(rules->calls, text_of(item, "call_id"))) {
        breaks(rules, event, "a call of a function is completed twice");
    }
}

static void check_responses(struct realtime_rules *rules, const json_t *event, const char *type)
{
    const char *id = text_of(json_object_get(event, "response"), "id");
    const char *response_id = text_of(event, "response_id");
    if (strcmp(type, "response.created") == 0) {
        if (rules->active[0] != '\0') {
            breaks(rules, event, "a response is created while another is active");
        }
        (void)remember(rules->responses, id);
        (void)snprintf(rules->active, sizeof(rules->active), "%s", id);
    } else if (strcmp(type, "response.done") == 0) {
        if (strcmp(rules->active, id) != 0) {
            breaks(rules, event, "a response is done that is not active");
        }
        rules->active[0] = '\0';
    } else if (strncmp(type, "response.", 9) == 0 && strcmp(rules->active, response_id) != 0) {
        breaks(rules, event, "an event of a response that is not active");
    }
}

static void check_playback(struct realtime_rules *rules, const json_t *event, const char *type)
{
    const char *id = text_of(event, "response_id");
    if (strcmp(type, "output_audio_buffer.started") == 0) {
        if (rules->playing[0] != '\0') {
            breaks(rules, event, "playback starts while another one plays");
        }
        if (json_object_get(rules->responses, id) == NULL) {
            breaks(rules, event, "playback starts before its response");
        }
        (void)snprintf(rules->playing, sizeof(rules->playing), "%s", id);
    } else if (strncmp(type, "output_audio_buffer.", 20) == 0) {
        if (strcmp(rules->playing, id) != 0) {
            breaks(rules, event, "playback ends that did not start");
        }
        rules->playing[0] = '\0';
    }
}

static void check_turns(struct realtime_rules *rules, const json_t *event, const char *type)
{
    const char *id = text_of(event, "item_id");
    if (strcmp(type, "input_audio_buffer.speech_started") == 0) {
        if (rules->heard[0] != '\0') {
            breaks(rules, event, "a turn begins within another");
        }
        (void)snprintf(rules->heard, sizeof(rules->heard), "%s", id);
        rules->heard_from_ms = json_number_value(json_object_get(event, "audio_start_ms"));
    } else if (strcmp(type, "input_audio_buffer.speech_stopped") == 0) {
        if (strcmp(rules->heard, id) != 0 ||
            json_number_value(json_object_get(event, "audio_end_ms")) <= rules->heard_from_ms) {
            breaks(rules, event, "a turn ends that did not begin, or before it began");
        }
        rules->heard[0] = '\0';
    } else if (strcmp(type, "input_audio_buffer.cleared") == 0) {
        rules->heard[0] = '\0';
    }
}

void realtime_rules_init(struct realtime_rules *rules, size_t message_bytes_max)
{
    *rules = (struct realtime_rules){
        .event_ids = json_object(),
        .items = json_object(),
        .responses = json_object(),
        .calls = json_object(),
        .message_bytes_max = message_bytes_max,
    };
}

void realtime_rules_clear(struct realtime_rules *rules)
{
    json_decref(rules->event_ids);
    json_decref(rules->items);
    json_decref(rules->responses);
    json_decref(rules->calls);
}

void realtime_rules_check(struct realtime_rules *rules, struct bytes_view text, bool is_for_all)
{
    json_t *event = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    const char *type = text_of(event, "type");
    const char *event_id = text_of(event, "event_id");
    if (!json_is_object(event) || event_id[0] == '\0') {
        breaks(rules, event, "an event is an object with an event_id");
    } else if (!remember(rules->event_ids, event_id)) {
        breaks(rules, event, "an event_id is used twice");
    }
    if (text.len > rules->message_bytes_max) {
        breaks(rules, event, "an event is longer than a message may be");
    }
    check_form(rules, event);
    if (is_for_all) {
        if (rules->events++ == 0 && strcmp(type, "session.created") != 0) {
            breaks(rules, event, "session.created is first");
        }
        check_items(rules, event, type);
        check_calls(rules, event, type);
        check_responses(rules, event, type);
        check_playback(rules, event, type);
        check_turns(rules, event, type);
    }
    json_decref(event);
}

void realtime_rules_check_end(struct realtime_rules *rules)
{
    if (rules->active[0] != '\0') {
        breaks(rules, NULL, "a response was never done");
    }
    if (rules->playing[0] != '\0') {
        breaks(rules, NULL, "playback never ended");
    }
}
