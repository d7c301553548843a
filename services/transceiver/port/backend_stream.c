/* backend_stream.c - see backend_stream.h */
#include "services/transceiver/port/backend_stream.h"

#include "services/transceiver/port/backend_output.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HELLO_TIMEOUT_US  (2 * US_PER_S)
#define HEARTBEAT_MS      1000
#define HEARTBEAT_MS_MIN  50
#define HEARTBEATS_MISSED 3
#define STUCK_US          (5 * US_PER_S) /* a backend that reads nothing is dead */
#define PING_BYTES        8

_Static_assert(BACKEND_STREAM_PIECES_MAX == FRAME_GATHER_PIECES_MAX,
               "pieces go through as they are");

enum stream_state { STREAM_GREETING, STREAM_UP, STREAM_GOING_AWAY, STREAM_FAILED };

struct backend_stream {
    enum stream_state state;
    char failure[BACKEND_TEXT_CAP];
    char peer_name[BACKEND_TEXT_CAP];
    bool can_resume;
    size_t session_count_max; /* the backend's */
    uint64_t hello_until_us;
    uint64_t leave_at_us;
    uint64_t heartbeat_us;
    uint64_t last_received_us;
    uint64_t last_sent_us;
    uint64_t progress_us; /* the backend read something, or nothing waited for it */
    uint32_t next_in;     /* frames of the connection itself */
    struct backend_frame_reader *reader;
    struct backend_output output;
    struct backend_stream_counters *counters;
};

size_t backend_stream_room(const struct backend_stream *s)
{
    const bool is_open = s->state == STREAM_UP && s->output.used_count < s->session_count_max;
    return is_open ? s->session_count_max - s->output.used_count : 0;
}

bool backend_stream_is_up(const struct backend_stream *s)
{
    return backend_stream_room(s) > 0;
}

bool backend_stream_is_greeted(const struct backend_stream *s)
{
    return s->state == STREAM_UP || s->state == STREAM_GOING_AWAY;
}

bool backend_stream_is_leaving(const struct backend_stream *s)
{
    return s->state == STREAM_GOING_AWAY;
}

bool backend_stream_can_resume(const struct backend_stream *s)
{
    return s->can_resume;
}

const char *backend_stream_peer_name(const struct backend_stream *s)
{
    return s->peer_name;
}

const char *backend_stream_failure(const struct backend_stream *s)
{
    return s->state == STREAM_FAILED ? s->failure : NULL;
}

bool backend_stream_has_session(const struct backend_stream *s, uint32_t session_id)
{
    return backend_output_find(&s->output, session_id) != NULL;
}

bool backend_stream_has_sessions(const struct backend_stream *s)
{
    return s->output.used_count > 0;
}

bool backend_stream_next_session(const struct backend_stream *s, size_t *cursor,
                                 uint32_t *session_id)
{
    while (*cursor < s->output.handle_count) {
        const struct backend_handle *handle = &s->output.handle[(*cursor)++];
        if (handle->state == HANDLE_OPEN) {
            *session_id = handle->session_id;
            return true;
        }
    }
    return false;
}

/* --- output ----------------------------------------------------------------------------------- */

static void stop(struct backend_stream *s, const char *code)
{
    s->state = STREAM_FAILED;
    (void)snprintf(s->failure, sizeof(s->failure), "%s", code);
}

/* The ERROR is the last word; nothing that waits is worth writing any more. */
static void fail(struct backend_stream *s, enum backend_stream_error code,
                 const struct backend_frame *about, uint64_t now_us)
{
    if (s->state != STREAM_FAILED) {
        stop(s, backend_stream_error_name(code));
        backend_output_error(&s->output, NULL, code, about, now_us);
    }
}

bool backend_stream_has_output(const struct backend_stream *s)
{
    return !frame_scheduler_is_empty(s->output.frames);
}

/* Five seconds without progress count from here. */
static void note_begin_of_waiting(struct backend_stream *s, uint64_t now_us)
{
    if (!backend_stream_has_output(s)) {
        s->progress_us = now_us;
    }
}

