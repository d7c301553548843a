/*
 * active_response.h - the one response that is being made: its events, in the order in which
 *                     clients insist on them
 *
 *     IDLE --begin--> CREATED --open_speech, open_text--> SPEAKING, WRITING --close--> IDLE
 *                     CREATED --call_tool or close--> IDLE
 *
 * Gives:   response.created first and response.done last, whatever comes between.
 * Owns:    the response's JSON and its words, at most words_bytes_max.
 * Not here: the playback of what it says (playback.h).
 */
#ifndef EARSHOT_ACTIVE_RESPONSE_H
#define EARSHOT_ACTIVE_RESPONSE_H

#include "services/inference-stub/realtime/conversation.h"
#include "services/inference-stub/realtime/event_queue.h"

enum response_state { RESPONSE_IDLE, RESPONSE_CREATED, RESPONSE_SPEAKING, RESPONSE_WRITING };

struct active_response {
    struct event_queue *events;
    struct conversation *conversation;
    char conversation_id[REALTIME_ID_CAP];
    size_t words_bytes_max;

    enum response_state state;
    uint32_t number; /* of the active one, else of the one before */
    char id[REALTIME_ID_CAP];
    bool is_text_only;
    bool is_apart; /* its item is no part of the conversation */
    json_t *json;
    json_t *item; /* shared with the conversation */
    char item_id[REALTIME_ID_CAP];
    size_t words_len;
    char words[REALTIME_SPEECH_BYTES_MAX + 1];
};

struct response_wish {
    json_t *modalities; /* borrowed; an array */
    json_t *max_output_tokens;
    json_t *metadata; /* NULL: none */
    bool is_text_only;
    bool is_apart;
};

/* Its parts outlive it. */
void active_response_init(struct active_response *a, struct event_queue *events,
                          struct conversation *conversation, size_t words_bytes_max);
void active_response_clear(struct active_response *a);

/* Only while IDLE. */
void active_response_begin(struct active_response *a, const struct response_wish *wish);

/* Only while CREATED, speech unless it is text only, text if it is. */
void active_response_open(struct active_response *a);
/* Only while SPEAKING or WRITING. Words that are no UTF-8 or have no room are not said. */
void active_response_say(struct active_response *a, const char *words);
/* Only while CREATED; nothing more follows. */
void active_response_call_tool(struct active_response *a, const char *name, const char *arguments);

/* What is open is closed, unless IDLE. */
void active_response_complete(struct active_response *a);
void active_response_cancel(struct active_response *a, const char *reason);
void active_response_fail(struct active_response *a, const char *code, const char *message);

#endif
