/* relay_shim_test.c - a shim is taken whole, of our version and with a known key's tag, or not */
#include "tests/testing.h"

#include "common/routing/relay_shim.h"

#define DATAGRAM_BYTES 24

static struct key_ring *ring_of(uint8_t key_id, uint8_t fill)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    memset(secret, fill, sizeof(secret));
    struct key_ring *ring = key_ring_from_secret(key_id, secret);
    assert_non_null(ring);
    return ring;
}

static struct relay_shim sample(void)
{
    struct relay_shim shim = {
        .flags = RELAY_SHIM_TCP,
        .datagram_bytes = DATAGRAM_BYTES,
        .instance_id = 0x11223344,
        .session_id = 0x55667788,
    };
    assert_true(net_addr_parse("[2001:db8::99]:3478", &shim.client));
    return shim;
}

struct packet {
    uint8_t bytes[RELAY_SHIM_BYTES + DATAGRAM_BYTES];
};

static struct packet packet_of(struct key_ring *ring)
{
    struct packet p = {0};
    const struct relay_shim shim = sample();
    relay_shim_write(ring, &shim, p.bytes);
    return p;
}

static enum relay_shim_result read_packet(struct key_ring *ring, const uint8_t *bytes, size_t len)
{
    struct relay_shim out;
    return relay_shim_read(ring, bytes_view_of(bytes, len), &out);
}

static void every_field_survives_a_round_trip(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(63, 1);
    static const char *const address[] = {"203.0.113.77:51870", "[2001:db8::1]:65535", "0.0.0.0:0"};
    for (size_t i = 0; i < COUNT_OF(address); i++) {
        for (uint8_t flags = 0; flags < 16; flags++) {
            struct relay_shim shim = sample();
            struct relay_shim out = {0};
            uint8_t bytes[RELAY_SHIM_BYTES + DATAGRAM_BYTES] = {0};
            shim.flags = flags;
            assert_true(net_addr_parse(address[i], &shim.client));
            relay_shim_write(ring, &shim, bytes);
            assert_int_equal(relay_shim_read(ring, bytes_view_of(bytes, sizeof(bytes)), &out),
                             RELAY_SHIM_OK);
            assert_int_equal(out.flags, flags);
            assert_int_equal(out.key_id, 63);
            assert_int_equal(out.datagram_bytes, DATAGRAM_BYTES);
            assert_int_equal(out.instance_id, shim.instance_id);
            assert_int_equal(out.session_id, shim.session_id);
            assert_true(net_addr_equal(&out.client, &shim.client));
        }
    }
    key_ring_destroy(ring);
}

static void a_packet_cut_at_any_byte_is_short(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    for (uint16_t datagram_bytes = 0; datagram_bytes <= DATAGRAM_BYTES; datagram_bytes++) {
        struct relay_shim shim = sample();
        uint8_t bytes[RELAY_SHIM_BYTES + DATAGRAM_BYTES] = {0};
        const size_t whole = RELAY_SHIM_BYTES + (size_t)datagram_bytes;
        shim.datagram_bytes = datagram_bytes;
        relay_shim_write(ring, &shim, bytes);
        for (size_t len = 0; len <= whole; len++) {
            uint8_t *cut = test_malloc(len + 1); /* the sanitizer sees a read behind the cut */
            memcpy(cut, bytes, len);
            assert_int_equal(read_packet(ring, cut, len),
                             len < whole ? RELAY_SHIM_SHORT : RELAY_SHIM_OK);
            test_free(cut);
        }
    }
    key_ring_destroy(ring);
}

static void padding_behind_the_datagram_is_ignored(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    const struct packet p = packet_of(ring);
    uint8_t padded[sizeof(p.bytes) + 100] = {0};
    memcpy(padded, p.bytes, sizeof(p.bytes));
    assert_int_equal(read_packet(ring, padded, sizeof(padded)), RELAY_SHIM_OK);
    key_ring_destroy(ring);
}

static enum relay_shim_result expected_of_flip(size_t byte, unsigned bit)
{
    const bool is_flag = byte == 1 && bit < 4;
    if (byte == 0 || (byte == 1 && !is_flag) || byte == 15) {
        return RELAY_SHIM_VERSION;
    }
    /* datagram_bytes is 24: any higher bit, and bit 0 to 2, make it larger than the packet. */
    if (byte == 2 || (byte == 3 && (DATAGRAM_BYTES ^ 1u << bit) > DATAGRAM_BYTES)) {
        return RELAY_SHIM_SHORT;
    }
    return byte == 14 ? RELAY_SHIM_UNKNOWN_KEY : RELAY_SHIM_TAG;
}

static void each_flipped_bit_of_the_header_is_refused_for_its_reason(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    struct packet p = packet_of(ring);
    for (size_t byte = 0; byte < RELAY_SHIM_BYTES; byte++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            p.bytes[byte] ^= (uint8_t)(1u << bit);
            assert_int_equal(read_packet(ring, p.bytes, sizeof(p.bytes)),
                             expected_of_flip(byte, bit));
            p.bytes[byte] ^= (uint8_t)(1u << bit);
        }
    }
    key_ring_destroy(ring);
}

static void a_shim_of_another_secret_has_a_wrong_tag(void **state)
{
    (void)state;
    struct key_ring *ours = ring_of(7, 1);
    struct key_ring *other = ring_of(7, 2);
    const struct packet p = packet_of(other);
    assert_int_equal(read_packet(ours, p.bytes, sizeof(p.bytes)), RELAY_SHIM_TAG);
    key_ring_destroy(ours);
    key_ring_destroy(other);
}

static void the_tag_does_not_cover_the_datagram(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    struct packet p = packet_of(ring);
    p.bytes[RELAY_SHIM_BYTES] ^= 1;
    assert_int_equal(read_packet(ring, p.bytes, sizeof(p.bytes)), RELAY_SHIM_OK);
    key_ring_destroy(ring);
}

static void a_refused_shim_leaves_out_untouched(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    struct packet p = packet_of(ring);
    struct relay_shim out = {.session_id = 42};
    p.bytes[39] ^= 1;
    assert_int_equal(relay_shim_read(ring, bytes_view_of(p.bytes, sizeof(p.bytes)), &out),
                     RELAY_SHIM_TAG);
    assert_int_equal(out.session_id, 42);
    key_ring_destroy(ring);
}

static void the_client_is_peeked_at_without_a_look_at_the_rest(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    struct packet p = packet_of(ring);
    const struct net_addr wanted = sample().client;
    struct net_addr client;
    p.bytes[RELAY_SHIM_BYTES - 1] ^= 1; /* of the tag */
    assert_true(relay_shim_peek_client(bytes_view_of(p.bytes, 32), &client));
    assert_true(net_addr_equal(&client, &wanted));
    for (size_t len = 0; len < 32; len++) {
        assert_false(relay_shim_peek_client(bytes_view_of(p.bytes, len), &client));
    }
    key_ring_destroy(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_is_peeked_at_without_a_look_at_the_rest),
        cmocka_unit_test(every_field_survives_a_round_trip),
        cmocka_unit_test(a_packet_cut_at_any_byte_is_short),
        cmocka_unit_test(padding_behind_the_datagram_is_ignored),
        cmocka_unit_test(each_flipped_bit_of_the_header_is_refused_for_its_reason),
        cmocka_unit_test(a_shim_of_another_secret_has_a_wrong_tag),
        cmocka_unit_test(the_tag_does_not_cover_the_datagram),
        cmocka_unit_test(a_refused_shim_leaves_out_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
