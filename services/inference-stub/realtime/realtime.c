/* realtime.c - see realtime.h */
#include "services/inference-stub/realtime/realtime.h"

#include "services/inference-stub/realtime/client_commands.h"
#include "services/inference-stub/realtime/response_request.h"
#include "services/inference-stub/realtime/session_fields.h"

#include <stdlib.h>

/* The echo of a session must fit a message, with room for what stands around it. */
#define SESSION_ECHO_BYTES 8192
/* A character of JSON may take six, and some words stand around them. */
#define WORDS_SHARE 8

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t session_bytes_max(size_t message_bytes_max)
{
    const size_t fits = message_bytes_max > 2 * SESSION_ECHO_BYTES
                            ? message_bytes_max - SESSION_ECHO_BYTES
                            : message_bytes_max / 2;
    return smaller(fits, REALTIME_SESSION_BYTES_MAX);
}

/* A session that can not be is not the client's alone to know of: the defaults stand, and an
 * `error` tells why. */
static void merge_first_session(struct realtime *r, struct bytes_view text)
{
    struct client_error error;
    json_t *session = client_event_parse(text);
    if (session == NULL) {
        (void)client_error_set(&error, "invalid_json", "session",
                               "The session is not a JSON object within the limits.");
    }
    const bool is_merged = session != NULL && realtime_session_merge(&r->session, session, &error);
    event_queue_add(&r->events, "session.created", realtime_session_fields(&r->session));
    if (!is_merged) {
        event_queue_add(&r->events, "error", client_error_fields(&error, NULL));
    }
    json_decref(session);
}

/* Clients hold back every request until the response that they wait for is done. Its id died with
 * the agent that was there; another one ends their wait. */
static void end_lost_response(struct realtime *r)
{
    const struct response_wish wish = response_request_wish(&r->session, NULL);
    active_response_begin(&r->response, &wish);
    active_response_fail(&r->response, "backend_lost", "The agent of this call was replaced.");
}

struct realtime *realtime_create(const struct realtime_config *config)
{
    struct realtime *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    const size_t message_bytes_max = config->message_bytes_max;
    r->message_bytes_max = message_bytes_max;
    event_queue_init(&r->events, config->random, message_bytes_max);
    active_response_init(&r->response, &r->events, &r->conversation,
                         smaller(REALTIME_SPEECH_BYTES_MAX, message_bytes_max / WORDS_SHARE));
    playback_init(&r->playback, &r->events, &r->orders, &r->conversation);
    input_buffer_init(&r->input, &r->events, &r->orders, &r->conversation);
    if (!realtime_session_init(&r->session, session_bytes_max(message_bytes_max),
                               config->expires_at_s, config->random)) {
        realtime_destroy(r);
        return NULL;
    }
    merge_first_session(r, config->session_json.len == 0 ? bytes_view_of_text("{}")
                                                         : config->session_json);
    realtime_machine_detect_turns(r);
    if (config->is_restarted) {
        end_lost_response(r);
    }
    return r;
}

void realtime_destroy(struct realtime *r)
{
    if (r == NULL) {
        return;
    }
    event_queue_clear(&r->events);
    order_queue_clear(&r->orders);
    active_response_clear(&r->response);
    realtime_session_clear(&r->session);
    conversation_clear(&r->conversation);
    free(r);
}

/* --- the event channel ------------------------------------------------------------------------ */

bool realtime_input(struct realtime *r, struct bytes_view event)
{
    if (r->events.waiting_bytes >= REALTIME_WAITING_BYTES_MAX) {
        return false;
    }
    client_commands_run(r, event);
    return true;
}

void realtime_sideband_attached(struct realtime *r, uint32_t sideband)
{
    event_queue_add_for(&r->events, sideband, "session.created",
                        realtime_session_fields(&r->session));
}

bool realtime_poll_event(struct realtime *r, struct realtime_event *out)
{
    return event_queue_take(&r->events, out);
}

bool realtime_poll_order(struct realtime *r, struct realtime_order *out)
{
    return order_queue_take(&r->orders, out);
}

/* --- the user --------------------------------------------------------------------------------- */

