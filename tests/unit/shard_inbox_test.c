/* shard_inbox_test.c - a datagram reaches its shard whole and in order, or is refused */
#include "tests/testing.h"

#include "services/transceiver/port/shard_inbox.h"

#include <poll.h>

static struct relay_leg_uplink uplink_of(uint32_t session_id, uint8_t *data, size_t len)
{
    struct relay_leg_uplink uplink = {
        .session_id = session_id, .path.is_tcp = true, .datagram = {data, len, len}};
    assert_true(net_addr_parse("203.0.113.9:40000", &uplink.path.client));
    assert_true(net_addr_parse("10.0.0.1:3500", &uplink.path.relay));
    return uplink;
}

static int open_inbox(void **state)
{
    static struct shard_inbox inbox;
    struct fault fault;
    *state = &inbox;
    return shard_inbox_open(&inbox, &fault) ? 0 : -1;
}

static int close_inbox(void **state)
{
    shard_inbox_close(*state);
    shard_inbox_close(*state); /* once more does no harm */
    return 0;
}

static void any_datagram_comes_out_as_it_went_in(void **state)
{
    const struct shard_inbox *inbox = *state;
    static const size_t lengths[] = {0, 1, 20, RELAY_LEG_DATAGRAM_BYTES_MAX};
    static uint8_t data[RELAY_LEG_DATAGRAM_BYTES_MAX];
    struct shard_inbox_datagram out;
    memset(data, 0x5a, sizeof(data));
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        const struct relay_leg_uplink in = uplink_of((uint32_t)i, data, lengths[i]);
        assert_true(shard_inbox_put(inbox, &in));
    }
    struct pollfd fd = {.fd = inbox->take_fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 1);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        const struct relay_leg_uplink in = uplink_of((uint32_t)i, data, lengths[i]);
        assert_true(shard_inbox_take(inbox, &out));
        assert_int_equal(out.uplink.session_id, i);
        assert_true(net_path_equal(&out.uplink.path, &in.path));
        assert_int_equal(out.uplink.datagram.len, lengths[i]);
        assert_ptr_equal(out.uplink.datagram.data, out.data);
        assert_memory_equal(out.data, data, lengths[i]);
    }
    assert_false(shard_inbox_take(inbox, &out));
    assert_int_equal(poll(&fd, 1, 0), 0);
}

static void a_full_inbox_refuses_and_loses_nothing_that_it_took(void **state)
{
    const struct shard_inbox *inbox = *state;
    static uint8_t data[RELAY_LEG_DATAGRAM_BYTES_MAX];
    struct shard_inbox_datagram out;
    for (int round = 0; round < 2; round++) {
        uint32_t taken = 0;
        struct relay_leg_uplink in = uplink_of(0, data, sizeof(data));
        while (shard_inbox_put(inbox, &in)) {
            in.session_id++;
        }
        assert_in_range(in.session_id, 32, 4096);
        while (shard_inbox_take(inbox, &out)) {
            assert_int_equal(out.uplink.session_id, taken++);
        }
        assert_int_equal(taken, in.session_id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_datagram_comes_out_as_it_went_in, open_inbox,
                                        close_inbox),
        cmocka_unit_test_setup_teardown(a_full_inbox_refuses_and_loses_nothing_that_it_took,
                                        open_inbox, close_inbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
