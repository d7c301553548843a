/* live_agent.c - see live_agent.h */
#include "tests/bench/live_agent.h"

#include "common/backend_link/backend_frame.h"
#include "common/runtime/clock.h"
#include "tests/speech_like.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BLOCK_MS     100
#define BLOCK_BYTES  (2 * LIVE_AGENT_RATE_HZ / 1000 * BLOCK_MS)
#define AHEAD_BLOCKS 3 /* what a streaming call has in its queue */
#define SPEECH_S     10
#define EVENTS_MAX   4096

struct call {
    uint32_t handle; /* 0 until the shard asked */
    enum live_manner manner;
    uint32_t sequence;
    uint32_t utterance;
    size_t blocks_said;  /* of the utterance; 0 = it did not begin */
    uint64_t next_us;    /* when it says or does the next */
    uint64_t begin_us;   /* of the utterance; 0 = taken */
    uint64_t flushed_us; /* of the FLUSH before; 0 = none */
    uint64_t sent_us;    /* what its answer said; 0 = none came */
};

struct live_agent {
    int listener;
    int fd; /* -1 until the shard dials */
    struct backend_frame_reader *reader;
    struct random_generator random;
    struct call call[LIVE_AGENT_CALLS_MAX];
    size_t event_count;
    size_t event_first;
    struct live_event event[EVENTS_MAX];
    int16_t speech[LIVE_AGENT_RATE_HZ * (SPEECH_S + 1)];
};

/* --- life ------------------------------------------------------------------------------------- */

