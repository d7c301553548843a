/* playout_queue_world.h - a queue at 24 kHz, what is put into it, and what a slot must hold */
#ifndef EARSHOT_TESTS_PLAYOUT_QUEUE_WORLD_H
#define EARSHOT_TESTS_PLAYOUT_QUEUE_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/media/playout_queue.h"

#include <stdlib.h>

#define RATE_HZ      24000
#define FRAME        480
#define FADE         120
#define FRAME_US     (20 * US_PER_MS)
#define WINDOW_US    US_PER_S
#define PREBUFFER_US (40 * US_PER_MS)

static inline struct playout_queue *create(void)
{
    const struct playout_queue_config config = {.rate_hz = RATE_HZ, .window_us = WINDOW_US};
    struct playout_queue *q = playout_queue_create(&config);
    assert_non_null(q);
    playout_queue_attach(q, PREBUFFER_US, 0, 0);
    return q;
}

static inline int setup(void **state)
{
    *state = create();
    return 0;
}

static inline int teardown(void **state)
{
    playout_queue_destroy(*state);
    return 0;
}

static inline enum playout_put_result put_piece(struct playout_queue *q, struct playout_piece piece,
                                                int16_t level, size_t count)
{
    uint8_t *pcm = malloc(count * 2 + 1);
    assert_non_null(pcm);
    for (size_t i = 0; i < count; i++) {
        pcm[2 * i] = (uint8_t)level;
        pcm[2 * i + 1] = (uint8_t)((uint16_t)level >> 8);
    }
    piece.media = bytes_view_of(pcm, count * 2);
    const enum playout_put_result result = playout_queue_put(q, &piece);
    free(pcm);
    return result;
}

/* `count` samples of one level. */
static inline enum playout_put_result put(struct playout_queue *q, uint32_t utterance,
                                          int16_t level, size_t count, bool is_last)
{
    return put_piece(q, (struct playout_piece){.utterance = utterance, .is_last = is_last}, level,
                     count);
}

static inline enum playout_put_result put_at(struct playout_queue *q, uint32_t utterance,
                                             uint64_t offset_us, int16_t level, size_t count)
{
    return put_piece(q, (struct playout_piece){.utterance = utterance, .offset_us = offset_us},
                     level, count);
}

static int16_t frame[FRAME];

static inline void expect_slot(struct playout_queue *q, enum playout_slot slot, uint64_t now_us)
{
    memset(frame, 0x55, sizeof(frame));
    assert_int_equal(playout_queue_take(q, frame, now_us), slot);
}

/* frame[from..to) has one level. */
static inline void expect_level(size_t from, size_t to, int16_t level)
{
    for (size_t i = from; i < to; i++) {
        assert_int_equal(frame[i], level);
    }
}

/* frame[from..from + 5 ms) falls from a level to zero, and the rest of it is zero. */
static inline void expect_fade(size_t from, int16_t level)
{
    for (size_t i = 0; i < FADE; i++) {
        assert_int_equal(frame[from + i], level * (FADE - 1 - (int)i) / FADE);
    }
    expect_level(from + FADE, FRAME, 0);
}

static inline struct utterance_event
expect_event(struct playout_queue *q, enum utterance_event_type type, uint32_t utterance)
{
    struct utterance_event event;
    assert_true(playout_queue_poll_event(q, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, utterance);
    return event;
}

static inline void expect_no_event(struct playout_queue *q)
{
    struct utterance_event event;
    assert_false(playout_queue_poll_event(q, &event));
}

static inline uint64_t expect_credit(struct playout_queue *q)
{
    uint64_t limit_us = 0;
    assert_true(playout_queue_poll_credit(q, &limit_us));
    return limit_us;
}

static inline void expect_no_credit(struct playout_queue *q)
{
    uint64_t limit_us = 0;
    assert_false(playout_queue_poll_credit(q, &limit_us));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
