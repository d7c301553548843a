/* backend_stream.c - see backend_stream.h */
#include "services/transceiver/port/backend_stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HELLO_TIMEOUT_US  (2 * US_PER_S)
#define HEARTBEAT_MS      1000
#define HEARTBEAT_MS_MIN  50
#define HEARTBEATS_MISSED 3

/* Half a second of 20 ms frames at 24 kHz for each session, and room for control frames. */
#define OUTPUT_BYTES_PER_SESSION (25 * (BACKEND_FRAME_HEADER_BYTES + 960))
#define OUTPUT_BYTES_BASE        (2 * BACKEND_FRAME_BYTES_MAX)

/* session id = [shard 6 | slot 18 | generation 8] */
#define SLOT_OF(session_id) ((session_id) >> 8 & 0x3ffffu)

enum stream_state { STREAM_GREETING, STREAM_UP, STREAM_GOING_AWAY, STREAM_FAILED };

/* One session on the stream; the id tells whether the slot still belongs to it. */
struct handle {
    uint32_t session_id;
    uint32_t next_in;
    uint32_t next_out;
};

struct backend_stream {
    enum stream_state state;
    char failure[BACKEND_TEXT_CAP];
    char peer_name[BACKEND_TEXT_CAP];
    uint64_t hello_until_us;
    uint64_t heartbeat_us;
    uint64_t last_received_us;
    uint64_t last_sent_us;
    uint32_t next_in; /* frames of the connection itself */
    uint32_t next_out;
    struct backend_frame_reader *reader;
    struct handle *handles;
    size_t handle_count;
    uint8_t *output; /* output_start .. output_end wait to be written */
    size_t output_cap;
    size_t output_start;
    size_t output_end;
    struct backend_stream_counters *counters;
};

static void append(struct backend_stream *s, const struct backend_frame *frame);

static void greet(struct backend_stream *s, const struct backend_stream_config *config)
{
    struct backend_hello hello = {
        .format = {{BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 24}},
        .format_count = 2,
        .session_count_max = (uint32_t)config->session_capacity,
        .heartbeat_ms = HEARTBEAT_MS,
    };
    char text[1024];
    (void)snprintf(hello.name, sizeof(hello.name), "%s", config->name);
    (void)snprintf(hello.instance, sizeof(hello.instance), "%08x", config->instance_id);
    const size_t len = backend_hello_encode(&hello, text, sizeof(text));
    append(s, &(struct backend_frame){.type = BACKEND_HELLO, .payload = bytes_view_of(text, len)});
}

struct backend_stream *backend_stream_create(const struct backend_stream_config *config,
                                             struct backend_stream_counters *counters,
                                             uint64_t now_us)
{
    struct backend_stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->counters = counters;
    s->hello_until_us = now_us + HELLO_TIMEOUT_US;
    s->last_received_us = s->last_sent_us = now_us;
    s->handle_count = config->session_capacity;
    s->output_cap = OUTPUT_BYTES_BASE + config->session_capacity * OUTPUT_BYTES_PER_SESSION;
    s->output = malloc(s->output_cap);
    s->handles = calloc(s->handle_count, sizeof(*s->handles));
    s->reader = backend_frame_reader_create();
    if (s->output == NULL || s->handles == NULL || s->reader == NULL) {
        backend_stream_destroy(s);
        return NULL;
    }
    greet(s, config);
    return s;
}

void backend_stream_destroy(struct backend_stream *s)
{
    if (s == NULL) {
        return;
    }
    backend_frame_reader_destroy(s->reader);
    free(s->handles);
    free(s->output);
    free(s);
}

bool backend_stream_is_up(const struct backend_stream *s)
{
    return s->state == STREAM_UP;
}

bool backend_stream_is_greeted(const struct backend_stream *s)
{
    return s->state == STREAM_UP || s->state == STREAM_GOING_AWAY;
}

const char *backend_stream_peer_name(const struct backend_stream *s)
{
    return s->peer_name;
}