struct live_agent *live_agent_create(const char *path)
{
    struct live_agent *a = calloc(1, sizeof(*a));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert(a != NULL && strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    random_generator_init(&a->random, 1);
    speech_like_voice(&a->random, -20, LIVE_AGENT_RATE_HZ, 0, a->speech, COUNT_OF(a->speech));
    for (size_t i = 0; i < LIVE_AGENT_CALLS_MAX; i++) {
        a->call[i].next_us = TIME_NEVER;
    }
    a->reader = backend_frame_reader_create();
    a->fd = -1;
    a->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool is_good = a->reader != NULL && a->listener >= 0 &&
                         bind(a->listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                         listen(a->listener, 1) == 0;
    assert(is_good);
    return a;
}

void live_agent_destroy(struct live_agent *a)
{
    backend_frame_reader_destroy(a->reader);
    (void)close(a->listener);
    (void)close(a->fd);
    free(a);
}

int live_agent_fd(const struct live_agent *a)
{
    return a->fd >= 0 ? a->fd : a->listener;
}

/* --- says ------------------------------------------------------------------------------------- */

static void write_all(int fd, const void *data, size_t len)
{
    const uint8_t *next = data;
    while (len > 0) {
        const ssize_t sent = send(fd, next, len, MSG_NOSIGNAL);
        assert(sent > 0 || errno == EINTR);
        next += sent > 0 ? sent : 0;
        len -= sent > 0 ? (size_t)sent : 0;
    }
}

/* c is NULL for a frame of the connection. */
static void say_frame(struct live_agent *a, struct call *c, struct backend_frame frame)
{
    uint8_t bytes[BACKEND_FRAME_HEADER_BYTES + BLOCK_BYTES];
    frame.session = c != NULL ? c->handle : 0;
    frame.sequence = c != NULL ? c->sequence++ : 0;
    assert(frame.payload.len <= BLOCK_BYTES);
    backend_frame_encode_header(&frame, bytes);
    if (frame.payload.len > 0) {
        memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, frame.payload.data, frame.payload.len);
    }
    write_all(a->fd, bytes, BACKEND_FRAME_HEADER_BYTES + frame.payload.len);
}

/* No two calls are at the same word: a processor learns what it does twice. */
static void say_block(struct live_agent *a, struct call *c, bool is_last)
{
    const size_t number = (size_t)(c - a->call);
    const size_t first = (c->blocks_said * LIVE_AGENT_RATE_HZ / 10 + number * 1234) %
                         (LIVE_AGENT_RATE_HZ * SPEECH_S);
    const void *pcm = a->speech + first;
    if (c->blocks_said == 0) {
        c->utterance++;
        c->begin_us = clock_now_us();
    }
    c->blocks_said++;
    say_frame(a, c,
              (struct backend_frame){.type = BACKEND_AUDIO_OUT,
                                     .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                     .utterance = c->utterance,
                                     .codec = BACKEND_CODEC_PCM16,
                                     .rate_khz = LIVE_AGENT_RATE_HZ / 1000,
                                     .channels = 1,
                                     .payload = bytes_view_of(pcm, BLOCK_BYTES)});
}

static void stream(struct live_agent *a, struct call *c, uint64_t now_us)
{
    if (c->blocks_said == 0) {
        for (size_t i = 0; i < AHEAD_BLOCKS; i++) {
            say_block(a, c, false);
        }
    }
    say_block(a, c, false);
    c->next_us = now_us + BLOCK_MS * US_PER_MS;
}

static uint64_t some_ms(struct live_agent *a, uint64_t from_ms, uint64_t to_ms)
{
    const uint64_t range_us = (to_ms - from_ms) * US_PER_MS;
    return from_ms * US_PER_MS + random_generator_next(&a->random) % range_us;
}

static void take_back(struct live_agent *a, struct call *c)
{
    c->flushed_us = clock_now_us();
    c->sent_us = 0;
    say_frame(a, c, (struct backend_frame){.type = BACKEND_FLUSH, .utterance = c->utterance});
    c->blocks_said = 0;
}

static void push_event(struct live_agent *a, struct live_event event)
{
    assert(a->event_count < EVENTS_MAX);
    a->event[(a->event_first + a->event_count++) % EVENTS_MAX] = event;
}

/* By now every packet of the old utterance was seen. */
static void tell_flushed(struct live_agent *a, struct call *c)
{
    if (c->flushed_us != 0 && c->sent_us != 0) {
        push_event(a, (struct live_event){.kind = LIVE_FLUSHED,
                                          .call = (size_t)(c - a->call),
                                          .at_us = c->flushed_us,
                                          .sent_us = c->sent_us});
    }
    c->flushed_us = 0;
}

static void act(struct live_agent *a, struct call *c, uint64_t now_us)
{
    if (c->manner == LIVE_SILENT) {
        c->next_us = TIME_NEVER;
    } else if (c->manner == LIVE_STREAMING) {
        stream(a, c, now_us);
    } else if (c->manner == LIVE_SHORT_SENTENCES) {
        c->blocks_said = 0;
        say_block(a, c, true);
        c->next_us = now_us + some_ms(a, 200, 300);
    } else if (c->blocks_said == 0) {
        tell_flushed(a, c);
        stream(a, c, now_us);
        c->next_us = now_us + some_ms(a, 100, 180);
    } else {
        take_back(a, c);
        c->next_us = now_us + 100 * US_PER_MS;
    }
}

void live_agent_set_manner(struct live_agent *a, size_t call, enum live_manner manner,
                           uint64_t now_us)
{
    struct call *c = &a->call[call];
    if (c->blocks_said > 0) {
        take_back(a, c);
    }
    c->flushed_us = 0;
    c->begin_us = 0;
    c->manner = manner;
    c->next_us = now_us + 60 * US_PER_MS + call * US_PER_MS;
}

uint64_t live_agent_speak(struct live_agent *a, uint64_t now_us)
{
    uint64_t next_us = TIME_NEVER;
    for (size_t i = 0; i < LIVE_AGENT_CALLS_MAX; i++) {
        if (a->call[i].next_us <= now_us) {
            act(a, &a->call[i], now_us);
        }
        next_us = time_earlier(next_us, a->call[i].next_us);
    }
    return next_us;
}

uint64_t live_agent_take_begin(struct live_agent *a, size_t call)
{
    const uint64_t begin_us = a->call[call].begin_us;
    a->call[call].begin_us = 0;
    return begin_us;
}

enum live_manner live_agent_manner(const struct live_agent *a, size_t call)
{
    return a->call[call].manner;
}

/* --- hears ------------------------------------------------------------------------------------ */

static struct call *find_call(struct live_agent *a, uint32_t handle)
{
    for (size_t i = 0; i < LIVE_AGENT_CALLS_MAX; i++) {
        if (handle != 0 && a->call[i].handle == handle) {
            return &a->call[i];
        }
    }
    return NULL;
}

/* The digits behind `key` in the payload. */
static uint64_t number_after(const struct backend_frame *frame, const char *key)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    const char *found = strstr(text, key);
    assert(found != NULL);
    return strtoull(found + strlen(key), NULL, 10);
}

