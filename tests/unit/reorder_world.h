/*
 * reorder_world.h - what the tests of the reorder buffer say to it, and expect of it
 */
#ifndef EARSHOT_REORDER_WORLD_H
#define EARSHOT_REORDER_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/media/reorder_buffer.h"

#define FIRST_SEQUENCE  (UINT64_C(1) << 32)
#define FIRST_TIMESTAMP ((UINT64_C(1) << 32) + 48000)
#define FRAME           960
#define START_US        (10 * US_PER_S)
#define SLOT_US         (20 * US_PER_MS)

static inline int reorder_world_open(void **state)
{
    *state = reorder_buffer_create();
    return *state == NULL;
}

static inline int reorder_world_close(void **state)
{
    reorder_buffer_destroy(*state);
    return 0;
}

static inline uint64_t slot_us(uint64_t n)
{
    return START_US + n * SLOT_US;
}

/* Packet n at `timestamp`; its payload names it. */
static inline struct reorder_packet numbered(const uint64_t *n, uint64_t timestamp,
                                             uint32_t duration)
{
    return (struct reorder_packet){.sequence = FIRST_SEQUENCE + *n,
                                   .timestamp = FIRST_TIMESTAMP + timestamp,
                                   .duration = duration,
                                   .payload = bytes_view_of(n, sizeof(*n))};
}

static inline enum reorder_result insert_frame(struct reorder_buffer *b, uint64_t n,
                                               uint64_t timestamp, uint32_t duration,
                                               uint64_t now_us)
{
    const struct reorder_packet p = numbered(&n, timestamp, duration);
    return reorder_buffer_insert(b, &p, now_us);
}

static inline enum reorder_result insert(struct reorder_buffer *b, uint64_t n, uint64_t now_us)
{
    return insert_frame(b, n, n * FRAME, FRAME, now_us);
}

/* The next slot plays the payload of packet n. */
static inline void expect_sound(struct reorder_buffer *b, enum reorder_slot_kind kind, uint64_t n,
                                bool is_discontinuity, uint64_t now_us)
{
    struct reorder_slot slot;
    assert_true(reorder_buffer_poll(b, &slot, now_us));
    assert_int_equal(slot.kind, kind);
    assert_int_equal(slot.is_discontinuity, is_discontinuity);
    uint64_t named = 0;
    assert_int_equal(slot.payload.len, sizeof(named));
    memcpy(&named, slot.payload.data, sizeof(named));
    assert_true(named == n);
}

static inline void expect_packet(struct reorder_buffer *b, uint64_t n, bool is_discontinuity,
                                 uint64_t now_us)
{
    expect_sound(b, REORDER_SLOT_PACKET, n, is_discontinuity, now_us);
}

static inline void expect_filler(struct reorder_buffer *b, enum reorder_slot_kind kind,
                                 uint64_t timestamp, uint32_t duration, uint64_t now_us)
{
    struct reorder_slot slot;
    assert_true(reorder_buffer_poll(b, &slot, now_us));
    assert_int_equal(slot.kind, kind);
    assert_true(slot.timestamp == FIRST_TIMESTAMP + timestamp);
    assert_int_equal(slot.duration, duration);
    assert_int_equal(slot.payload.len, 0);
}

static inline void expect_nothing(struct reorder_buffer *b, uint64_t now_us)
{
    struct reorder_slot slot;
    assert_false(reorder_buffer_poll(b, &slot, now_us));
}

/* Nothing is waited for: only a stall would be told, counted from the last packet. */
static inline void expect_no_wait(struct reorder_buffer *b, uint64_t last_us)
{
    assert_true(reorder_buffer_next_timeout(b) == last_us + REORDER_BUFFER_STALL_US);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reorder_world_open, reorder_world_close)

#endif