const char *backend_stream_failure(const struct backend_stream *s)
{
    return s->state == STREAM_FAILED ? s->failure : NULL;
}

/* --- output ----------------------------------------------------------------------------------- */

static struct handle *find_handle(const struct backend_stream *s, uint32_t session_id)
{
    const uint32_t slot = SLOT_OF(session_id);
    if (slot >= s->handle_count || s->handles[slot].session_id != session_id) {
        return NULL;
    }
    return &s->handles[slot];
}

static bool make_room(struct backend_stream *s, size_t need)
{
    if (s->output_cap - s->output_end < need && s->output_start > 0) {
        memmove(s->output, s->output + s->output_start, s->output_end - s->output_start);
        s->output_end -= s->output_start;
        s->output_start = 0;
    }
    return s->output_cap - s->output_end >= need;
}

static void stop(struct backend_stream *s, const char *code)
{
    s->state = STREAM_FAILED;
    (void)snprintf(s->failure, sizeof(s->failure), "%s", code);
}

/* Gives the frame its sequence number and puts it behind what waits. */
static void append(struct backend_stream *s, const struct backend_frame *frame)
{
    if (!make_room(s, BACKEND_FRAME_HEADER_BYTES + frame->payload.len)) {
        stop(s, "overload");
        return;
    }
    struct backend_frame numbered = *frame;
    struct handle *handle = frame->session == 0 ? NULL : find_handle(s, frame->session);
    numbered.sequence = handle != NULL ? handle->next_out++ : s->next_out++;
    backend_frame_encode_header(&numbered, s->output + s->output_end);
    s->output_end += BACKEND_FRAME_HEADER_BYTES;
    if (frame->payload.len > 0) {
        memcpy(s->output + s->output_end, frame->payload.data, frame->payload.len);
        s->output_end += frame->payload.len;
    }
    metric_add(&s->counters->frames_sent, 1);
}

static void fail(struct backend_stream *s, const char *code)
{
    struct backend_error error = {.is_fatal = true};
    char text[256];
    (void)snprintf(error.code, sizeof(error.code), "%s", code);
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    append(s, &(struct backend_frame){.type = BACKEND_ERROR, .payload = bytes_view_of(text, len)});
    stop(s, code);
}

void backend_stream_send(struct backend_stream *s, const struct backend_frame *frame)
{
    assert(frame->session != 0);
    if (!backend_stream_is_greeted(s)) {
        return;
    }
    const bool is_behind = s->output_end - s->output_start > s->output_cap / 4 * 3;
    if (frame->type == BACKEND_SESSION_START && !is_behind) {
        const uint32_t slot = SLOT_OF(frame->session);
        assert(slot < s->handle_count);
        s->handles[slot] = (struct handle){.session_id = frame->session};
    }
    if (find_handle(s, frame->session) == NULL) {
        return;
    }
    if (frame->type == BACKEND_AUDIO_IN && is_behind) {
        metric_add(&s->counters->audio_dropped, 1);
        return;
    }
    append(s, frame);
}

struct bytes_view backend_stream_output(const struct backend_stream *s)
{
    return bytes_view_of(s->output + s->output_start, s->output_end - s->output_start);
}

void backend_stream_sent(struct backend_stream *s, size_t len, uint64_t now_us)
{
    assert(len <= s->output_end - s->output_start);
    s->output_start += len;
    s->last_sent_us = now_us;
    if (s->output_start == s->output_end) {
        s->output_start = s->output_end = 0;
    }
}

/* --- input ------------------------------------------------------------------------------------ */

struct bytes_span backend_stream_reserve(struct backend_stream *s)
{
    return backend_frame_reader_reserve(s->reader);
}

void backend_stream_commit(struct backend_stream *s, size_t len, uint64_t now_us)
{
    backend_frame_reader_commit(s->reader, len);
    s->last_received_us = now_us;
}