static void take_start(struct live_agent *a, const struct backend_frame *frame)
{
    static const char accept[] = "{\"in\":\"pcm16/24000\",\"out\":\"pcm16/24000\"}";
    const size_t number = number_after(frame, "\"rtc_");
    assert(number < LIVE_AGENT_CALLS_MAX);
    a->call[number].handle = frame->session;
    say_frame(a, &a->call[number],
              (struct backend_frame){.type = BACKEND_SESSION_ACCEPT,
                                     .payload = bytes_view_of_text(accept)});
    push_event(a, (struct live_event){.kind = LIVE_ASKED, .call = number});
}

void live_agent_write_event(char text[LIVE_AGENT_EVENT_BYTES], uint64_t now_us)
{
    char digits[LIVE_AGENT_TIME_DIGITS + 1];
    (void)snprintf(digits, sizeof(digits), "%0*llu", LIVE_AGENT_TIME_DIGITS,
                   (unsigned long long)now_us);
    memset(text, 'x', LIVE_AGENT_EVENT_BYTES);
    memcpy(text, digits, LIVE_AGENT_TIME_DIGITS);
}

uint64_t live_agent_read_event(struct bytes_view text)
{
    char digits[LIVE_AGENT_TIME_DIGITS + 1] = {0};
    assert(text.len == LIVE_AGENT_EVENT_BYTES);
    memcpy(digits, text.data, LIVE_AGENT_TIME_DIGITS);
    return strtoull(digits, NULL, 10);
}

static void take_event(struct live_agent *a, struct call *c, struct bytes_view text,
                       uint64_t now_us)
{
    char answer[LIVE_AGENT_EVENT_BYTES];
    push_event(a, (struct live_event){.kind = LIVE_TOLD,
                                      .call = (size_t)(c - a->call),
                                      .at_us = now_us,
                                      .sent_us = live_agent_read_event(text)});
    live_agent_write_event(answer, clock_now_us());
    say_frame(a, c,
              (struct backend_frame){.type = BACKEND_EVENT,
                                     .flags = BACKEND_FLAG_LAST,
                                     .payload = bytes_view_of(answer, sizeof(answer))});
}

static void take_frame(struct live_agent *a, const struct backend_frame *frame, uint64_t now_us)
{
    struct call *c = find_call(a, frame->session);
    if (frame->type == BACKEND_HELLO) {
        const struct bytes_view hello = bytes_view_of_text("{\"name\":\"bench\"}");
        say_frame(a, NULL, (struct backend_frame){.type = BACKEND_HELLO, .payload = hello});
    } else if (frame->type == BACKEND_PING) {
        say_frame(a, NULL, (struct backend_frame){.type = BACKEND_PONG, .payload = frame->payload});
    } else if (frame->type == BACKEND_SESSION_START) {
        take_start(a, frame);
    } else if (c != NULL && frame->type == BACKEND_AUDIO_IN) {
        push_event(a, (struct live_event){.kind = LIVE_HEARD,
                                          .call = (size_t)(c - a->call),
                                          .timestamp = frame->utterance,
                                          .at_us = now_us});
    } else if (c != NULL && frame->type == BACKEND_EVENT) {
        take_event(a, c, frame->payload, now_us);
    } else if (c != NULL && frame->type == BACKEND_FLUSHED && c->begin_us == 0) {
        c->sent_us = number_after(frame, "\"sent_us\":");
    }
    assert(frame->type != BACKEND_ERROR);
}

void live_agent_hear(struct live_agent *a)
{
    struct backend_frame frame;
    if (a->fd < 0) {
        a->fd = accept(a->listener, NULL, NULL);
        assert(a->fd >= 0);
        return;
    }
    const struct bytes_span room = backend_frame_reader_reserve(a->reader);
    const ssize_t got = recv(a->fd, room.data, room.cap, MSG_DONTWAIT);
    assert(got > 0 || errno == EAGAIN || errno == EINTR);
    if (got > 0) {
        const uint64_t now_us = clock_now_us();
        backend_frame_reader_commit(a->reader, (size_t)got);
        while (backend_frame_reader_poll(a->reader, &frame) == BACKEND_FRAME_OK) {
            take_frame(a, &frame, now_us);
        }
    }
}

bool live_agent_poll_event(struct live_agent *a, struct live_event *out)
{
    if (a->event_count == 0) {
        return false;
    }
    *out = a->event[a->event_first];
    a->event_first = (a->event_first + 1) % EVENTS_MAX;
    a->event_count--;
    return true;
}
