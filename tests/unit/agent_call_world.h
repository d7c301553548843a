/*
 * agent_call_world.h - one call of the agent in virtual time: a transceiver that plays what it gets
 *
 * The session is real from its frames inward. Its far end takes a 20 ms slot after another, gives
 * credit, tells PLAYBACK and answers FLUSH as docs/backend-protocol.md says; the voice is made of a
 * sound for each word, making_us after its turn came.
 */
#ifndef EARSHOT_TESTS_AGENT_CALL_WORLD_H
#define EARSHOT_TESTS_AGENT_CALL_WORLD_H

#include "tests/testing.h"

#include "common/runtime/log.h"
#include "services/inference-stub/agent/agent.h"
#include "services/inference-stub/agent/agent_words.h"
#include "services/inference-stub/stub_counters.h"
#include "services/inference-stub/stub_session.h"

#include <stdio.h>
#include <stdlib.h>

#define HANDLE     7
#define RATE_HZ    16000
#define SLOT_US    (20 * US_PER_MS)
#define TICK_US    (100 * US_PER_MS)
#define MAKING_US  (100 * US_PER_MS)
#define WORD_MS    300
#define BEHIND_US  (60 * US_PER_MS) /* what was sent and not heard yet */
#define CREDIT_US  (10 * US_PER_S)
#define EVENTS_MAX 512

struct agent_call {
    struct stub_behaviour behaviour;
    struct stub_counters counters;
    struct agent_script script;
    struct random_generator random;
    struct stub_session *session;
    uint64_t now_us;
    uint64_t tick_us;
    uint64_t making_us; /* of a sentence, from when its turn came */
    bool voice_fails;
    uint64_t made_us; /* when the sentence under way is made; TIME_NEVER: none is */
    struct speech_work work;
    /* what the user does */
    bool is_speaking;
    uint64_t audio_us;
    /* what the transceiver plays */
    uint32_t utterance;
    bool is_started;
    bool is_whole; /* LAST came */
    bool is_done;
    uint64_t queued_us;
    uint64_t sent_us; /* of the utterance */
    uint64_t received_us;
    uint64_t consumed_us; /* of all */
    uint64_t credit_us;   /* told last */
    uint32_t flush;       /* the newest that came */
    uint64_t flush_us;
    /* what came on the event channel, one text after another */
    size_t event_count;
    char *event[EVENTS_MAX];
    uint64_t event_us[EVENTS_MAX];
    uint32_t event_sideband[EVENTS_MAX]; /* 0: for all */
    size_t partial_len;
    char *partial;
};

static inline bool give(struct agent_call *c, struct backend_frame frame)
{
    frame.session = HANDLE;
    return stub_session_input(c->session, &frame, c->now_us);
}

static inline void give_text(struct agent_call *c, unsigned type, const char *text)
{
    assert_true(give(c, (struct backend_frame){.type = (uint8_t)type,
                                               .flags = BACKEND_FLAG_LAST,
                                               .payload = bytes_view_of_text(text)}));
}

static inline void tell_playback(struct agent_call *c, const char *state)
{
    char text[256];
    const struct backend_playback playback = {.utterance = c->utterance,
                                              .state = state,
                                              .sent_us = c->sent_us,
                                              .heard_us = time_since(BEHIND_US, c->sent_us),
                                              .queued_us = c->queued_us};
    text[backend_playback_encode(&playback, text, sizeof(text) - 1)] = '\0';
    give_text(c, BACKEND_PLAYBACK, text);
}

static inline void finish_utterance(struct agent_call *c)
{
    c->consumed_us += c->queued_us;
    c->queued_us = 0;
    c->is_done = true;
    tell_playback(c, "done");
}

static inline void take_flush(struct agent_call *c, uint32_t utterance)
{
    char text[256];
    const bool is_hit = !c->is_done && utterance >= c->utterance;
    const struct backend_flushed flushed = {
        .utterance = is_hit ? c->utterance : 0,
        .sent_us = is_hit ? c->sent_us : 0,
        .heard_us = is_hit ? time_since(BEHIND_US, c->sent_us) : 0,
        .dropped_us = is_hit ? c->queued_us : 0,
    };
    c->flush = utterance;
    c->flush_us = c->now_us;
    text[backend_flushed_encode(&flushed, text, sizeof(text) - 1)] = '\0';
    assert_true(give(c, (struct backend_frame){.type = BACKEND_FLUSHED,
                                               .utterance = utterance,
                                               .payload = bytes_view_of_text(text)}));
    if (is_hit) {
        finish_utterance(c);
    }
}

