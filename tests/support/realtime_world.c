/* realtime_world.c - see realtime_world.h */
#include "tests/support/realtime_world.h"

#include "common/base/time_us.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void copy_text(char *out, size_t cap, const char *text)
{
    (void)snprintf(out, cap, "%s", text == NULL ? "" : text);
}

static void obey(struct realtime_world *w, const struct realtime_order *order)
{
    switch (order->type) {
    case REALTIME_RESPOND:
        w->response = order->respond.response;
        w->respond = *order;
        copy_text(w->prompt_text, sizeof(w->prompt_text), order->respond.text);
        copy_text(w->instructions, sizeof(w->instructions), order->respond.instructions);
        copy_text(w->tool, sizeof(w->tool), order->respond.tool);
        break;
    case REALTIME_CANCEL:
        assert(order->response == w->response);
        break;
    case REALTIME_FLUSH:
        assert(order->utterance != 0 && order->utterance <= w->utterance);
        w->flush = order->utterance;
        break;
    case REALTIME_TURN_DETECTION:
        w->turn_detection = order->turn_detection;
        break;
    case REALTIME_FORGET_AUDIO:
        break;
    case REALTIME_APPEND_AUDIO:
        w->appended_bytes += order->pcm16_24000.len;
        w->clock_ms += order->pcm16_24000.len / 48;
        realtime_audio_in(w->realtime, order->pcm16_24000.len / 2 * US_PER_S / 24000);
        break;
    case REALTIME_TRANSCRIBE:
        copy_text(w->transcribe, sizeof(w->transcribe), order->transcribe.item_id);
        w->transcribe_ms = order->transcribe.audio_ms;
        break;
    }
}

/* --- events in short -------------------------------------------------------------------------- */

static const json_t *at(const json_t *json, const char *path)
{
    while (*path != '\0') {
        const size_t len = strcspn(path, ".");
        json = json_is_array(json) ? json_array_get(json, strtoul(path, NULL, 10))
                                   : json_object_getn(json, path, len);
        path += len + (path[len] == '.');
    }
    return json;
}

static const char *string_at(const json_t *json, const char *path)
{
    const char *text = json_string_value(at(json, path));
    return text == NULL ? "" : text;
}

static void detail_of(const json_t *event, const char *type, char *out, size_t cap)
{
    const char *item_status = string_at(event, "item.status");
    out[0] = '\0';
    if (strcmp(type, "error") == 0) {
        (void)snprintf(out, cap, ":%s", string_at(event, "error.code"));
    } else if (strcmp(type, "response.done") == 0) {
        (void)snprintf(out, cap, ":%s", string_at(event, "response.status"));
    } else if (strcmp(type, "conversation.item.truncated") == 0) {
        (void)snprintf(out, cap, ":%lld", (long long)json_integer_value(at(event, "audio_end_ms")));
    } else if (item_status[0] != '\0' && strcmp(item_status, "completed") != 0) {
        (void)snprintf(out, cap, ":%s", item_status);
    }
}

static void summarize(struct realtime_world *w, const json_t *event)
{
    char detail[64];
    const char *type = string_at(event, "type");
    const size_t len = strlen(w->events);
    detail_of(event, type, detail, sizeof(detail));
    (void)snprintf(w->events + len, sizeof(w->events) - len, "%s%s%s", len == 0 ? "" : " ", type,
                   detail);
}

void realtime_world_drain(struct realtime_world *w)
{
    struct realtime_order order;
    struct realtime_event event;
    while (realtime_poll_order(w->realtime, &order)) {
        obey(w, &order);
    }
    w->events[0] = '\0';
    while (realtime_poll_event(w->realtime, &event)) {
        realtime_rules_check(&w->rules, event.text, event.sideband == 0);
        json_decref(w->last);
        w->last = json_loadb((const char *)event.text.data, event.text.len, 0, NULL);
        w->sideband = event.sideband;
        summarize(w, w->last);
    }
}