void realtime_audio_in(struct realtime *r, uint64_t duration_us)
{
    input_buffer_fill(&r->input, duration_us);
}

void realtime_speech_started(struct realtime *r, uint64_t audio_start_ms)
{
    if (!input_buffer_speech_started(&r->input, audio_start_ms)) {
        return;
    }
    if (realtime_session_interrupts_response(&r->session)) {
        r->answer_waits = false;
        realtime_machine_cancel(r, "turn_detected");
        playback_clear(&r->playback);
    }
}

void realtime_speech_stopped(struct realtime *r, uint64_t audio_end_ms)
{
    const bool transcribe = realtime_session_has_transcription(&r->session);
    if (!input_buffer_speech_stopped(&r->input, audio_end_ms, transcribe)) {
        return;
    }
    if (realtime_session_creates_response(&r->session)) {
        r->answer_waits = true;
        realtime_machine_go_on(r);
    }
}

void realtime_transcript(struct realtime *r, const char *item_id, const char *text)
{
    struct conversation_item *item = conversation_find(&r->conversation, item_id);
    if (item == NULL || item->kind != ITEM_USER_SPEECH ||
        strlen(text) > r->response.words_bytes_max ||
        !conversation_item_set_transcript(item, text)) {
        return;
    }
    event_queue_add(
        &r->events, "conversation.item.input_audio_transcription.delta",
        json_pack("{s:s, s:i, s:s}", "item_id", item->id, "content_index", 0, "delta", text));
    event_queue_add(
        &r->events, "conversation.item.input_audio_transcription.completed",
        json_pack("{s:s, s:i, s:s}", "item_id", item->id, "content_index", 0, "transcript", text));
}

/* --- the agent -------------------------------------------------------------------------------- */

static bool is_in(const struct realtime *r, uint32_t response, enum response_state state)
{
    return response == r->response.number && r->response.state == state;
}

void realtime_respond(struct realtime *r)
{
    if (r->response.state == RESPONSE_IDLE) {
        realtime_machine_respond(r, NULL);
    }
}

void realtime_speak(struct realtime *r, uint32_t response, uint32_t utterance)
{
    if (is_in(r, response, RESPONSE_CREATED) && !r->response.is_text_only) {
        active_response_open(&r->response);
        playback_open(&r->playback, utterance, r->response.id, r->response.item_id);
    }
}

void realtime_say(struct realtime *r, uint32_t response, const char *words)
{
    if (is_in(r, response, RESPONSE_CREATED) && r->response.is_text_only) {
        active_response_open(&r->response);
    }
    if (is_in(r, response, RESPONSE_SPEAKING) || is_in(r, response, RESPONSE_WRITING)) {
        active_response_say(&r->response, words);
    }
}

void realtime_say_end(struct realtime *r, uint32_t response)
{
    if (response == r->response.number) {
        active_response_complete(&r->response);
        realtime_machine_go_on(r);
    }
}

void realtime_call_tool(struct realtime *r, uint32_t response, const char *name,
                        const char *arguments)
{
    if (is_in(r, response, RESPONSE_CREATED)) {
        active_response_call_tool(&r->response, name, arguments);
        realtime_machine_go_on(r);
    }
}

void realtime_fail(struct realtime *r, uint32_t response, const char *code, const char *message)
{
    if (response == r->response.number) {
        active_response_fail(&r->response, code, message);
        realtime_machine_go_on(r);
    }
}

/* --- the playback ----------------------------------------------------------------------------- */

void realtime_playback(struct realtime *r, enum realtime_playback_state state, uint32_t utterance,
                       uint64_t heard_us)
{
    playback_hear(&r->playback, state, utterance, heard_us);
}

void realtime_flushed(struct realtime *r, const struct realtime_flushed *flushed)
{
    playback_flushed(&r->playback, flushed);
}

void realtime_resumed(struct realtime *r)
{
    playback_clear_again(&r->playback);
}

/* --- the session ------------------------------------------------------------------------------ */

const char *realtime_instructions(const struct realtime *r)
{
    return json_string_value(json_object_get(r->session.json, "instructions"));
}

bool realtime_has_tool(const struct realtime *r, const char *name)
{
    return session_fields_have_tool(r->session.json, name);
}
