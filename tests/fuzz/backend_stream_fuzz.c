/* backend_stream_fuzz.c - a backend that says anything: raw bytes, or frames with good numbers
 *
 * Input: a byte (bit 7: raw bytes follow; bits 0..6: how many a read takes), then the bytes; else
 * frames: type, handle, milliseconds to wait before it (1 byte each), length (2), payload. The
 * stream goes on or fails for good; it gives frames of open sessions only. A part of its output is
 * read between them, as the bytes say; what was read is frames, numbered without a gap.
 */
#include "services/transceiver/port/backend_stream.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SESSIONS      4
#define ID(slot)      ((uint32_t)(slot) << 8 | 1u)
#define BEGIN_US      US_PER_S
#define OPEN_SESSIONS 2

struct world {
    uint64_t now_us;
    struct backend_stream *stream;
    struct backend_stream_counters counters;
    uint32_t next_out[SESSIONS + 1];   /* of the far end; the last is the connection's */
    uint32_t next_heard[SESSIONS + 1]; /* of the stream */
    struct backend_frame_reader *heard;
};

static size_t place_of(uint32_t session)
{
    return session == 0 ? SESSIONS : session >> 8 & 3;
}

static void check_heard(struct world *w)
{
    struct backend_frame frame;
    enum backend_frame_result result;
    while ((result = backend_frame_reader_poll(w->heard, &frame)) == BACKEND_FRAME_OK) {
        uint32_t *next = &w->next_heard[place_of(frame.session)];
        if (frame.type == BACKEND_SESSION_START) {
            *next = 0; /* the handle was free again */
        }
        assert(frame.sequence == (*next)++);
    }
    assert(result == BACKEND_FRAME_MORE);
}

static void read_output(struct world *w, size_t bytes_max)
{
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    const size_t count = backend_stream_gather(w->stream, piece, w->now_us);
    size_t taken = 0;
    assert(count <= BACKEND_STREAM_PIECES_MAX);
    for (size_t i = 0; i < count; i++) {
        const size_t left = bytes_max - taken;
        const size_t part = piece[i].len < left ? piece[i].len : left;
        for (size_t at = 0; at < part;) {
            const struct bytes_span room = backend_frame_reader_reserve(w->heard);
            const size_t some = part - at < room.cap ? part - at : room.cap;
            memcpy(room.data, piece[i].data + at, some);
            backend_frame_reader_commit(w->heard, some);
            check_heard(w);
            at += some;
        }
        taken += part;
    }
    backend_stream_sent(w->stream, taken, w->now_us);
}

static void poll_frames(struct world *w)
{
    struct backend_frame frame;
    while (backend_stream_poll_frame(w->stream, &frame, w->now_us)) {
        assert(frame.session == ID(0) || frame.session == ID(1));
        assert(backend_stream_is_greeted(w->stream));
        const struct backend_frame answer = {.type = BACKEND_AUDIO_IN,
                                             .session = frame.session,
                                             .payload = bytes_view_of("abcdefgh", 8)};
        backend_stream_send(w->stream, &answer, w->now_us);
    }
    const bool is_well = backend_stream_failure(w->stream) == NULL;
    assert(is_well || backend_stream_next_timeout(w->stream) == TIME_NEVER);
}

static void feed(struct world *w, struct bytes_view bytes, size_t step)
{
    while (bytes.len > 0) {
        const struct bytes_span room = backend_stream_reserve(w->stream);
        size_t len = bytes.len < room.cap ? bytes.len : room.cap;
        len = len < step ? len : step;
        if (len == 0) {
            assert(backend_stream_failure(w->stream) != NULL); /* it takes no more */
            return;
        }
        memcpy(room.data, bytes.data, len);
        backend_stream_commit(w->stream, len);
        bytes = bytes_view_of(bytes.data + len, bytes.len - len);
        poll_frames(w);
    }
}

static void feed_frame(struct world *w, struct backend_frame frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    frame.sequence = w->next_out[place_of(frame.session)]++;
    backend_frame_encode_header(&frame, header);
    feed(w, bytes_view_of(header, sizeof(header)), SIZE_MAX);
    feed(w, frame.payload, SIZE_MAX);
}

static void pass_time(struct world *w, uint64_t us)
{
    w->now_us += us;
    backend_stream_tick(w->stream, w->now_us);
    assert(backend_stream_next_timeout(w->stream) > w->now_us);
}

static void feed_scripted_frame(struct world *w, struct byte_reader *script)
{
    struct backend_frame frame = {.type = byte_reader_u8(script)};
    const uint8_t handle = byte_reader_u8(script) % (SESSIONS + 1);
    frame.session = handle == SESSIONS ? 0 : ID(handle);
    pass_time(w, byte_reader_u8(script) * US_PER_MS);
    const size_t len = byte_reader_u16(script);
    const size_t left = byte_reader_left(script);
    frame.payload = byte_reader_bytes(script, len < left ? len : left);
    feed_frame(w, frame);
    if ((len & 1) != 0) {
        read_output(w, len);
    }
}

static void greet(struct world *w)
{
    feed_frame(w,
               (struct backend_frame){.type = BACKEND_HELLO, .payload = bytes_view_of_text("{}")});
    for (uint32_t slot = 0; slot < OPEN_SESSIONS; slot++) {
        const struct backend_frame start = {.type = BACKEND_SESSION_START, .session = ID(slot)};
        backend_stream_send(w->stream, &start, w->now_us);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct backend_stream_config config = {
        .name = "fuzz", .instance_id = 1, .session_capacity = SESSIONS};
    struct world w = {.now_us = BEGIN_US, .heard = backend_frame_reader_create()};
    struct byte_reader script;
    w.stream = backend_stream_create(&config, &w.counters, w.now_us);
    assert(w.stream != NULL && w.heard != NULL);
    byte_reader_init(&script, bytes_view_of(data, size));
    const uint8_t start = byte_reader_u8(&script);
    if ((start & 0x80) != 0) {
        const size_t step = (start & 0x7fu) + 1;
        feed(&w, byte_reader_bytes(&script, byte_reader_left(&script)), step);
    } else {
        greet(&w);
        while (byte_reader_left(&script) >= 5) {
            feed_scripted_frame(&w, &script);
        }
    }
    pass_time(&w, 60 * US_PER_S);
    poll_frames(&w);
    read_output(&w, SIZE_MAX);
    backend_stream_destroy(w.stream);
    backend_frame_reader_destroy(w.heard);
    return 0;
}
