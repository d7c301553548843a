/* agent_talk.h - what a client says in an agent_call, and the answer that is spoken */
#ifndef EARSHOT_TESTS_AGENT_TALK_H
#define EARSHOT_TESTS_AGENT_TALK_H

#include "tests/unit/agent_call_world.h"

#define CONNECTED  "{\"transport\":\"udp\",\"setup_ms\":1}"
#define STUB(json) ",\"session\":{\"instructions\":\"#stub " json "\"}"

static struct agent_call call;

static inline int set_up(void **state)
{
    (void)state;
    open_call(&call);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    close_call(&call);
    return 0;
}

static inline void connect_call(const char *start)
{
    start_call(&call, start);
    give_text(&call, BACKEND_CONNECTED, CONNECTED);
    run_ms(&call, 1000);
}

static inline void say(const char *event)
{
    give_text(&call, BACKEND_EVENT, event);
    drain(&call);
}

static inline void type_text(const char *text)
{
    char event[256];
    (void)snprintf(event, sizeof(event),
                   "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"message\",\"role\":"
                   "\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"%s\"}]}}",
                   text);
    say(event);
    say("{\"type\":\"response.create\"}");
}

/* The response that begins behind `from` says the words, in at least three pieces, within 3 s. */
static inline size_t assert_said(const char *words, size_t from)
{
    char said[96];
    const size_t created = expect_event(&call, "response.created", from);
    const size_t whole = expect_event(&call, "response.output_audio_transcript.done", created);
    const size_t done = expect_event(&call, "response.done", created);
    (void)snprintf(said, sizeof(said), "\"transcript\":\"%s", words);
    assert_says(&call, whole, said);
    assert_says(&call, done, "\"status\":\"completed\"");
    assert_true(call.event_us[done] - call.event_us[created] <= 3 * US_PER_S);
    assert_true(count_events(&call, "response.output_audio_transcript.delta", created) >= 3);
    return done;
}

#endif
