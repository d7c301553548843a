/* client_commands.c - see client_commands.h */
#include "services/inference-stub/realtime/client_commands.h"

#include "common/base/time_us.h"
#include "services/inference-stub/realtime/realtime_id.h"
#include "services/inference-stub/realtime/response_request.h"

#define ECHO_BYTES 1024 /* what stands around an item in the events that show it */

/* --- session ---------------------------------------------------------------------------------- */

static bool session_update(struct realtime *r, const json_t *event, struct client_error *error)
{
    const struct realtime_turn_detection before = realtime_session_turn_detection(&r->session);
    if (!realtime_session_merge(&r->session, json_object_get(event, "session"), error)) {
        return false;
    }
    event_queue_add(&r->events, "session.updated", realtime_session_fields(&r->session));
    const struct realtime_turn_detection after = realtime_session_turn_detection(&r->session);
    if (before.is_on != after.is_on || before.threshold != after.threshold ||
        before.prefix_padding_ms != after.prefix_padding_ms ||
        before.silence_duration_ms != after.silence_duration_ms) {
        realtime_machine_detect_turns(r);
    }
    return true;
}

/* --- conversation ----------------------------------------------------------------------------- */

/* NULL: the error tells why. */
static struct conversation_item *item_named(const struct realtime *r, const json_t *event,
                                            const char *key, struct client_error *error)
{
    const char *id = client_event_text(event, key, error);
    struct conversation_item *item = id == NULL ? NULL : conversation_find(&r->conversation, id);
    if (id != NULL && item == NULL) {
        (void)client_error_set(error, "item_not_found", key, "There is no item '%.40s'.", id);
    }
    return item;
}

/* Where it goes: NULL for the end. False: the error tells why. */
static bool place_named(const struct realtime *r, const json_t *event, const char **after,
                        struct client_error *error)
{
    const json_t *given = json_object_get(event, "previous_item_id");
    *after = json_string_value(given);
    if (given == NULL || json_is_null(given) ||
        (*after != NULL && strcmp(*after, CONVERSATION_ROOT) == 0)) {
        return true;
    }
    return item_named(r, event, "previous_item_id", error) != NULL;
}

static bool item_fits(const struct realtime *r, const struct conversation_item *item,
                      struct client_error *error)
{
    /* A turn that is being heard has told its item's id already. */
    if (conversation_find(&r->conversation, item->id) != NULL ||
        (r->input.is_in_speech && strcmp(r->input.item_id, item->id) == 0)) {
        return client_error_set(error, "item_already_exists", "item.id",
                                "There is an item '%.40s' already.", item->id);
    }
    if (json_dumpb(item->json, NULL, 0, JSON_COMPACT) + ECHO_BYTES > r->message_bytes_max) {
        return client_error_set(error, "item_too_large", "item",
                                "The item is longer than the messages that this call may have.");
    }
    return true;
}

static bool item_create(struct realtime *r, const json_t *event, struct client_error *error)
{
    static const char *const types[] = {"conversation.item.added", "conversation.item.done"};
    char own_id[REALTIME_ID_CAP];
    const char *after = NULL;
    realtime_id_make(r->events.random, "item_", own_id);
    struct conversation_item *item =
        conversation_item_of_client_create(json_object_get(event, "item"), own_id, error);
    if (item == NULL || !item_fits(r, item, error) || !place_named(r, event, &after, error)) {
        conversation_item_destroy(item);
        return false;
    }
    conversation_add(&r->conversation, item, after);
    const char *previous = conversation_previous_id(&r->conversation, item);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        event_queue_add(&r->events, types[i],
                        json_pack("{s:s?, s:O}", "previous_item_id", previous, "item", item->json));
    }
    return true;
}

static bool item_retrieve(struct realtime *r, const json_t *event, struct client_error *error)
{
    const struct conversation_item *item = item_named(r, event, "item_id", error);
    if (item == NULL) {
        return false;
    }
    event_queue_add(&r->events, "conversation.item.retrieved",
                    json_pack("{s:O}", "item", item->json));
    return true;
}

static bool item_delete(struct realtime *r, const json_t *event, struct client_error *error)
{
    struct conversation_item *item = item_named(r, event, "item_id", error);
    if (item == NULL) {
        return false;
    }
    event_queue_add(&r->events, "conversation.item.deleted",
                    json_pack("{s:s}", "item_id", item->id));
    conversation_remove(&r->conversation, item);
    return true;
}