const char *realtime_world_field(struct realtime_world *w, const char *path)
{
    static char text[WORLD_LAST_EVENT_CAP];
    const json_t *value = at(w->last, path);
    if (json_is_string(value)) {
        return json_string_value(value);
    }
    const size_t len =
        value == NULL ? 0
                      : json_dumpb(value, text, sizeof(text) - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    text[len] = '\0';
    return text;
}

void realtime_world_open(struct realtime_world *w, const struct realtime_world_config *config)
{
    const uint32_t bytes_max =
        config->message_bytes_max == 0 ? WORLD_MESSAGE_BYTES : config->message_bytes_max;
    *w = (struct realtime_world){0};
    random_generator_init(&w->random, config->seed);
    realtime_rules_init(&w->rules, bytes_max);
    w->realtime = realtime_create(&(struct realtime_config){
        .session_json =
            config->session == NULL ? bytes_view_of(NULL, 0) : bytes_view_of_text(config->session),
        .message_bytes_max = bytes_max,
        .expires_at_s = 1800000000,
        .is_restarted = config->is_restarted,
        .random = random_seeded(&w->random),
    });
    assert(w->realtime != NULL);
}

void realtime_world_close(struct realtime_world *w)
{
    json_decref(w->last);
    realtime_rules_clear(&w->rules);
    realtime_destroy(w->realtime);
}

/* --- steps ------------------------------------------------------------------------------------ */

static uint64_t number_of(const char *text)
{
    return strtoull(text, NULL, 10);
}

void client(struct realtime_world *w, const char *text)
{
    (void)realtime_input(w->realtime, bytes_view_of_text(text));
}

void audio(struct realtime_world *w, const char *text)
{
    w->clock_ms += number_of(text);
    realtime_audio_in(w->realtime, number_of(text) * US_PER_MS);
}

void speech_begins(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_speech_started(w->realtime, w->clock_ms);
}

void speech_ends(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_speech_stopped(w->realtime, w->clock_ms);
}

void transcribes(struct realtime_world *w, const char *text)
{
    realtime_transcript(w->realtime, w->transcribe, text);
}

void greets(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_respond(w->realtime);
}

void speaks(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_speak(w->realtime, w->response, ++w->utterance);
}

void says(struct realtime_world *w, const char *text)
{
    realtime_say(w->realtime, w->response, text);
}

void says_end(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_say_end(w->realtime, w->response);
}

void calls_tool(struct realtime_world *w, const char *text)
{
    realtime_call_tool(w->realtime, w->response, "get_weather", text);
}

void fails(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_fail(w->realtime, w->response, "voice_lost", "The voice can not be made.");
}

static void hears(struct realtime_world *w, enum realtime_playback_state state, const char *text)
{
    realtime_playback(w->realtime, state, w->utterance, number_of(text) * US_PER_MS);
}

void playback_starts(struct realtime_world *w, const char *text)
{
    hears(w, REALTIME_PLAYBACK_STARTED, text);
}

void playback_goes_on(struct realtime_world *w, const char *text)
{
    hears(w, REALTIME_PLAYBACK_PROGRESS, text);
}

void playback_ends(struct realtime_world *w, const char *text)
{
    hears(w, REALTIME_PLAYBACK_DONE, text);
}

void flush_is_done(struct realtime_world *w, const char *text)
{
    const struct realtime_flushed flushed = {w->flush, w->flush, number_of(text) * US_PER_MS};
    realtime_flushed(w->realtime, &flushed);
    w->flush = 0;
}

void flush_found_nothing(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_flushed(w->realtime, &(struct realtime_flushed){.flush = w->flush});
    w->flush = 0;
}

void resumes(struct realtime_world *w, const char *text)
{
    (void)text;
    realtime_resumed(w->realtime);
}

bool realtime_world_play(struct realtime_world *w, const struct realtime_line *lines, size_t count,
                         char *out, size_t out_cap)
{
    for (size_t i = 0; i < count; i++) {
        lines[i].step(w, lines[i].text);
        realtime_world_drain(w);
        const bool is_right = lines[i].events == NULL || strcmp(w->events, lines[i].events) == 0;
        if (!is_right || w->rules.broken[0] != '\0') {
            (void)snprintf(out, out_cap, "line %zu (%s)\n expected %s\n but got  %s\n%s", i,
                           lines[i].text, lines[i].events == NULL ? "anything" : lines[i].events,
                           w->events, w->rules.broken);
            return false;
        }
    }
    return true;
}
