/* relay_leg_test.c - only a shim that is meant for us comes off, and what goes on can be read */
#include "tests/testing.h"

#include "services/transceiver/port/relay_leg.h"

#define INSTANCE_ID    0x11223344
#define SESSION_ID     0x00000101
#define DATAGRAM_BYTES 20
#define PADDING_BYTES  32

struct world {
    struct key_ring *ring;
    uint8_t packet[RELAY_SHIM_BYTES + DATAGRAM_BYTES + PADDING_BYTES];
    struct udp_arrival received;
};

static struct relay_shim shim_with(uint8_t flags, uint32_t instance_id)
{
    struct relay_shim shim = {.flags = flags,
                              .datagram_bytes = DATAGRAM_BYTES,
                              .instance_id = instance_id,
                              .session_id = SESSION_ID};
    assert_true(net_addr_parse("203.0.113.9:4444", &shim.client));
    return shim;
}

static void open_world(struct world *w, uint8_t flags, uint32_t instance_id)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1};
    *w = (struct world){.ring = key_ring_from_secret(7, secret)};
    const struct relay_shim shim = shim_with(flags, instance_id);
    relay_shim_write(w->ring, &shim, w->packet);
    memset(w->packet + RELAY_SHIM_BYTES, 0xdd, DATAGRAM_BYTES);
    w->received.data = w->packet;
    w->received.len = RELAY_SHIM_BYTES + DATAGRAM_BYTES;
    assert_true(net_addr_parse("10.0.0.1:3500", &w->received.from));
}

static void a_shim_comes_off_and_says_whose_and_from_where(void **state)
{
    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        struct world w;
        struct relay_leg_uplink uplink = {0};
        open_world(&w, tcp == 0 ? 0 : RELAY_SHIM_TCP, INSTANCE_ID);
        assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink), RELAY_LEG_OK);
        assert_int_equal(uplink.session_id, SESSION_ID);
        assert_int_equal(uplink.path.is_tcp, tcp);
        assert_true(net_addr_equal(&uplink.path.relay, &w.received.from));
        const struct net_addr client = shim_with(0, 0).client;
        assert_true(net_addr_equal(&uplink.path.client, &client));
        assert_ptr_equal(uplink.datagram.data, w.packet + RELAY_SHIM_BYTES);
        assert_int_equal(uplink.datagram.len, DATAGRAM_BYTES);
        assert_int_equal(uplink.datagram.cap, DATAGRAM_BYTES); /* the next one may follow */
        key_ring_destroy(w.ring);
    }
}

static void padding_behind_the_datagram_is_not_part_of_it(void **state)
{
    (void)state;
    struct world w;
    struct relay_leg_uplink uplink = {0};
    open_world(&w, 0, INSTANCE_ID);
    w.received.len += PADDING_BYTES;
    assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink), RELAY_LEG_OK);
    assert_int_equal(uplink.datagram.len, DATAGRAM_BYTES);
    assert_int_equal(uplink.datagram.cap, DATAGRAM_BYTES);
    key_ring_destroy(w.ring);
}

static void each_flag_but_tcp_is_not_for_a_transceiver(void **state)
{
    (void)state;
    for (uint8_t flags = 0; flags < 16; flags++) {
        struct world w;
        struct relay_leg_uplink uplink;
        open_world(&w, flags, INSTANCE_ID);
        const bool is_ours = flags == 0 || flags == RELAY_SHIM_TCP;
        assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink),
                         is_ours ? RELAY_LEG_OK : RELAY_LEG_VERSION);
        key_ring_destroy(w.ring);
    }
}

/* Whatever a stranger puts in place of a shim has its own reason. */
static void what_is_refused_is_refused_for_its_reason(void **state)
{
    (void)state;
    static const struct {
        size_t byte;
        uint8_t xor ;
        enum relay_leg_result result;
    } damage[] = {
        {0, 0x01, RELAY_LEG_VERSION},                                  /* magic */
        {1, 0x20, RELAY_LEG_VERSION},                                  /* version */
        {15, 0x01, RELAY_LEG_VERSION},                                 /* spare byte */
        {14, 0x01, RELAY_LEG_UNKNOWN_KEY}, {2, 0x01, RELAY_LEG_SHORT}, /* 256 bytes more */
        {4, 0x01, RELAY_LEG_TAG},                                      /* instance */
        {8, 0x01, RELAY_LEG_TAG},                                      /* session */
        {12, 0x01, RELAY_LEG_TAG},                                     /* port */
        {31, 0x01, RELAY_LEG_TAG},                                     /* address */
        {32, 0x01, RELAY_LEG_TAG},         {39, 0x80, RELAY_LEG_TAG},
    };
    for (size_t i = 0; i < COUNT_OF(damage); i++) {
        struct world w;
        struct relay_leg_uplink uplink;
        open_world(&w, 0, INSTANCE_ID);
        w.packet[damage[i].byte] ^= damage[i].xor ;
        assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink),
                         damage[i].result);
        key_ring_destroy(w.ring);
    }
}

