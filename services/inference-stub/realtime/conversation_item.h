/*
 * conversation_item.h - one item of a conversation, in the form in which clients take it
 *
 * Takes:   an item of a client: only what the API knows is kept, so that whatever goes back has
 *          every field that a client insists on, with its type.
 * Owns:    its JSON. cost_bytes stands for the memory it takes.
 */
#ifndef EARSHOT_CONVERSATION_ITEM_H
#define EARSHOT_CONVERSATION_ITEM_H

#include "services/inference-stub/realtime/client_event.h"
#include "services/inference-stub/realtime/realtime.h"

#define ITEM_ID_CAP    65 /* a client may choose: visible ASCII, and a NUL */
#define ITEM_PARTS_MAX 64

enum item_kind {
    ITEM_USER_SPEECH,
    ITEM_USER_TEXT,
    ITEM_SYSTEM,
    ITEM_ASSISTANT_SPEECH,
    ITEM_ASSISTANT_TEXT,
    ITEM_FUNCTION_CALL,
    ITEM_FUNCTION_OUTPUT
};

struct conversation_item {
    char id[ITEM_ID_CAP];
    enum item_kind kind;
    json_t *json;
    size_t cost_bytes;
    uint64_t heard_us; /* of an assistant's speech, until now */
    bool is_truncated; /* the words are gone, and those that still come */
};

/* Takes the reference to json, an object that has an id within the bounds. NULL without memory. */
struct conversation_item *conversation_item_create(enum item_kind kind, json_t *json);
/* json: what a client wrote under "item"; id for one that has none. */
struct conversation_item *conversation_item_of_client_create(const json_t *json, const char *id,
                                                             struct client_error *error);
void conversation_item_destroy(struct conversation_item *item);
/* After a change of its JSON. */
void conversation_item_weigh(struct conversation_item *item);

/* New references, for conversation_item_create. */
json_t *conversation_item_user_speech(const char *id);
json_t *conversation_item_assistant(const char *id);
json_t *conversation_item_function_call(const char *id, const char *name, const char *call_id);

bool conversation_item_set_transcript(struct conversation_item *item, const char *text);
/* An assistant's speech that was not heard to its end: nobody can tell which words were, so none
 * stay. */
void conversation_item_truncate(struct conversation_item *item);
/* What a user typed, or a function gave; "" for any other. Borrowed from the JSON. */
const char *conversation_item_text(const struct conversation_item *item);

#endif
