/* backend_stream_world.h - a stream, and its far end that numbers what it says */
#ifndef EARSHOT_BACKEND_STREAM_WORLD_H
#define EARSHOT_BACKEND_STREAM_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/port/backend_stream.h"

#include <stdio.h>

#define BEGIN_US UINT64_C(50000000)
#define SESSIONS 4
#define ID(slot) ((uint32_t)(slot) << 8 | 1u)

/* The far end: numbers what it says, and keeps what it hears. */
struct world {
    struct backend_stream_counters counters;
    struct backend_stream *stream;
    uint64_t now_us;
    uint32_t next_out[SESSIONS + 1]; /* by slot + 1; 0 is the connection */
    struct backend_frame_reader *heard;
};

static inline void open_world(struct world *w)
{
    const struct backend_stream_config config = {
        .name = "tester", .instance_id = 0x1234, .session_capacity = SESSIONS};
    *w = (struct world){.now_us = BEGIN_US, .heard = backend_frame_reader_create()};
    w->stream = backend_stream_create(&config, &w->counters, BEGIN_US);
    assert_non_null(w->stream);
}

static inline void close_world(struct world *w)
{
    backend_stream_destroy(w->stream);
    backend_frame_reader_destroy(w->heard);
}

static inline void feed(struct world *w, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const struct bytes_span room = backend_stream_reserve(w->stream);
        const size_t part = len < room.cap ? len : room.cap;
        memcpy(room.data, data, part);
        backend_stream_commit(w->stream, part);
        data += part;
        len -= part;
    }
}

static inline size_t encode(const struct backend_frame *frame, uint8_t *out)
{
    backend_frame_encode_header(frame, out);
    if (frame->payload.len > 0) {
        memcpy(out + BACKEND_FRAME_HEADER_BYTES, frame->payload.data, frame->payload.len);
    }
    return BACKEND_FRAME_HEADER_BYTES + frame->payload.len;
}

/* The backend says a frame with the next number of its session. */
static inline void say(struct world *w, unsigned type, uint32_t session, const char *payload)
{
    uint8_t bytes[4096];
    const struct backend_frame frame = {
        .type = (uint8_t)type,
        .session = session,
        .sequence = w->next_out[session == 0 ? 0 : (session >> 8) + 1]++,
        .payload = bytes_view_of_text(payload),
    };
    feed(w, bytes, encode(&frame, bytes));
}

static inline bool poll_frame(struct world *w, struct backend_frame *out)
{
    return backend_stream_poll_frame(w->stream, out, w->now_us);
}

/* Lets the stream act on what it has, and expects no frame of a session. */
static inline void settle(struct world *w)
{
    struct backend_frame frame;
    assert_false(poll_frame(w, &frame));
}

/* The far end reads what one write gives, as far as it has room. */
static inline void read_output(struct world *w)
{
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    const size_t count = backend_stream_gather(w->stream, piece, w->now_us);
    const struct bytes_span room = backend_frame_reader_reserve(w->heard);
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t left = room.cap - len;
        const size_t part = piece[i].len < left ? piece[i].len : left;
        memcpy(room.data + len, piece[i].data, part);
        len += part;
    }
    backend_frame_reader_commit(w->heard, len);
    backend_stream_sent(w->stream, len, w->now_us);
}

static inline struct backend_frame expect_heard(struct world *w, unsigned type, uint32_t session,
                                                uint32_t sequence)
{
    struct backend_frame frame;
    enum backend_frame_result result = backend_frame_reader_poll(w->heard, &frame);
    if (result == BACKEND_FRAME_MORE) {
        read_output(w);
        result = backend_frame_reader_poll(w->heard, &frame);
    }
    assert_int_equal(result, BACKEND_FRAME_OK);
    assert_int_equal(frame.type, type);
    assert_int_equal(frame.session, session);
    assert_int_equal(frame.sequence, sequence);
    return frame;
}

static inline void assert_silent(struct world *w)
{
    struct backend_frame frame;
    read_output(w);
    assert_int_equal(backend_frame_reader_poll(w->heard, &frame), BACKEND_FRAME_MORE);
}

static inline void assert_holds(const struct backend_frame *frame, const char *what)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    if (strstr(text, what) == NULL) {
        fail_msg("%s is not in %s", what, text);
    }
}

/* Failed for `code`, said so, and is quiet for good. */
static inline void assert_failed(struct world *w, const char *code, uint32_t sequence_of_error)
{
    struct backend_frame frame;
    assert_non_null(backend_stream_failure(w->stream));
    assert_string_equal(backend_stream_failure(w->stream), code);
    assert_false(backend_stream_is_up(w->stream));
    assert_false(backend_stream_is_greeted(w->stream));
    frame = expect_heard(w, BACKEND_ERROR, 0, sequence_of_error);
    assert_holds(&frame, code);
    assert_holds(&frame, "\"fatal\":true");
    assert_true(backend_stream_next_timeout(w->stream) == TIME_NEVER);
    say(w, BACKEND_PING, 0, "12345678");
    assert_false(poll_frame(w, &frame));
    backend_stream_tick(w->stream, TIME_NEVER - 1);
    assert_silent(w);
}

static inline void greet(struct world *w)
{
    expect_heard(w, BACKEND_HELLO, 0, 0);
    say(w, BACKEND_HELLO, 0, "{\"name\":\"far end\"}");
    settle(w);
    assert_true(backend_stream_is_up(w->stream));
}

static inline void start(struct world *w, uint32_t session)
{
    const struct backend_frame frame = {.type = BACKEND_SESSION_START, .session = session};
    w->next_out[(session >> 8) + 1] = 0;
    backend_stream_send(w->stream, &frame, w->now_us);
}

static inline void send_frame(struct world *w, unsigned type, uint32_t session,
                              size_t payload_bytes)
{
    static const uint8_t payload[BACKEND_FRAME_PAYLOAD_MAX];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = session,
                                        .payload = bytes_view_of(payload, payload_bytes)};
    backend_stream_send(w->stream, &frame, w->now_us);
}

static inline void send_text(struct world *w, unsigned type, uint32_t session, const char *text)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = session, .payload = bytes_view_of_text(text)};
    backend_stream_send(w->stream, &frame, w->now_us);
}

#endif
