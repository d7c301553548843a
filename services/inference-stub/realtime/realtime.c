/* realtime.c - see realtime.h */
#include "services/inference-stub/realtime/realtime.h"

#include <stdlib.h>

struct realtime {
    struct realtime_config config;
};

struct realtime *realtime_create(const struct realtime_config *config)
{
    struct realtime *r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->config = *config;
    }
    return r;
}

void realtime_destroy(struct realtime *r)
{
    free(r);
}

bool realtime_input(struct realtime *r, struct bytes_view event)
{
    (void)r;
    (void)event;
    return false;
}

void realtime_sideband_attached(struct realtime *r, uint32_t sideband)
{
    (void)r;
    (void)sideband;
}

bool realtime_poll_event(struct realtime *r, struct realtime_event *out)
{
    (void)r;
    (void)out;
    return false;
}

void realtime_audio_in(struct realtime *r, uint64_t duration_us)
{
    (void)r;
    (void)duration_us;
}

void realtime_speech_started(struct realtime *r, uint64_t audio_start_ms)
{
    (void)r;
    (void)audio_start_ms;
}

void realtime_speech_stopped(struct realtime *r, uint64_t audio_end_ms)
{
    (void)r;
    (void)audio_end_ms;
}

void realtime_transcript(struct realtime *r, const char *item_id, const char *text)
{
    (void)r;
    (void)item_id;
    (void)text;
}

void realtime_respond(struct realtime *r)
{
    (void)r;
}

void realtime_speak(struct realtime *r, uint32_t response, uint32_t utterance)
{
    (void)r;
    (void)response;
    (void)utterance;
}

void realtime_say(struct realtime *r, uint32_t response, const char *words)
{
    (void)r;
    (void)response;
    (void)words;
}

void realtime_say_end(struct realtime *r, uint32_t response)
{
    (void)r;
    (void)response;
}

void realtime_call_tool(struct realtime *r, uint32_t response, const char *name,
                        const char *arguments)
{
    (void)r;
    (void)response;
    (void)name;
    (void)arguments;
}

void realtime_fail(struct realtime *r, uint32_t response, const char *code, const char *message)
{
    (void)r;
    (void)response;
    (void)code;
    (void)message;
}

void realtime_playback(struct realtime *r, enum realtime_playback_state state, uint32_t utterance,
                       uint64_t heard_us)
{
    (void)r;
    (void)state;
    (void)utterance;
    (void)heard_us;
}

void realtime_flushed(struct realtime *r, const struct realtime_flushed *flushed)
{
    (void)r;
    (void)flushed;
}

void realtime_resumed(struct realtime *r)
{
    (void)r;
}

bool realtime_poll_order(struct realtime *r, struct realtime_order *out)
{
    (void)r;
    (void)out;
    return false;
}

const char *realtime_instructions(const struct realtime *r)
{
    (void)r;
    return "";
}

bool realtime_has_tool(const struct realtime *r, const char *name)
{
    (void)r;
    (void)name;
    return false;
}