static void say(struct backend_stream *s, enum backend_frame_type type, struct bytes_view payload,
                uint64_t now_us)
{
    note_begin_of_waiting(s, now_us);
    backend_output_say(&s->output, NULL, type, payload, now_us);
}

bool backend_stream_send(struct backend_stream *s, const struct backend_frame *frame,
                         uint64_t now_us)
{
    assert(frame->session != 0);
    if (!backend_stream_is_greeted(s)) {
        return false;
    }
    note_begin_of_waiting(s, now_us);
    const bool was_taken = backend_output_send(&s->output, frame, backend_stream_is_up(s), now_us);
    if (s->output.is_overrun) {
        stop(s, backend_stream_error_name(BACKEND_STREAM_OVERLOAD));
    }
    return was_taken;
}

size_t backend_stream_message_room(const struct backend_stream *s)
{
    return frame_scheduler_message_room(s->output.frames);
}

void backend_stream_go_away(struct backend_stream *s, uint64_t deadline_us, uint64_t now_us)
{
    const struct backend_go_away go_away = {.reason = "shutdown",
                                            .deadline_us = time_since(now_us, deadline_us)};
    char text[BACKEND_TEXT_CAP];
    if (backend_stream_is_greeted(s)) {
        const size_t len = backend_go_away_encode(&go_away, text, sizeof(text));
        say(s, BACKEND_GOAWAY, bytes_view_of(text, len), now_us);
    }
}

size_t backend_stream_gather(struct backend_stream *s, struct bytes_view *piece, uint64_t now_us)
{
    return backend_output_gather(&s->output, piece, now_us);
}

void backend_stream_sent(struct backend_stream *s, size_t len, uint64_t now_us)
{
    metric_add(&s->counters->frames_sent, frame_scheduler_wrote(s->output.frames, len));
    if (len > 0) {
        s->last_sent_us = s->progress_us = now_us;
    }
}

/* --- input ------------------------------------------------------------------------------------ */

struct bytes_span backend_stream_reserve(struct backend_stream *s)
{
    return backend_frame_reader_reserve(s->reader);
}

void backend_stream_commit(struct backend_stream *s, size_t len)
{
    backend_frame_reader_commit(s->reader, len);
}

static void take_hello(struct backend_stream *s, const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_hello hello;
    if (frame->type != BACKEND_HELLO || frame->session != 0 ||
        !backend_hello_decode(frame->payload, &hello)) {
        fail(s, BACKEND_STREAM_BAD_FRAME, frame, now_us);
        return;
    }
    if (!hello.speaks_version_1) {
        fail(s, BACKEND_STREAM_VERSION, frame, now_us);
        return;
    }
    uint32_t heartbeat_ms = hello.heartbeat_ms < HEARTBEAT_MS ? hello.heartbeat_ms : HEARTBEAT_MS;
    heartbeat_ms = heartbeat_ms < HEARTBEAT_MS_MIN ? HEARTBEAT_MS_MIN : heartbeat_ms;
    s->heartbeat_us = heartbeat_ms * US_PER_MS;
    s->can_resume = hello.can_resume;
    s->session_count_max = hello.session_count_max;
    memcpy(s->peer_name, hello.name, sizeof(s->peer_name));
    s->state = STREAM_UP;
}

static void take_error(struct backend_stream *s, const struct backend_frame *frame)
{
    struct backend_error error;
    const bool is_readable = backend_error_decode(frame->payload, &error);
    metric_add(&s->counters->errors_received, 1);
    if (!is_readable || error.is_fatal) {
        stop(s, is_readable ? error.code : backend_stream_error_name(BACKEND_STREAM_BAD_FRAME));
    }
}

static void take_go_away(struct backend_stream *s, const struct backend_frame *frame,
                         uint64_t now_us)
{
    struct backend_go_away go_away;
    if (!backend_go_away_decode(frame->payload, &go_away)) {
        fail(s, BACKEND_STREAM_BAD_FRAME, frame, now_us);
        return;
    }
    s->state = STREAM_GOING_AWAY;
    s->leave_at_us = go_away.deadline_us == TIME_NEVER ? TIME_NEVER : now_us + go_away.deadline_us;
}

