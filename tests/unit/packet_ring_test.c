/* packet_ring_test.c - packets come out as they went in, around every edge, until it is full */
#include "tests/testing.h"

#include "services/transceiver/core/media/packet_ring.h"

#define HEADER PACKET_RING_HEADER_BYTES

static uint8_t bytes[PACKET_RING_PACKET_BYTES_MAX];

static bool append(struct packet_ring *r, uint8_t what, size_t len, uint32_t ticks)
{
    memset(bytes, what, len);
    return packet_ring_append(r, bytes_view_of(bytes, len), ticks);
}

static void expect(struct packet_ring *r, uint8_t what, size_t len, uint32_t ticks)
{
    uint32_t got_ticks = 0;
    assert_int_equal(packet_ring_take(r, bytes, &got_ticks), len);
    assert_int_equal(got_ticks, ticks);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(bytes[i], what);
    }
}

static void packets_keep_their_order_around_every_edge(void **state)
{
    (void)state;
    for (size_t cap = 2 * (HEADER + 5) + 1; cap < 60; cap++) {
        struct packet_ring *r = packet_ring_create(cap);
        assert_true(append(r, 0, 5, 480)); /* never empty: it does not begin anew */
        for (uint8_t i = 1; i < 100; i++) {
            const size_t len = 1 + i % 5;
            assert_true(append(r, i, len, i));
            expect(r, (uint8_t)(i - 1), i == 1 ? 5 : 1 + (i - 1u) % 5, i == 1 ? 480 : i - 1u);
            assert_int_equal(packet_ring_ticks(r), i);
        }
        packet_ring_destroy(r);
    }
}

static void full_is_full_to_the_byte_and_changes_nothing(void **state)
{
    (void)state;
    struct packet_ring *r = packet_ring_create(2 * HEADER + 30);
    assert_true(append(r, 1, 10, 960));
    assert_false(append(r, 2, 21, 960));
    assert_int_equal(packet_ring_ticks(r), 960);
    assert_true(append(r, 3, 20, 2880));
    assert_false(append(r, 4, 1, 480));
    expect(r, 1, 10, 960);
    expect(r, 3, 20, 2880);
    assert_int_equal(packet_ring_ticks(r), 0);
    packet_ring_destroy(r);
}

static void a_packet_without_a_place_for_it_is_dropped(void **state)
{
    (void)state;
    struct packet_ring *r = packet_ring_create(4096);
    uint32_t ticks = 0;
    assert_true(append(r, 1, PACKET_RING_PACKET_BYTES_MAX, UINT16_MAX));
    assert_true(append(r, 2, 1, 480));
    assert_int_equal(packet_ring_take(r, NULL, &ticks), PACKET_RING_PACKET_BYTES_MAX);
    assert_int_equal(ticks, UINT16_MAX);
    expect(r, 2, 1, 480);
    packet_ring_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_keep_their_order_around_every_edge),
        cmocka_unit_test(full_is_full_to_the_byte_and_changes_nothing),
        cmocka_unit_test(a_packet_without_a_place_for_it_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
