/* response_request.c - see response_request.h */
#include "services/inference-stub/realtime/response_request.h"

#include "services/inference-stub/realtime/session_fields.h"

#define METADATA_BYTES_MAX 4096 /* as text: it is repeated in two events */

/* Of the client, else of the session; borrowed. */
static json_t *field_of(const struct realtime_session *session, const json_t *overrides,
                        const char *name)
{
    json_t *wanted = json_object_get(overrides, name);
    const bool is_said = wanted != NULL && !json_is_null(wanted);
    return is_said ? wanted : json_object_get(session->json, name);
}

/* A new item of ours, or NULL: of no use. What a client wants answered instead of the
 * conversation is the last of its input. */
static struct conversation_item *last_input_create(const json_t *overrides,
                                                   struct client_error *error)
{
    const json_t *input = json_object_get(overrides, "input");
    const size_t count = json_array_size(input);
    return count == 0
               ? NULL
               : conversation_item_of_client_create(json_array_get(input, count - 1), "", error);
}

static bool check_input(const json_t *overrides, struct client_error *error)
{
    const json_t *input = json_object_get(overrides, "input");
    const json_t *last = json_array_get(input, json_array_size(input) - 1);
    const char *type = json_string_value(json_object_get(last, "type"));
    if (last == NULL || (type != NULL && strcmp(type, "item_reference") == 0)) {
        return true;
    }
    struct conversation_item *item = last_input_create(overrides, error);
    const bool is_good = item != NULL;
    conversation_item_destroy(item);
    return is_good;
}

bool response_request_check(const json_t *overrides, struct client_error *error)
{
    if (overrides == NULL || json_is_null(overrides)) {
        return true;
    }
    if (!json_is_object(overrides)) {
        return client_error_set(error, "invalid_value", "response",
                                "'response' must be an object.");
    }
    const json_t *metadata = json_object_get(overrides, "metadata");
    if (metadata != NULL && json_dumpb(metadata, NULL, 0, JSON_COMPACT) > METADATA_BYTES_MAX) {
        return client_error_set(error, "invalid_value", "response.metadata",
                                "'response.metadata' has more than %d bytes.", METADATA_BYTES_MAX);
    }
    return session_fields_check(overrides, "response.", error) && check_input(overrides, error);
}

struct response_wish response_request_wish(const struct realtime_session *session,
                                           const json_t *overrides)
{
    const char *conversation = json_string_value(json_object_get(overrides, "conversation"));
    const json_t *const from =
        json_is_array(json_object_get(overrides, "output_modalities")) ? overrides : session->json;
    return (struct response_wish){
        .modalities = field_of(session, overrides, "output_modalities"),
        .max_output_tokens = field_of(session, overrides, "max_output_tokens"),
        .metadata = json_object_get(overrides, "metadata"),
        .is_text_only = session_fields_are_text_only(from),
        .is_apart = conversation != NULL && strcmp(conversation, "none") == 0,
    };
}

/* --- what is to be answered ------------------------------------------------------------------- */

static enum realtime_prompt prompt_of(const struct conversation_item *item)
{
    switch (item->kind) {
    case ITEM_USER_SPEECH:
        return REALTIME_PROMPT_SPOKEN;
    case ITEM_USER_TEXT:
        return REALTIME_PROMPT_TYPED;
    case ITEM_FUNCTION_OUTPUT:
        return REALTIME_PROMPT_TOOL_OUTPUT;
    case ITEM_SYSTEM:
    case ITEM_ASSISTANT_SPEECH:
    case ITEM_ASSISTANT_TEXT:
    case ITEM_FUNCTION_CALL:
        break;
    }
    return REALTIME_PROMPT_NONE;
}

/* The newest that somebody said; what an application put in as a system says nothing. */
static const struct conversation_item *newest_said(const struct conversation *conversation)
{
    size_t i = conversation->count;
    while (i > 0 && conversation->items[i - 1]->kind == ITEM_SYSTEM) {
        i--;
    }
    return i == 0 ? NULL : conversation->items[i - 1];
}

static void prompt_with(struct queued_order *order, const struct conversation_item *item)
{
    struct realtime_respond_order *respond = &order->order.respond;
    if (item != NULL && prompt_of(item) != REALTIME_PROMPT_NONE) {
        order->held[0] = json_incref(item->json);
        respond->prompt = prompt_of(item);
        respond->item_id = json_string_value(json_object_get(item->json, "id"));
        respond->text = conversation_item_text(item);
    }
}

static void prompt_with_input(struct queued_order *order, const struct conversation *conversation,
                              const json_t *overrides)
{
    const json_t *input = json_object_get(overrides, "input");
    const json_t *last = json_array_get(input, json_array_size(input) - 1);
    const char *type = json_string_value(json_object_get(last, "type"));
    const char *id = json_string_value(json_object_get(last, "id"));
    if (type != NULL && id != NULL && strcmp(type, "item_reference") == 0) {
        prompt_with(order, conversation_find(conversation, id));
        return;
    }
    struct client_error error;
    struct conversation_item *item = last_input_create(overrides, &error);
    prompt_with(order, item);
    conversation_item_destroy(item);
}

bool response_request_order(struct order_queue *orders, const struct realtime_session *session,
                            const struct conversation *conversation,
                            const struct active_response *response, uint32_t spoken_turns,
                            const json_t *overrides)
{
    const json_t *tools = field_of(session, overrides, "tools");
    json_t *instructions = field_of(session, overrides, "instructions");
    json_t *tool = session_fields_tool(tools, field_of(session, overrides, "tool_choice"));
    struct queued_order order = {
        .order = {.type = REALTIME_RESPOND,
                  .respond = {.response = response->number,
                              .spoken_turn = spoken_turns,
                              .item_id = "",
                              .text = "",
                              .instructions = json_string_value(instructions),
                              .tool = json_string_value(tool),
                              .is_text_only = response->is_text_only}},
        .held = {NULL, json_incref(instructions), json_incref(tool)},
    };
    if (json_is_array(json_object_get(overrides, "input"))) {
        prompt_with_input(&order, conversation, overrides);
    } else {
        prompt_with(&order, newest_said(conversation));
    }
    return order_queue_add(orders, &order);
}
