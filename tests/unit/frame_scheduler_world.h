/* frame_scheduler_world.h - a scheduler of three sessions, and who reads what it gives */
#ifndef EARSHOT_FRAME_SCHEDULER_WORLD_H
#define EARSHOT_FRAME_SCHEDULER_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/port/frame_scheduler.h"

#define BEGIN_US   UINT64_C(7000000)
#define CONNECTION 3 /* its queue; 0..2 are sessions */
#define BLOCKS     400
#define AUDIO      960 /* bytes of PCM: one block */

struct world {
    struct frame_scheduler *frames;
    struct backend_frame_reader *heard;
    uint64_t now_us;
};

static inline void open_world(struct world *w)
{
    *w = (struct world){.frames = frame_scheduler_create(CONNECTION + 1, BLOCKS),
                        .heard = backend_frame_reader_create(),
                        .now_us = BEGIN_US};
}

static inline void close_world(struct world *w)
{
    frame_scheduler_destroy(w->frames);
    backend_frame_reader_destroy(w->heard);
}

/* mark: which of several it is. */
static inline enum frame_put_result put_marked(struct world *w, size_t queue, unsigned type,
                                               uint32_t mark, size_t bytes, bool is_replay)
{
    static const uint8_t payload[BACKEND_FRAME_PAYLOAD_MAX] = {1, 2, 3};
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = (uint32_t)queue,
                                        .utterance = mark,
                                        .payload = bytes_view_of(payload, bytes)};
    return frame_scheduler_put(w->frames, queue, &frame, is_replay, w->now_us);
}

static inline void put(struct world *w, size_t queue, unsigned type, uint32_t mark)
{
    assert_int_equal(put_marked(w, queue, type, mark, AUDIO, false), FRAME_PUT_OK);
}

/* The socket takes at most so much of one write; returns what it took. */
static inline size_t write_some(struct world *w, size_t bytes_max)
{
    struct bytes_view piece[FRAME_GATHER_PIECES_MAX];
    const size_t count = frame_scheduler_gather(w->frames, piece, w->now_us);
    size_t taken = 0;
    assert_in_range(count, 0, FRAME_GATHER_PIECES_MAX);
    for (size_t i = 0; i < count; i++) {
        const size_t left = bytes_max - taken;
        const size_t part = piece[i].len < left ? piece[i].len : left;
        for (size_t at = 0; at < part;) {
            const struct bytes_span room = backend_frame_reader_reserve(w->heard);
            const size_t some = part - at < room.cap ? part - at : room.cap;
            assert_true(some > 0);
            memcpy(room.data, piece[i].data + at, some);
            backend_frame_reader_commit(w->heard, some);
            at += some;
        }
        taken += part;
    }
    (void)frame_scheduler_wrote(w->frames, taken);
    return taken;
}

static inline bool hear(struct world *w, struct backend_frame *out)
{
    enum backend_frame_result result = backend_frame_reader_poll(w->heard, out);
    if (result == BACKEND_FRAME_MORE && write_some(w, 32768) > 0) {
        result = backend_frame_reader_poll(w->heard, out);
    }
    return result == BACKEND_FRAME_OK;
}

static inline struct backend_frame expect(struct world *w, size_t queue, unsigned type,
                                          uint32_t mark)
{
    struct backend_frame frame;
    assert_true(hear(w, &frame));
    assert_int_equal(frame.session, queue);
    assert_int_equal(frame.type, type);
    assert_int_equal(frame.utterance, mark);
    return frame;
}

static inline void assert_nothing_waits(struct world *w)
{
    struct backend_frame frame;
    assert_false(hear(w, &frame));
    assert_true(frame_scheduler_is_empty(w->frames));
}

#endif