static inline void take_audio(struct agent_call *c, const struct backend_frame *frame)
{
    assert_true(frame->utterance >= c->utterance);
    if (frame->utterance > c->utterance) {
        if (!c->is_done) {
            finish_utterance(c);
        }
        c->utterance = frame->utterance;
        c->is_started = c->is_whole = c->is_done = false;
        c->sent_us = c->received_us = 0;
    }
    assert_false(c->is_whole);
    const uint64_t us = frame->payload.len / 2 * US_PER_S / RATE_HZ;
    c->queued_us += us;
    c->received_us += us;
    c->is_whole = (frame->flags & BACKEND_FLAG_LAST) != 0;
    assert_true(c->consumed_us + c->queued_us <= c->credit_us);
}

static inline void take_event(struct agent_call *c, const struct backend_frame *frame)
{
    c->partial = realloc(c->partial, c->partial_len + frame->payload.len + 1);
    memcpy(c->partial + c->partial_len, frame->payload.data, frame->payload.len);
    c->partial_len += frame->payload.len;
    c->partial[c->partial_len] = '\0';
    if ((frame->flags & BACKEND_FLAG_LAST) == 0) {
        return;
    }
    assert_true(c->event_count < EVENTS_MAX);
    c->event_us[c->event_count] = c->now_us;
    c->event_sideband[c->event_count] = (frame->flags & 1) != 0 ? frame->utterance : 0;
    c->event[c->event_count++] = c->partial;
    c->partial = NULL;
    c->partial_len = 0;
}

static inline void drain(struct agent_call *c)
{
    for (enum frame_class i = FRAME_URGENT; i < FRAME_CLASSES;) {
        struct backend_frame frame;
        if (!stub_session_take(c->session, i, &frame)) {
            i++;
            continue;
        }
        assert_int_equal(frame.session, HANDLE);
        switch (frame.type) {
        case BACKEND_FLUSH:
            take_flush(c, frame.utterance);
            break;
        case BACKEND_AUDIO_OUT:
            take_audio(c, &frame);
            break;
        case BACKEND_EVENT:
            take_event(c, &frame);
            break;
        default:
            assert_int_equal(frame.type, BACKEND_SESSION_ACCEPT);
            break;
        }
        i = FRAME_URGENT; /* as a link does: the most urgent first */
    }
}

/* What the thread of the voice does: one sentence after another. */
static inline void make_speech(struct agent_call *c)
{
    if (c->now_us >= c->made_us) {
        const size_t count = agent_words_count(c->work.text) * (RATE_HZ / 1000 * WORD_MS);
        int16_t *samples = calloc(count + 1, sizeof(*samples));
        struct sound *sound = sound_create((struct pcm_view){samples, count}, RATE_HZ);
        c->made_us = TIME_NEVER;
        speech_desk_finish_work(c->behaviour.desk, c->voice_fails ? NULL : sound);
        if (c->voice_fails) {
            sound_destroy(sound);
        }
        stub_session_tick(c->session, c->now_us);
        drain(c);
    }
    if (c->made_us == TIME_NEVER && speech_desk_take_work(c->behaviour.desk, &c->work)) {
        c->made_us = c->now_us + c->making_us;
    }
}

static inline void play_slot(struct agent_call *c)
{
    if (!c->is_done && c->queued_us > 0) {
        const uint64_t us = time_earlier(SLOT_US, c->queued_us);
        c->queued_us -= us;
        c->sent_us += us;
        c->consumed_us += us;
        if (!c->is_started) {
            c->is_started = true;
            tell_playback(c, "started");
        }
    }
    if (!c->is_done && c->is_whole && c->queued_us == 0) {
        finish_utterance(c);
    }
    if (c->consumed_us + CREDIT_US >= c->credit_us + CREDIT_US / 4) {
        uint8_t limit[8];
        struct byte_writer w;
        c->credit_us = c->consumed_us + CREDIT_US;
        byte_writer_init(&w, limit, sizeof(limit));
        byte_writer_u64_le(&w, c->credit_us);
        assert_true(give(
            c, (struct backend_frame){.type = BACKEND_CREDIT, .payload = bytes_view_of(limit, 8)}));
    }
}

