/* voice_history_test.c - two seconds are kept, in order, and what is too much is announced */
#include "tests/testing.h"

#include "services/transceiver/core/media/voice_history.h"

#define SLOT_US 20000

static int setup(void **state)
{
    *state = voice_history_create();
    return *state == NULL;
}

static int teardown(void **state)
{
    voice_history_destroy(*state);
    return 0;
}

/* Slot n of 20 ms; each byte of its payload names it. */
static void add(struct voice_history *h, uint64_t n, size_t payload_bytes)
{
    uint8_t payload[VOICE_PACKET_BYTES_MAX];
    memset(payload, (int)(n % 251), sizeof(payload));
    const struct voice_history_slot slot = {
        .kind = REORDER_SLOT_PACKET,
        .time_us = n * SLOT_US,
        .end_us = (n + 1) * SLOT_US,
        .rtp_timestamp = (uint32_t)(n * 960),
        .duration = 960,
        .payload = bytes_view_of(payload, payload_bytes),
    };
    voice_history_add(h, &slot);
}

static void expect(struct voice_history *h, uint64_t n, size_t payload_bytes, bool is_discontinuity)
{
    struct voice_history_slot slot;
    assert_true(voice_history_read(h, &slot));
    assert_true(slot.number == n);
    assert_true(slot.time_us == n * SLOT_US);
    assert_int_equal(slot.duration, 960);
    assert_int_equal(slot.kind, REORDER_SLOT_PACKET);
    assert_int_equal(slot.is_discontinuity, is_discontinuity);
    assert_int_equal(slot.payload.len, payload_bytes);
    for (size_t i = 0; i < payload_bytes; i++) {
        assert_int_equal(slot.payload.data[i], n % 251);
    }
}

static void expect_end(struct voice_history *h)
{
    struct voice_history_slot slot;
    assert_false(voice_history_read(h, &slot));
}

static void what_is_added_is_read_once_in_order(void **state)
{
    struct voice_history *h = *state;
    uint64_t begin_us = 0;
    assert_false(voice_history_begin_us(h, &begin_us));
    expect_end(h);
    /* Many times around the ring, with every length there is. */
    for (uint64_t n = 0; n < 5000; n++) {
        const size_t payload_bytes = n * 7 % (VOICE_PACKET_BYTES_MAX + 1);
        assert_true(voice_history_next_number(h) == n);
        add(h, n, payload_bytes);
        expect(h, n, payload_bytes, false);
        expect_end(h);
    }
}

static void two_seconds_are_held_and_read_again_after_a_seek(void **state)
{
    struct voice_history *h = *state;
    uint64_t begin_us = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        add(h, n, 85);
    }
    /* The newest ends at 20 s: what begins at 18 s is held. */
    assert_true(voice_history_begin_us(h, &begin_us));
    assert_int_equal(begin_us, 18 * US_PER_S);
    for (int again = 0; again < 2; again++) {
        voice_history_seek(h, 0);
        for (uint64_t n = 900; n < 1000; n++) {
            expect(h, n, 85, false);
        }
        expect_end(h);
    }
}

static void a_seek_finds_the_slot_that_is_not_over(void **state)
{
    struct voice_history *h = *state;
    for (uint64_t n = 0; n < 10; n++) {
        add(h, n, 85);
    }
    static const struct {
        uint64_t from_us;
        uint64_t n;
    } c[] = {{0, 0}, {19999, 0}, {20000, 1}, {179999, 8}, {180000, 9}, {199999, 9}, {200000, 10}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        voice_history_seek(h, c[i].from_us);
        if (c[i].n < 10) {
            expect(h, c[i].n, 85, false);
        } else {
            expect_end(h);
        }
    }
    add(h, 10, 85);
    expect(h, 10, 85, false);
}

static void a_reader_that_is_overtaken_is_told(void **state)
{
    struct voice_history *h = *state;
    for (uint64_t n = 0; n < 10; n++) {
        add(h, n, 85);
    }
    expect(h, 0, 85, false);
    for (uint64_t n = 10; n < 110; n++) {
        add(h, n, 85);
    }
    expect(h, 10, 85, true);
    expect(h, 11, 85, false);
    for (uint64_t n = 110; n < 300; n++) {
        add(h, n, 85);
    }
    voice_history_seek(h, 0); /* who begins anew has missed nothing */
    expect(h, 200, 85, false);
}

static void large_payloads_leave_room_for_less_than_two_seconds(void **state)
{
    struct voice_history *h = *state;
    const size_t slot_bytes = sizeof(struct voice_history_slot) + VOICE_PACKET_BYTES_MAX;
    for (uint64_t n = 0; n < 1000; n++) {
        add(h, n, VOICE_PACKET_BYTES_MAX);
        uint64_t begin_us = 0;
        assert_true(voice_history_begin_us(h, &begin_us));
        const uint64_t held = n + 1 - begin_us / SLOT_US;
        assert_true(held <= VOICE_HISTORY_BYTES / slot_bytes);
        assert_true(n < 24 || held >= VOICE_HISTORY_BYTES / slot_bytes - 1);
        voice_history_seek(h, 0);
        for (uint64_t i = n + 1 - held; i <= n; i++) {
            expect(h, i, VOICE_PACKET_BYTES_MAX, false);
        }
        expect_end(h);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_added_is_read_once_in_order),
        TEST(two_seconds_are_held_and_read_again_after_a_seek),
        TEST(a_seek_finds_the_slot_that_is_not_over),
        TEST(a_reader_that_is_overtaken_is_told),
        TEST(large_payloads_leave_room_for_less_than_two_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