static bool item_truncate(struct realtime *r, const json_t *event, struct client_error *error)
{
    struct conversation_item *item = item_named(r, event, "item_id", error);
    if (item == NULL) {
        return false;
    }
    if (item->kind != ITEM_ASSISTANT_SPEECH) {
        return client_error_set(error, "invalid_value", "item_id",
                                "Only what the assistant has spoken can be truncated.");
    }
    const json_t *part = json_object_get(event, "content_index");
    if (!json_is_integer(part) || json_integer_value(part) != 0) {
        return client_error_set(error, "invalid_value", "content_index",
                                "'content_index' must be 0.");
    }
    const json_t *end = json_object_get(event, "audio_end_ms");
    if (!json_is_integer(end) || json_integer_value(end) < 0) {
        return client_error_set(error, "invalid_value", "audio_end_ms",
                                "'audio_end_ms' must be an integer of 0 or more.");
    }
    const json_int_t heard_ms = (json_int_t)(item->heard_us / US_PER_MS);
    const json_int_t end_ms =
        json_integer_value(end) < heard_ms ? json_integer_value(end) : heard_ms;
    conversation_item_truncate(item);
    event_queue_add(&r->events, "conversation.item.truncated",
                    json_pack("{s:s, s:i, s:I}", "item_id", item->id, "content_index", 0,
                              "audio_end_ms", end_ms));
    return true;
}

/* --- responses -------------------------------------------------------------------------------- */

static bool response_create(struct realtime *r, const json_t *event, struct client_error *error)
{
    const json_t *overrides = json_object_get(event, "response");
    if (!response_request_check(overrides, error)) {
        return false;
    }
    if (r->response.state != RESPONSE_IDLE) {
        return client_error_set(error, "conversation_already_has_active_response", "",
                                "Response '%s' is active.", r->response.id);
    }
    realtime_machine_respond(r, overrides);
    return true;
}

static bool response_cancel(struct realtime *r, const json_t *event, struct client_error *error)
{
    const char *id = json_string_value(json_object_get(event, "response_id"));
    if (r->response.state == RESPONSE_IDLE || (id != NULL && strcmp(id, r->response.id) != 0)) {
        return client_error_set(error, "response_cancel_not_active", "response_id",
                                "There is no such response to cancel.");
    }
    realtime_machine_cancel(r, "client_cancelled");
    realtime_machine_go_on(r);
    return true;
}

static bool output_clear(struct realtime *r, const json_t *event, struct client_error *error)
{
    (void)event;
    (void)error;
    playback_clear(&r->playback);
    return true;
}

/* --- the user's audio ------------------------------------------------------------------------- */

static bool input_append(struct realtime *r, const json_t *event, struct client_error *error)
{
    if (!realtime_session_takes_pcm(&r->session)) {
        return client_error_set(error, "invalid_value", "audio",
                                "Only audio/pcm can be appended here.");
    }
    return input_buffer_append(&r->input, event, error);
}

static bool input_commit(struct realtime *r, const json_t *event, struct client_error *error)
{
    (void)event;
    return input_buffer_commit(&r->input, realtime_session_has_transcription(&r->session), error);
}

static bool input_clear(struct realtime *r, const json_t *event, struct client_error *error)
{
    (void)event;
    (void)error;
    input_buffer_clear(&r->input);
    return true;
}

/* --- which is which --------------------------------------------------------------------------- */

/* False: nothing has changed, and the error tells why. */
typedef bool command(struct realtime *r, const json_t *event, struct client_error *error);

static const struct {
    const char *type;
    command *run;
} commands[] = {
    {"session.update", session_update},
    {"conversation.item.create", item_create},
    {"conversation.item.retrieve", item_retrieve},
    {"conversation.item.delete", item_delete},
    {"conversation.item.truncate", item_truncate},
    {"response.create", response_create},
    {"response.cancel", response_cancel},
    {"output_audio_buffer.clear", output_clear},
    {"input_audio_buffer.append", input_append},
    {"input_audio_buffer.commit", input_commit},
    {"input_audio_buffer.clear", input_clear},
};

static bool run(struct realtime *r, const json_t *event, struct client_error *error)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    if (type == NULL) {
        return client_error_set(error, "invalid_value", "type", "'type' must be a string.");
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(commands[i].type, type) == 0) {
            return commands[i].run(r, event, error);
        }
    }
    return client_error_set(error, "invalid_value", "type", "There is no event '%.60s'.", type);
}

void client_commands_run(struct realtime *r, struct bytes_view text)
{
    struct client_error error;
    json_t *event = text.len > REALTIME_EVENT_BYTES_IN ? NULL : client_event_parse(text);
    bool is_done = false;
    if (event != NULL) {
        is_done = run(r, event, &error);
    } else if (text.len > REALTIME_EVENT_BYTES_IN) {
        (void)client_error_set(&error, "message_too_large", "", "An event has at most %d bytes.",
                               REALTIME_EVENT_BYTES_IN);
    } else {
        (void)client_error_set(&error, "invalid_json", "",
                               "The event is not a JSON object within the limits.");
    }
    if (!is_done) {
        event_queue_add(&r->events, "error", client_error_fields(&error, event));
    }
    json_decref(event);
}
