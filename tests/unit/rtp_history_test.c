/* rtp_history_test.c - a lost packet is given again once, as it was */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtp_history.h"

#define HEADER_BYTES 12

static struct rtp_history *history;

static int setup(void **state)
{
    (void)state;
    history = rtp_history_create();
    return history != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rtp_history_destroy(history);
    return 0;
}

/* A packet of `len` bytes that differ from those of any other number. */
static void keep(uint16_t sequence_number, size_t len)
{
    uint8_t packet[RTP_HISTORY_BYTES_MAX + 1];
    memset(packet, sequence_number * 7 & 0xff, sizeof(packet));
    packet[2] = (uint8_t)(sequence_number >> 8);
    packet[3] = (uint8_t)sequence_number;
    rtp_history_keep(history, bytes_view_of(packet, len));
}

static bool gives(uint16_t sequence_number, size_t len)
{
    struct bytes_view packet;
    rtp_history_want(history, sequence_number);
    if (!rtp_history_poll(history, &packet)) {
        return false;
    }
    assert_int_equal(packet.len, len);
    assert_int_equal(packet.data[2] << 8 | packet.data[3], sequence_number);
    for (size_t i = 4; i < len; i++) {
        assert_int_equal(packet.data[i], (sequence_number * 7) & 0xff);
    }
    return true;
}

static void the_identical_bytes_are_given_once(void **state)
{
    (void)state;
    keep(65535, 100);
    keep(0, HEADER_BYTES);
    assert_true(gives(65535, 100));
    assert_false(gives(65535, 100));
    assert_true(gives(0, HEADER_BYTES));
    assert_false(gives(0, HEADER_BYTES));
}

static void the_last_64_are_kept(void **state)
{
    (void)state;
    const uint16_t first = 65500; /* and across the wrap */
    for (uint16_t i = 0; i <= RTP_HISTORY_PACKETS; i++) {
        keep((uint16_t)(first + i), 80);
    }
    assert_false(gives(first, 80));
    for (uint16_t i = 1; i <= RTP_HISTORY_PACKETS; i++) {
        assert_true(gives((uint16_t)(first + i), 80));
    }
    assert_false(gives((uint16_t)(first + RTP_HISTORY_PACKETS + 1), 80));
}

static void a_packet_that_is_too_long_replaces_what_lay_there_and_is_not_kept(void **state)
{
    (void)state;
    keep(5, RTP_HISTORY_BYTES_MAX);
    assert_true(gives(5, RTP_HISTORY_BYTES_MAX));
    keep(5 + RTP_HISTORY_PACKETS, RTP_HISTORY_BYTES_MAX + 1);
    assert_false(gives(5, RTP_HISTORY_BYTES_MAX));
    assert_false(gives(5 + RTP_HISTORY_PACKETS, RTP_HISTORY_BYTES_MAX + 1));
}

static void nothing_from_before_a_forget_is_given_even_if_it_was_wanted(void **state)
{
    (void)state;
    struct bytes_view packet;
    keep(1, 80);
    keep(2, 80);
    rtp_history_want(history, 1);
    rtp_history_forget(history);
    assert_false(rtp_history_poll(history, &packet));
    assert_false(gives(1, 80));
    assert_false(gives(2, 80));
    keep(3, 80);
    assert_true(gives(3, 80));
}

static void what_is_wanted_may_be_pushed_out_meanwhile(void **state)
{
    (void)state;
    struct bytes_view packet;
    keep(1, 80);
    rtp_history_want(history, 1);
    rtp_history_want(history, 1);
    keep(1 + RTP_HISTORY_PACKETS, 80);
    assert_false(rtp_history_poll(history, &packet));
    assert_true(gives(1 + RTP_HISTORY_PACKETS, 80));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_identical_bytes_are_given_once),
        TEST(the_last_64_are_kept),
        TEST(a_packet_that_is_too_long_replaces_what_lay_there_and_is_not_kept),
        TEST(nothing_from_before_a_forget_is_given_even_if_it_was_wanted),
        TEST(what_is_wanted_may_be_pushed_out_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