static void say_unsupported(struct backend_stream *s, struct backend_handle *handle,
                            const struct backend_frame *frame, uint64_t now_us)
{
    if (frame->type < BACKEND_FRAME_TYPE_OPTIONAL_FROM) {
        note_begin_of_waiting(s, now_us);
        backend_output_error(&s->output, handle, BACKEND_STREAM_UNSUPPORTED, frame, now_us);
    }
}

static void take_connection_frame(struct backend_stream *s, const struct backend_frame *frame,
                                  uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_PING:
        if (frame->payload.len != PING_BYTES) {
            fail(s, BACKEND_STREAM_BAD_FRAME, frame, now_us);
            return;
        }
        say(s, BACKEND_PONG, frame->payload, now_us);
        return;
    case BACKEND_GOAWAY:
        take_go_away(s, frame, now_us);
        return;
    case BACKEND_ERROR:
        take_error(s, frame);
        return;
    case BACKEND_PONG:
        return;
    default:
        say_unsupported(s, NULL, frame, now_us);
        return;
    }
}

/* Our END is out: its ENDED is what is missing, or an END that met ours on the way. */
static void take_of_ending(struct backend_stream *s, struct backend_handle *handle,
                           const struct backend_frame *frame, uint64_t now_us)
{
    if (frame->type == BACKEND_SESSION_END) {
        backend_output_say(&s->output, handle, BACKEND_SESSION_ENDED, bytes_view_of_text("{}"),
                           now_us);
    }
    if (frame->type == BACKEND_SESSION_ENDED || frame->type == BACKEND_SESSION_REJECT) {
        backend_output_free(&s->output, handle);
    }
}

/* True when the frame is for the session. */
static bool take_session_frame(struct backend_stream *s, struct backend_handle *handle,
                               const struct backend_frame *frame, uint64_t now_us)
{
    if (handle->state == HANDLE_ENDING) {
        take_of_ending(s, handle, frame, now_us);
        return false;
    }
    switch (frame->type) {
    case BACKEND_SESSION_ACCEPT:
        handle->is_replaying = true;
        return true;
    case BACKEND_SESSION_REJECT:
    case BACKEND_SESSION_ENDED:
        backend_output_free(&s->output, handle);
        return true;
    case BACKEND_ERROR:
        metric_add(&s->counters->errors_received, 1);
        return true;
    case BACKEND_SESSION_END:
    case BACKEND_AUDIO_OUT:
    case BACKEND_FLUSH:
    case BACKEND_PAUSE:
    case BACKEND_RESUME:
    case BACKEND_EVENT:
    case BACKEND_CHANNEL_DATA:
        return true;
    default:
        say_unsupported(s, handle, frame, now_us);
        return false;
    }
}

/* True when the frame is for a session. */
static bool take_frame(struct backend_stream *s, const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_handle *handle =
        frame->session == 0 ? NULL : backend_output_find(&s->output, frame->session);
    if (frame->session != 0 && handle == NULL) {
        return false; /* sent before the backend knew of the end */
    }
    /* A gap: frames were lost in a stream that loses none. */
    if (frame->sequence != (handle == NULL ? s->next_in : handle->next_in)) {
        fail(s, BACKEND_STREAM_SEQUENCE, frame, now_us);
        return false;
    }
    if (handle != NULL) {
        handle->next_in++;
        return take_session_frame(s, handle, frame, now_us);
    }
    s->next_in++;
    take_connection_frame(s, frame, now_us);
    return false;
}

bool backend_stream_poll_frame(struct backend_stream *s, struct backend_frame *out, uint64_t now_us)
{
    while (s->state != STREAM_FAILED) {
        const enum backend_frame_result result = backend_frame_reader_poll(s->reader, out);
        if (result == BACKEND_FRAME_MORE) {
            return false;
        }
        metric_add(&s->counters->frames_received, 1);
        s->last_received_us = now_us;
        if (result != BACKEND_FRAME_OK) {
            fail(s, BACKEND_STREAM_BAD_FRAME, NULL, now_us);
        } else if (s->state == STREAM_GREETING) {
            s->next_in++;
            take_hello(s, out, now_us);
        } else if (take_frame(s, out, now_us)) {
            return true;
        }
    }
    return false;
}