static void take_hello(struct backend_stream *s, const struct backend_frame *frame)
{
    struct backend_hello hello;
    if (frame->type != BACKEND_HELLO || frame->session != 0 ||
        !backend_hello_decode(frame->payload, &hello)) {
        fail(s, "bad_frame");
        return;
    }
    if (!hello.speaks_version_1) {
        fail(s, "version");
        return;
    }
    uint32_t heartbeat_ms = hello.heartbeat_ms < HEARTBEAT_MS ? hello.heartbeat_ms : HEARTBEAT_MS;
    heartbeat_ms = heartbeat_ms < HEARTBEAT_MS_MIN ? HEARTBEAT_MS_MIN : heartbeat_ms;
    s->heartbeat_us = heartbeat_ms * US_PER_MS;
    memcpy(s->peer_name, hello.name, sizeof(s->peer_name));
    s->state = STREAM_UP;
}

static void take_error(struct backend_stream *s, const struct backend_frame *frame)
{
    struct backend_error error;
    const bool is_readable = backend_error_decode(frame->payload, &error);
    if (!is_readable || error.is_fatal) {
        stop(s, is_readable ? error.code : "bad_frame");
    }
}

static void take_connection_frame(struct backend_stream *s, const struct backend_frame *frame,
                                  uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_PING:
        append(s, &(struct backend_frame){
                      .type = BACKEND_PONG, .time_us = now_us, .payload = frame->payload});
        break;
    case BACKEND_GOAWAY:
        s->state = STREAM_GOING_AWAY;
        break;
    case BACKEND_ERROR:
        take_error(s, frame);
        break;
    default: /* PONG, and optional types of a later version */
        break;
    }
}

/* False for a gap: frames were lost in a stream that loses none. */
static bool take_sequence(struct backend_stream *s, const struct backend_frame *frame)
{
    if (frame->session == 0) {
        return frame->sequence == s->next_in++;
    }
    struct handle *handle = find_handle(s, frame->session);
    return handle == NULL || frame->sequence == handle->next_in++;
}

bool backend_stream_poll_frame(struct backend_stream *s, struct backend_frame *out, uint64_t now_us)
{
    while (s->state != STREAM_FAILED) {
        const enum backend_frame_result result = backend_frame_reader_poll(s->reader, out);
        if (result == BACKEND_FRAME_MORE) {
            return false;
        }
        metric_add(&s->counters->frames_received, 1);
        if (result != BACKEND_FRAME_OK) {
            fail(s, "bad_frame");
        } else if (!take_sequence(s, out)) {
            fail(s, "sequence");
        } else if (s->state == STREAM_GREETING) {
            take_hello(s, out);
        } else if (out->session == 0) {
            take_connection_frame(s, out, now_us);
        } else if (find_handle(s, out->session) != NULL) {
            return true;
        }
    }
    return false;
}

/* --- time ------------------------------------------------------------------------------------- */

void backend_stream_tick(struct backend_stream *s, uint64_t now_us)
{
    const uint8_t token[8] = {0};
    if (now_us < backend_stream_next_timeout(s)) {
        return;
    }
    if (s->state == STREAM_GREETING ||
        time_since(s->last_received_us, now_us) >= HEARTBEATS_MISSED * s->heartbeat_us) {
        fail(s, "timeout");
        return;
    }
    append(s, &(struct backend_frame){.type = BACKEND_PING,
                                      .time_us = now_us,
                                      .payload = bytes_view_of(token, sizeof(token))});
    s->last_sent_us = now_us;
}

uint64_t backend_stream_next_timeout(const struct backend_stream *s)
{
    switch (s->state) {
    case STREAM_GREETING:
        return s->hello_until_us;
    case STREAM_FAILED:
        return TIME_NEVER;
    default:
        return time_earlier(s->last_received_us + HEARTBEATS_MISSED * s->heartbeat_us,
                            s->last_sent_us + s->heartbeat_us);
    }
}
