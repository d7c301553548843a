/* red_copy_test.c - the payload before goes once more, if RED can say how old it is */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/red_copy.h"

#define OPUS 111
#define RED  63

static const uint8_t first[RED_COPY_BYTES_MAX + 1] = {1, 2, 3};
static const uint8_t second[] = {9, 8};

/* What is said of the first payload, `offset` units later. */
static size_t add(size_t first_len, uint32_t offset, struct red_packet *out, uint8_t bytes[1024])
{
    struct red_copy copy = {0};
    const uint32_t timestamp = 0xffffff00; /* the clock wraps in between */
    red_copy_keep(&copy, OPUS, timestamp, bytes_view_of(first, first_len));
    const size_t len = red_copy_add(&copy, OPUS, timestamp + offset,
                                    bytes_view_of(second, sizeof(second)), bytes, 1024);
    if (len > 0) {
        assert_int_equal(red_parse(bytes_view_of(bytes, len), RED, out), RED_OK);
    }
    return len;
}

static void the_payload_before_stands_in_front(void **state)
{
    (void)state;
    struct red_packet packet;
    uint8_t bytes[1024];
    assert_int_equal(add(3, 960, &packet, bytes), 4 + 1 + 3 + 2);
    assert_int_equal(packet.block_count, 2);
    assert_int_equal(packet.block[0].payload_type, OPUS);
    assert_int_equal(packet.block[0].timestamp_offset, 960);
    assert_true(bytes_equal(packet.block[0].data, bytes_view_of(first, 3)));
    assert_true(bytes_equal(packet.block[1].data, bytes_view_of(second, sizeof(second))));
}

static void what_can_not_be_said_is_left_out(void **state)
{
    (void)state;
    struct red_packet packet;
    uint8_t bytes[1024];
    static const struct {
        size_t first_len;
        uint32_t offset;
        bool is_there;
    } t[] = {
        {RED_COPY_BYTES_MAX, 960, true},
        {RED_COPY_BYTES_MAX + 1, 960, false},
        {3, RED_TIMESTAMP_OFFSET_MAX, true},
        {3, RED_TIMESTAMP_OFFSET_MAX + 1, false},
        {0, 960, false},
    };
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        assert_int_equal(add(t[i].first_len, t[i].offset, &packet, bytes) > 0, t[i].is_there);
    }
}

static void what_is_forgotten_and_what_does_not_fit_is_not_there(void **state)
{
    (void)state;
    struct red_copy copy = {0};
    uint8_t bytes[64];
    const struct bytes_view payload = bytes_view_of(second, sizeof(second));
    assert_int_equal(red_copy_add(&copy, OPUS, 960, payload, bytes, sizeof(bytes)), 0);
    red_copy_keep(&copy, OPUS, 0, bytes_view_of(first, 3));
    assert_int_equal(red_copy_add(&copy, OPUS, 960, payload, bytes, 9), 0);
    assert_int_equal(red_copy_add(&copy, OPUS, 960, payload, bytes, 10), 10);
    red_copy_forget(&copy);
    assert_int_equal(red_copy_add(&copy, OPUS, 960, payload, bytes, sizeof(bytes)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_payload_before_stands_in_front),
        cmocka_unit_test(what_can_not_be_said_is_left_out),
        cmocka_unit_test(what_is_forgotten_and_what_does_not_fit_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
