/* input_buffer.c - see input_buffer.h */
#include "services/inference-stub/realtime/input_buffer.h"

#include "common/base/time_us.h"
#include "services/inference-stub/realtime/base64.h"
#include "services/inference-stub/realtime/realtime_id.h"

#include <stdlib.h>

void input_buffer_init(struct input_buffer *b, struct event_queue *events,
                       struct order_queue *orders, struct conversation *conversation)
{
    *b = (struct input_buffer){.events = events, .orders = orders, .conversation = conversation};
}

void input_buffer_fill(struct input_buffer *b, uint64_t duration_us)
{
    b->clock_us += duration_us;
    b->filled_us += duration_us;
}

bool input_buffer_speech_started(struct input_buffer *b, uint64_t audio_start_ms)
{
    if (b->is_in_speech) {
        return false;
    }
    b->is_in_speech = true;
    b->speech_start_ms = audio_start_ms;
    realtime_id_make(b->events->random, "item_", b->item_id);
    event_queue_add(b->events, "input_audio_buffer.speech_started",
                    json_pack("{s:s, s:I}", "item_id", b->item_id, "audio_start_ms",
                              (json_int_t)audio_start_ms));
    return true;
}

/* --- commit ----------------------------------------------------------------------------------- */

static void tell_item(const struct input_buffer *b, const struct conversation_item *item)
{
    static const char *const types[] = {"conversation.item.added", "conversation.item.done"};
    const char *previous = conversation_previous_id(b->conversation, item);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        event_queue_add(b->events, types[i],
                        json_pack("{s:s?, s:O}", "previous_item_id", previous, "item", item->json));
    }
}

static void order_transcript(const struct input_buffer *b, const struct conversation_item *item,
                             uint64_t audio_ms)
{
    json_t *id = json_object_get(item->json, "id");
    order_queue_add(b->orders, &(struct queued_order){
                                   .order = {.type = REALTIME_TRANSCRIBE,
                                             .transcribe = {json_string_value(id), audio_ms}},
                                   .held = {json_incref(id)}});
}

static void commit(struct input_buffer *b, uint64_t audio_ms, bool transcribe)
{
    const struct conversation_item *last = conversation_last(b->conversation);
    event_queue_add(b->events, "input_audio_buffer.committed",
                    json_pack("{s:s, s:s?}", "item_id", b->item_id, "previous_item_id",
                              last == NULL ? NULL : last->id));
    b->filled_us = 0;
    b->spoken_turns++;
    struct conversation_item *item =
        conversation_item_create(ITEM_USER_SPEECH, conversation_item_user_speech(b->item_id));
    if (item == NULL) {
        return;
    }
    conversation_add(b->conversation, item, NULL);
    tell_item(b, item);
    if (transcribe) {
        order_transcript(b, item, audio_ms);
    }
}

bool input_buffer_speech_stopped(struct input_buffer *b, uint64_t audio_end_ms, bool transcribe)
{
    if (!b->is_in_speech) {
        return false;
    }
    const uint64_t end_ms =
        audio_end_ms > b->speech_start_ms ? audio_end_ms : b->speech_start_ms + 1;
    b->is_in_speech = false;
    event_queue_add(
        b->events, "input_audio_buffer.speech_stopped",
        json_pack("{s:s, s:I}", "item_id", b->item_id, "audio_end_ms", (json_int_t)end_ms));
    commit(b, end_ms - b->speech_start_ms, transcribe);
    return true;
}

static void order_forgetting(const struct input_buffer *b)
{
    order_queue_add(b->orders, &(struct queued_order){.order = {.type = REALTIME_FORGET_AUDIO}});
}

bool input_buffer_commit(struct input_buffer *b, bool transcribe, struct client_error *error)
{
    if (b->filled_us == 0) {
        return client_error_set(error, "input_audio_buffer_commit_empty", "",
                                "There is no audio to commit.");
    }
    if (!input_buffer_speech_stopped(b, b->clock_us / US_PER_MS, transcribe)) {
        realtime_id_make(b->events->random, "item_", b->item_id);
        commit(b, b->filled_us / US_PER_MS, transcribe);
    }
    order_forgetting(b);
    return true;
}

void input_buffer_clear(struct input_buffer *b)
{
    b->filled_us = 0;
    b->is_in_speech = false;
    order_forgetting(b);
    event_queue_add(b->events, "input_audio_buffer.cleared", json_object());
}

/* --- append ----------------------------------------------------------------------------------- */

/* NULL: no base64 of whole samples, or no memory. */
static uint8_t *samples_create(const json_t *audio, size_t *out_len)
{
    const struct bytes_view text =
        bytes_view_of(json_string_value(audio), json_string_length(audio));
    uint8_t *bytes = malloc(base64_decoded_cap(text.len) + 1);
    const bool is_whole =
        bytes != NULL && base64_decode(text, bytes, out_len) && *out_len % sizeof(int16_t) == 0;
    if (!is_whole) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

bool input_buffer_append(struct input_buffer *b, const json_t *event, struct client_error *error)
{
    if (client_event_text(event, "audio", error) == NULL) {
        return false;
    }
    size_t len = 0;
    uint8_t *samples = samples_create(json_object_get(event, "audio"), &len);
    if (samples == NULL) {
        return client_error_set(error, "invalid_value", "audio",
                                "'audio' must be base64 of whole 16-bit samples.");
    }
    order_queue_add(b->orders, &(struct queued_order){.order = {.type = REALTIME_APPEND_AUDIO,
                                                                .pcm16_24000 = {samples, len}},
                                                      .audio = samples});
    return true;
}