static inline void hear_slot(struct agent_call *c)
{
    uint8_t samples[RATE_HZ / 50 * 2];
    for (size_t i = 0; i < sizeof(samples); i += 2) {
        const int level = c->is_speaking ? 3000 : 20; /* -21 and -64 dBov */
        const int16_t sample = (int16_t)(i / 2 % 32 < 16 ? level : -level);
        samples[i] = (uint8_t)sample;
        samples[i + 1] = (uint8_t)((uint16_t)sample >> 8);
    }
    assert_true(
        give(c, (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                       .time_us = c->audio_us,
                                       .codec = BACKEND_CODEC_PCM16,
                                       .rate_khz = RATE_HZ / 1000,
                                       .channels = 1,
                                       .duration_2500us = 8,
                                       .payload = bytes_view_of(samples, sizeof(samples))}));
    c->audio_us += SLOT_US;
}

static inline void run_ms(struct agent_call *c, uint64_t ms)
{
    for (const uint64_t end_us = c->now_us + ms * US_PER_MS; c->now_us < end_us;) {
        c->now_us += SLOT_US;
        hear_slot(c);
        drain(c);
        play_slot(c);
        drain(c);
        make_speech(c);
        if (c->now_us >= c->tick_us) {
            c->tick_us += TICK_US;
            stub_session_tick(c->session, c->now_us);
            drain(c);
        }
    }
}

static inline void speak_ms(struct agent_call *c, uint64_t ms)
{
    c->is_speaking = true;
    run_ms(c, ms);
    c->is_speaking = false;
}

/* script: of the agent, may be changed before. start: the JSON of SESSION_START behind its usual
 * keys, from a comma on. */
static inline void start_call(struct agent_call *c, const char *start)
{
    char text[4096];
    (void)snprintf(text, sizeof(text),
                   "{\"call_id\":\"rtc_1\",\"resume_token\":\"00112233445566778899aabbccddeeff\","
                   "\"in\":[\"pcm16/16000\"],\"out\":[\"pcm16/16000\"],\"credit_us\":10000000%s}",
                   start);
    c->session = stub_session_create(&c->behaviour, HANDLE, c->now_us);
    give_text(c, BACKEND_SESSION_START, text);
    drain(c);
}

static inline void open_call(struct agent_call *c)
{
    struct fault fault;
    log_open("test", LOG_ERROR, LOG_TEXT);
    *c = (struct agent_call){
        .making_us = MAKING_US, .made_us = TIME_NEVER, .is_done = true, .credit_us = CREDIT_US};
    random_generator_init(&c->random, 1);
    assert_true(agent_script_load("", &c->script, &fault));
    c->behaviour = (struct stub_behaviour){.mode_name = "agent",
                                           .script = &c->script,
                                           .desk = speech_desk_create(),
                                           .random = random_seeded(&c->random),
                                           .sessions_max = 1,
                                           .counters = &c->counters};
}

static inline void close_call(struct agent_call *c)
{
    stub_session_destroy(c->session);
    if (c->made_us != TIME_NEVER) {
        speech_desk_finish_work(c->behaviour.desk, NULL);
    }
    speech_desk_destroy(c->behaviour.desk);
    for (size_t i = 0; i < c->event_count; i++) {
        free(c->event[i]);
    }
    free(c->partial);
    assert_int_equal(metric_get(&c->counters.sessions_open), 0);
}

/* --- what was said on the event channel ------------------------------------------------------- */

static inline bool event_is(const struct agent_call *c, size_t index, const char *type)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "\"type\":\"%s\"", type);
    const char *found = strstr(c->event[index], wanted);
    const char *nested = strchr(c->event[index] + 1, '{');
    return found != NULL && (nested == NULL || found < nested);
}

/* The first event of that type from `from` on; EVENTS_MAX when there is none. */
static inline size_t find_event(const struct agent_call *c, const char *type, size_t from)
{
    for (size_t i = from; i < c->event_count; i++) {
        if (event_is(c, i, type)) {
            return i;
        }
    }
    return EVENTS_MAX;
}

static inline size_t expect_event(const struct agent_call *c, const char *type, size_t from)
{
    const size_t found = find_event(c, type, from);
    if (found == EVENTS_MAX) {
        for (size_t i = 0; i < c->event_count; i++) {
            print_message("%zu: %.150s\n", i, c->event[i]);
        }
        fail_msg("no %s from %zu on", type, from);
    }
    return found;
}

static inline size_t count_events(const struct agent_call *c, const char *type, size_t from)
{
    size_t count = 0;
    for (size_t i = from; i < c->event_count; i++) {
        count += event_is(c, i, type);
    }
    return count;
}

static inline void assert_says(const struct agent_call *c, size_t index, const char *text)
{
    if (strstr(c->event[index], text) == NULL) {
        fail_msg("\"%s\" does not say %s", c->event[index], text);
    }
}

#endif
