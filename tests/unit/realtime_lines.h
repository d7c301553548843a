/* realtime_lines.h - what clients send in a realtime_world, and the events that come of it */
#ifndef EARSHOT_TESTS_REALTIME_LINES_H
#define EARSHOT_TESTS_REALTIME_LINES_H

#include "tests/testing.h"

#include "tests/support/realtime_world.h"

static struct realtime_world world;

static inline void open_with(const char *session)
{
    realtime_world_open(&world, &(struct realtime_world_config){.session = session});
    realtime_world_drain(&world);
    assert_string_equal(world.events, "session.created");
}

static inline void play(const struct realtime_line *lines, size_t count)
{
    static char why[16384];
    if (!realtime_world_play(&world, lines, count, why, sizeof(why))) {
        fail_msg("%s", why);
    }
}

static inline void close_world(void)
{
    assert_string_equal(world.rules.broken, "");
    realtime_world_close(&world);
}

static inline void play_in(const char *session, const struct realtime_line *lines, size_t count)
{
    open_with(session);
    play(lines, count);
    close_world();
}

static inline void field_is(const char *path, const char *value)
{
    assert_string_equal(realtime_world_field(&world, path), value);
}

#define CREATE "{\"type\":\"response.create\"}"
#define CANCEL "{\"type\":\"response.cancel\"}"
#define CLEAR  "{\"type\":\"output_audio_buffer.clear\"}"
#define COMMIT "{\"type\":\"input_audio_buffer.commit\"}"
#define HELLO                                                                                      \
    "{\"type\":\"conversation.item.create\",\"item\":{\"id\":\"hello\",\"type\":\"message\","      \
    "\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hello\"}]}}"
#define ITEM(id, place)                                                                            \
    "{\"type\":\"conversation.item.create\"" place ",\"item\":{\"id\":\"" id "\","                 \
    "\"type\":\"message\",\"role\":\"user\",\"content\":[]}}"
#define OUTPUT                                                                                     \
    "{\"type\":\"conversation.item.create\",\"item\":{\"type\":\"function_call_output\","          \
    "\"call_id\":\"call_1\",\"output\":\"sunny\"}}"
#define TRANSCRIBED "{\"audio\":{\"input\":{\"transcription\":{\"model\":\"any\"}}}}"
#define TOOLS       "{\"tools\":[{\"type\":\"function\",\"name\":\"get_weather\"}]}"
#define MANUAL      "{\"audio\":{\"input\":{\"turn_detection\":null}}}"

#define ADDED_AND_DONE "conversation.item.added conversation.item.done"
#define OPENED                                                                                     \
    "response.output_item.added:in_progress conversation.item.added:in_progress "                  \
    "response.content_part.added"
#define SPOKEN                                                                                     \
    "response.output_audio.done response.output_audio_transcript.done "                            \
    "response.content_part.done conversation.item.done response.output_item.done "                 \
    "response.done:completed"
#define CUT_OFF                                                                                    \
    "response.output_audio.done response.output_audio_transcript.done "                            \
    "response.content_part.done conversation.item.done:incomplete "                                \
    "response.output_item.done:incomplete "
#define WRITTEN                                                                                    \
    "response.output_text.done response.content_part.done conversation.item.done "                 \
    "response.output_item.done response.done:completed"
#define STOPPED   "input_audio_buffer.speech_stopped"
#define COMMITTED "input_audio_buffer.committed " ADDED_AND_DONE
#define DELTA     "response.output_audio_transcript.delta"

#endif
