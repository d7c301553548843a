/* active_response.c - see active_response.h */
#include "services/inference-stub/realtime/active_response.h"

#include "services/inference-stub/realtime/realtime_id.h"

#include <assert.h>

#define ARGUMENTS_DELTA_BYTES 64

void active_response_init(struct active_response *a, struct event_queue *events,
                          struct conversation *conversation, size_t words_bytes_max)
{
    assert(words_bytes_max < sizeof(a->words));
    *a = (struct active_response){
        .events = events, .conversation = conversation, .words_bytes_max = words_bytes_max};
    realtime_id_make(events->random, "conv_", a->conversation_id);
}

/* Back to IDLE; the number stays. */
static void forget(struct active_response *a)
{
    json_decref(a->json);
    json_decref(a->item);
    a->json = NULL;
    a->item = NULL;
    a->words_len = 0;
    a->words[0] = '\0';
    a->state = RESPONSE_IDLE;
    a->conversation->written = NULL;
}

void active_response_clear(struct active_response *a)
{
    forget(a);
}

static void tell_response(const struct active_response *a, const char *type)
{
    event_queue_add(a->events, type, json_pack("{s:O}", "response", a->json));
}

void active_response_begin(struct active_response *a, const struct response_wish *wish)
{
    assert(a->state == RESPONSE_IDLE);
    a->number++;
    a->state = RESPONSE_CREATED;
    a->is_text_only = wish->is_text_only;
    a->is_apart = wish->is_apart;
    realtime_id_make(a->events->random, "resp_", a->id);
    json_t *conversation_id = wish->is_apart ? json_null() : json_string(a->conversation_id);
    a->json = json_pack("{s:s, s:s, s:s, s:n, s:[], s:o, s:O, s:O, s:n, s:O?}", "object",
                        "realtime.response", "id", a->id, "status", "in_progress", "status_details",
                        "output", "conversation_id", conversation_id, "output_modalities",
                        wish->modalities, "max_output_tokens", wish->max_output_tokens, "usage",
                        "metadata", wish->metadata);
    tell_response(a, "response.created");
}

/* --- the item --------------------------------------------------------------------------------- */

/* The item as the conversation has it, if it still does. */
static struct conversation_item *item_in_conversation(const struct active_response *a)
{
    return a->is_apart ? NULL : conversation_find(a->conversation, a->item_id);
}

static void tell_output_item(const struct active_response *a, const char *type)
{
    event_queue_add(
        a->events, type,
        json_pack("{s:s, s:i, s:O}", "response_id", a->id, "output_index", 0, "item", a->item));
}

static void tell_conversation_item(const struct active_response *a, const char *type)
{
    const struct conversation_item *item = item_in_conversation(a);
    if (item != NULL) {
        const char *previous = conversation_previous_id(a->conversation, item);
        event_queue_add(a->events, type,
                        json_pack("{s:s?, s:O}", "previous_item_id", previous, "item", a->item));
    }
}

/* Takes the reference to json. */
static void add_item(struct active_response *a, enum item_kind kind, json_t *json)
{
    a->item = json;
    tell_output_item(a, "response.output_item.added");
    struct conversation_item *item =
        a->is_apart ? NULL : conversation_item_create(kind, json_incref(json));
    if (item != NULL) {
        conversation_add(a->conversation, item, NULL);
        a->conversation->written = item;
        tell_conversation_item(a, "conversation.item.added");
    }
}

static void finish_item(struct active_response *a, const char *status)
{
    (void)json_object_set_new(a->item, "status", json_string(status));
    (void)json_array_append(json_object_get(a->json, "output"), a->item);
    struct conversation_item *item = item_in_conversation(a);
    if (item != NULL) {
        conversation_item_weigh(item);
    }
    tell_conversation_item(a, "conversation.item.done");
    tell_output_item(a, "response.output_item.done");
}

/* --- words ------------------------------------------------------------------------------------ */

/* An event about the one part of the item; key and value are its last field. Takes value. */
static void tell_part(const struct active_response *a, const char *type, const char *key,
                      json_t *value)
{
    json_t *fields = json_pack("{s:s, s:s, s:i, s:i}", "response_id", a->id, "item_id", a->item_id,
                               "output_index", 0, "content_index", 0);
    if (key != NULL && json_object_set_new(fields, key, value) != 0) {
        json_decref(fields);
        fields = NULL;
    }
    event_queue_add(a->events, type, fields);
}

static json_t *part_with_words(const struct active_response *a)
{
    const bool is_speech = a->state == RESPONSE_SPEAKING;
    return json_pack("{s:s, s:s}", "type", is_speech ? "audio" : "text",
                     is_speech ? "transcript" : "text", a->words);
}

void active_response_open(struct active_response *a)
{
    assert(a->state == RESPONSE_CREATED);
    a->state = a->is_text_only ? RESPONSE_WRITING : RESPONSE_SPEAKING;
    realtime_id_make(a->events->random, "item_", a->item_id);
    add_item(a, a->is_text_only ? ITEM_ASSISTANT_TEXT : ITEM_ASSISTANT_SPEECH,
             conversation_item_assistant(a->item_id));
    tell_part(a, "response.content_part.added", "part", part_with_words(a));
}

