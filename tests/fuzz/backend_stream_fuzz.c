/* backend_stream_fuzz.c - a backend that says anything: raw bytes, or frames with good numbers
 *
 * Input: a byte (bit 7: raw bytes follow; bits 0..6: how many a read takes), then the bytes; else
 * frames: type, handle, milliseconds to wait before it (1 byte each), length (2), payload. The
 * stream goes on or fails for good; it gives frames of open sessions only, and its output stays
 * within bounds although nobody reads it.
 */
#include "services/transceiver/port/backend_stream.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SESSIONS      4
#define OUTPUT_MAX    (2 * BACKEND_FRAME_BYTES_MAX + SESSIONS * 25 * 992)
#define ID(slot)      ((uint32_t)(slot) << 8 | 1u)
#define BEGIN_US      US_PER_S
#define OPEN_SESSIONS 2

struct world {
    uint64_t now_us;
    struct backend_stream *stream;
    struct backend_stream_counters counters;
    uint32_t next_out[SESSIONS + 1]; /* of the far end; the last is the connection's */
};

static void poll_frames(struct world *w)
{
    struct backend_frame frame;
    while (backend_stream_poll_frame(w->stream, &frame, w->now_us)) {
        assert(frame.session == ID(0) || frame.session == ID(1));
        assert(backend_stream_is_greeted(w->stream));
        const struct backend_frame answer = {.type = BACKEND_AUDIO_IN,
                                             .session = frame.session,
                                             .payload = bytes_view_of("abcdefgh", 8)};
        backend_stream_send(w->stream, &answer);
    }
    assert(backend_stream_output(w->stream).len <= OUTPUT_MAX);
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
        backend_stream_commit(w->stream, len, w->now_us);
        bytes = bytes_view_of(bytes.data + len, bytes.len - len);
        poll_frames(w);
    }
}

static void feed_frame(struct world *w, struct backend_frame frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    const size_t slot = frame.session == 0 ? SESSIONS : frame.session >> 8 & 3;
    frame.sequence = w->next_out[slot]++;
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
}

static void greet(struct world *w)
{
    feed_frame(w,
               (struct backend_frame){.type = BACKEND_HELLO, .payload = bytes_view_of_text("{}")});
    for (uint32_t slot = 0; slot < OPEN_SESSIONS; slot++) {
        const struct backend_frame start = {.type = BACKEND_SESSION_START, .session = ID(slot)};
        backend_stream_send(w->stream, &start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct backend_stream_config config = {
        .name = "fuzz", .instance_id = 1, .session_capacity = SESSIONS};
    struct world w = {.now_us = BEGIN_US};
    struct byte_reader script;
    w.stream = backend_stream_create(&config, &w.counters, w.now_us);
    assert(w.stream != NULL);
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
    backend_stream_destroy(w.stream);
    return 0;
}