void backend_stream_refuse(struct backend_stream *s, const struct backend_frame *frame,
                           uint64_t now_us)
{
    backend_output_open_again(&s->output, frame->session);
    fail(s, BACKEND_STREAM_BAD_FRAME, frame, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t dead_at_us(const struct backend_stream *s)
{
    return s->last_received_us + HEARTBEATS_MISSED * s->heartbeat_us;
}

static uint64_t beat_at_us(const struct backend_stream *s)
{
    return s->last_sent_us + s->heartbeat_us;
}

static uint64_t stuck_at_us(const struct backend_stream *s)
{
    return backend_stream_has_output(s) ? s->progress_us + STUCK_US : TIME_NEVER;
}

/* Each heartbeat in which nothing was sent. */
static void beat(struct backend_stream *s, uint64_t now_us)
{
    static const uint8_t token[PING_BYTES];
    if (now_us < beat_at_us(s)) {
        return;
    }
    s->last_sent_us = now_us;
    if (!backend_stream_has_output(s)) {
        say(s, BACKEND_PING, bytes_view_of(token, sizeof(token)), now_us);
    }
}

void backend_stream_tick(struct backend_stream *s, uint64_t now_us)
{
    if (now_us < backend_stream_next_timeout(s)) {
        return;
    }
    if (s->state == STREAM_GREETING || now_us >= dead_at_us(s) || now_us >= stuck_at_us(s)) {
        fail(s, BACKEND_STREAM_TIMEOUT, NULL, now_us);
    } else if (now_us >= s->leave_at_us) {
        stop(s, "goaway");
    } else {
        backend_output_free_ended(&s->output, now_us);
        beat(s, now_us);
    }
}

uint64_t backend_stream_next_timeout(const struct backend_stream *s)
{
    switch (s->state) {
    case STREAM_GREETING:
        return s->hello_until_us;
    case STREAM_FAILED:
        return TIME_NEVER;
    default:
        return time_earlier(s->output.free_ended_us,
                            time_earlier(time_earlier(dead_at_us(s), stuck_at_us(s)),
                                         time_earlier(beat_at_us(s), s->leave_at_us)));
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void greet(struct backend_stream *s, const struct backend_stream_config *config,
                  uint64_t now_us)
{
    struct backend_hello hello = {
        .format = {{BACKEND_CODEC_PCM16, 24},
                   {BACKEND_CODEC_PCM16, 16},
                   {BACKEND_CODEC_PCM16, 48},
                   {BACKEND_CODEC_PCM16, 8},
                   {BACKEND_CODEC_OPUS, 48}},
        .format_count = 5,
        .session_count_max = (uint32_t)config->session_capacity,
        .can_resume = true,
        .heartbeat_ms = HEARTBEAT_MS,
    };
    char text[1024];
    (void)snprintf(hello.name, sizeof(hello.name), "%s", config->name);
    (void)snprintf(hello.instance, sizeof(hello.instance), "%08x", config->instance_id);
    const size_t len = backend_hello_encode(&hello, text, sizeof(text));
    say(s, BACKEND_HELLO, bytes_view_of(text, len), now_us);
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
    s->leave_at_us = TIME_NEVER;
    s->last_received_us = s->last_sent_us = s->progress_us = now_us;
    const bool has_output = backend_output_init(&s->output, config->session_capacity, counters);
    s->reader = backend_frame_reader_create();
    if (!has_output || s->reader == NULL) {
        backend_stream_destroy(s);
        return NULL;
    }
    greet(s, config, now_us);
    return s;
}

void backend_stream_destroy(struct backend_stream *s)
{
    if (s == NULL) {
        return;
    }
    backend_frame_reader_destroy(s->reader);
    backend_output_deinit(&s->output);
    free(s);
}