void active_response_say(struct active_response *a, const char *words)
{
    assert(a->state == RESPONSE_SPEAKING || a->state == RESPONSE_WRITING);
    const size_t len = strlen(words);
    json_t *delta = json_string(words); /* refuses what is no UTF-8 */
    if (delta == NULL || len == 0 || len > a->words_bytes_max - a->words_len) {
        json_decref(delta);
        return;
    }
    memcpy(a->words + a->words_len, words, len + 1);
    a->words_len += len;
    tell_part(a,
              a->state == RESPONSE_SPEAKING ? "response.output_audio_transcript.delta"
                                            : "response.output_text.delta",
              "delta", delta);
}

/* The words that stay in the item. */
static const char *lasting_words(const struct active_response *a)
{
    const struct conversation_item *item = item_in_conversation(a);
    return item != NULL && item->is_truncated ? "" : a->words;
}

static void close_words(struct active_response *a, const char *item_status)
{
    const bool is_speech = a->state == RESPONSE_SPEAKING;
    if (is_speech) {
        tell_part(a, "response.output_audio.done", NULL, NULL);
        tell_part(a, "response.output_audio_transcript.done", "transcript", json_string(a->words));
    } else {
        tell_part(a, "response.output_text.done", "text", json_string(a->words));
    }
    tell_part(a, "response.content_part.done", "part", part_with_words(a));
    (void)json_array_append_new(json_object_get(a->item, "content"),
                                json_pack("{s:s, s:s}", "type",
                                          is_speech ? "output_audio" : "output_text",
                                          is_speech ? "transcript" : "text", lasting_words(a)));
    finish_item(a, item_status);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Takes the reference to details. */
static void finish(struct active_response *a, const char *status, json_t *details)
{
    if (a->state == RESPONSE_IDLE) {
        json_decref(details);
        return;
    }
    if (a->state != RESPONSE_CREATED) {
        close_words(a, strcmp(status, "completed") == 0 ? "completed" : "incomplete");
    }
    (void)json_object_set_new(a->json, "status", json_string(status));
    (void)json_object_set_new(a->json, "status_details", details);
    tell_response(a, "response.done");
    forget(a);
}

void active_response_complete(struct active_response *a)
{
    finish(a, "completed", json_null());
}

void active_response_cancel(struct active_response *a, const char *reason)
{
    finish(a, "cancelled", json_pack("{s:s, s:s}", "type", "cancelled", "reason", reason));
}

void active_response_fail(struct active_response *a, const char *code, const char *message)
{
    finish(a, "failed",
           json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "failed", "error", "type", "server_error",
                     "code", code, "message", message));
}

/* --- a call of a function --------------------------------------------------------------------- */

/* Where a piece of at most `max` bytes ends without cutting a UTF-8 character. */
static size_t piece_len(const char *text, size_t len, size_t max)
{
    size_t end = len < max ? len : max;
    while (end < len && end > 1 && ((uint8_t)text[end] & 0xc0) == 0x80) {
        end--;
    }
    return end;
}

/* Takes value. */
static void tell_arguments(const struct active_response *a, const char *type, const char *call_id,
                           const char *key, json_t *value)
{
    event_queue_add(a->events, type,
                    json_pack("{s:s, s:s, s:i, s:s, s:o}", "response_id", a->id, "item_id",
                              a->item_id, "output_index", 0, "call_id", call_id, key, value));
}

void active_response_call_tool(struct active_response *a, const char *name, const char *arguments)
{
    assert(a->state == RESPONSE_CREATED);
    char call_id[REALTIME_ID_CAP];
    const size_t len = strlen(arguments);
    json_t *whole = len > a->words_bytes_max ? NULL : json_string(arguments);
    realtime_id_make(a->events->random, "item_", a->item_id);
    realtime_id_make(a->events->random, "call_", call_id);
    json_t *item =
        whole == NULL ? NULL : conversation_item_function_call(a->item_id, name, call_id);
    if (item == NULL) {
        json_decref(whole);
        active_response_fail(a, "server_error", "The arguments of the function can not be sent.");
        return;
    }
    add_item(a, ITEM_FUNCTION_CALL, item);
    for (size_t sent = 0; sent < len;) {
        const size_t piece = piece_len(arguments + sent, len - sent, ARGUMENTS_DELTA_BYTES);
        tell_arguments(a, "response.function_call_arguments.delta", call_id, "delta",
                       json_stringn(arguments + sent, piece));
        sent += piece;
    }
    tell_arguments(a, "response.function_call_arguments.done", call_id, "arguments",
                   json_incref(whole));
    (void)json_object_set_new(a->item, "arguments", whole);
    finish_item(a, "completed");
    active_response_complete(a);
}