static void a_packet_cut_anywhere_is_short(void **state)
{
    (void)state;
    struct world w;
    struct relay_leg_uplink uplink;
    open_world(&w, 0, INSTANCE_ID);
    for (size_t len = 0; len < RELAY_SHIM_BYTES + DATAGRAM_BYTES; len++) {
        w.received.len = len;
        assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink),
                         RELAY_LEG_SHORT);
    }
    key_ring_destroy(w.ring);
}

static void the_longest_datagram_is_taken_and_one_byte_more_refused(void **state)
{
    (void)state;
    static uint8_t packet[RELAY_SHIM_BYTES + RELAY_LEG_DATAGRAM_BYTES_MAX + 1];
    for (size_t len = RELAY_LEG_DATAGRAM_BYTES_MAX; len <= RELAY_LEG_DATAGRAM_BYTES_MAX + 1;
         len++) {
        struct world w;
        struct relay_leg_uplink uplink;
        open_world(&w, 0, INSTANCE_ID);
        struct relay_shim shim = shim_with(0, INSTANCE_ID);
        shim.datagram_bytes = (uint16_t)len;
        relay_shim_write(w.ring, &shim, packet);
        const struct udp_arrival received = {packet, RELAY_SHIM_BYTES + len, w.received.from};
        assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &received, &uplink),
                         len > RELAY_LEG_DATAGRAM_BYTES_MAX ? RELAY_LEG_TOO_LONG : RELAY_LEG_OK);
        key_ring_destroy(w.ring);
    }
}

static void another_instances_datagram_is_refused_after_its_tag_was_good(void **state)
{
    (void)state;
    struct world w;
    struct relay_leg_uplink uplink;
    open_world(&w, 0, INSTANCE_ID + 1);
    assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink),
                     RELAY_LEG_INSTANCE);
    w.packet[39] ^= 1;
    assert_int_equal(relay_leg_unwrap(w.ring, INSTANCE_ID, &w.received, &uplink), RELAY_LEG_TAG);
    key_ring_destroy(w.ring);
}

static void what_is_wrapped_can_be_read_and_goes_to_the_relay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct world w;
        struct relay_shim shim;
        uint8_t memory[OUTBOX_HEADROOM_BYTES + OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES] = {0};
        open_world(&w, 0, INSTANCE_ID);
        const bool is_announcement = (i & 1) != 0;
        const struct outbox_datagram datagram = {
            .path = {shim_with(0, 0).client, w.received.from, (i & 2) != 0},
            .session_id = SESSION_ID,
            .is_announcement = is_announcement,
            .len = is_announcement ? 0 : DATAGRAM_BYTES,
            .data = memory + OUTBOX_HEADROOM_BYTES,
        };
        const struct udp_packet packet = relay_leg_wrap(w.ring, INSTANCE_ID, &datagram);
        assert_true(net_addr_equal(&packet.to, &w.received.from));
        assert_int_equal(packet.bytes.len, RELAY_SHIM_BYTES + datagram.len);
        assert_ptr_equal(packet.bytes.data, datagram.data - RELAY_SHIM_BYTES);
        /* A train may fill it up to there. */
        assert_ptr_equal(packet.bytes.data + packet.bytes.cap, memory + sizeof(memory));
        const struct bytes_view bytes = bytes_view_of(packet.bytes.data, packet.bytes.len);
        assert_int_equal(relay_shim_read(w.ring, bytes, &shim), RELAY_SHIM_OK);
        assert_int_equal(shim.flags, RELAY_SHIM_DOWNLINK | (i & 1) * RELAY_SHIM_ANNOUNCEMENT |
                                         (i >> 1) * RELAY_SHIM_TCP);
        assert_int_equal(shim.datagram_bytes, datagram.len);
        assert_int_equal(shim.instance_id, INSTANCE_ID);
        assert_int_equal(shim.session_id, SESSION_ID);
        assert_true(net_addr_equal(&shim.client, &datagram.path.client));
        key_ring_destroy(w.ring);
    }
}

static void each_result_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < RELAY_LEG_RESULT_COUNT; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(relay_leg_result_name((enum relay_leg_result)i),
                                    relay_leg_result_name((enum relay_leg_result)k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shim_comes_off_and_says_whose_and_from_where),
        cmocka_unit_test(padding_behind_the_datagram_is_not_part_of_it),
        cmocka_unit_test(each_flag_but_tcp_is_not_for_a_transceiver),
        cmocka_unit_test(what_is_refused_is_refused_for_its_reason),
        cmocka_unit_test(a_packet_cut_anywhere_is_short),
        cmocka_unit_test(the_longest_datagram_is_taken_and_one_byte_more_refused),
        cmocka_unit_test(another_instances_datagram_is_refused_after_its_tag_was_good),
        cmocka_unit_test(what_is_wrapped_can_be_read_and_goes_to_the_relay),
        cmocka_unit_test(each_result_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
