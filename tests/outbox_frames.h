/*
 * outbox_frames.h - reads what a machine of the transceiver has said to its backend
 *
 * Frames are taken one by one, in order; a test that forgets one fails at outbox_frames_end.
 */
#ifndef EARSHOT_OUTBOX_FRAMES_H
#define EARSHOT_OUTBOX_FRAMES_H

#include "tests/testing.h"

#include "services/transceiver/core/outbox.h"

#include <stdio.h>

struct outbox_frames {
    struct outbox *outbox;
    size_t cursor;
};

/* The next frame; false when there is none. */
static inline bool outbox_frames_next(struct outbox_frames *f, struct backend_frame *out)
{
    uint32_t session_id = 0;
    return outbox_next_frame(f->outbox, &f->cursor, &session_id, out);
}

/* The next frame is there and of this type. */
static inline struct backend_frame outbox_frames_expect(struct outbox_frames *f, unsigned type)
{
    struct backend_frame frame = {0};
    assert_true(outbox_frames_next(f, &frame));
    assert_int_equal(frame.type, type);
    return frame;
}

/* Nothing more was said. What is said from now on is read from the beginning. */
static inline void outbox_frames_end(struct outbox_frames *f)
{
    struct backend_frame frame;
    if (outbox_frames_next(f, &frame)) {
        fail_msg("a frame of type %02x that was not expected: %.*s", frame.type,
                 (int)frame.payload.len, (const char *)frame.payload.data);
    }
    outbox_clear(f->outbox);
    f->cursor = 0;
}

/* A JSON payload that holds `text`. */
static inline void outbox_frames_assert_holds(const struct backend_frame *frame, const char *text)
{
    char payload[1024];
    (void)snprintf(payload, sizeof(payload), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    if (strstr(payload, text) == NULL) {
        fail_msg("%s is not in %s", text, payload);
    }
}

#endif
