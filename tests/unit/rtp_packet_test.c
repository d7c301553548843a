/* rtp_packet_test.c - no field of a datagram is believed, and every one that fits is found */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtp_packet.h"

#include <stdlib.h>

/* V=2, P, X, CC=2; M, PT 111; sequence 0x1234; extension 0xBEDE of 2 words; 3 bytes of payload and
 * 5 of padding. Elements: id 1 (1 byte), padding, id 4 (3 bytes), padding. */
static const uint8_t full_packet[] = {
    0xb2, 0xef, 0x12, 0x34, 0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x03, 0x04, /* header */
    0x0a, 0x0b, 0x0c, 0x0d, 0x1a, 0x1b, 0x1c, 0x1d,                         /* CSRC */
    0xbe, 0xde, 0x00, 0x02, 0x10, 0x7f, 0x00, 0x42, 'm',  'i',  'd',  0x00, /* extension */
    0x01, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x05,                         /* payload */
};
#define FULL_HEADER_BYTES 32

/* Parses a heap copy of exactly len bytes, so that a sanitizer sees the first byte beyond. */
static enum rtp_packet_result parse_copy(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, data, len);
    struct rtp_packet p;
    const enum rtp_packet_result result = rtp_packet_parse(bytes_view_of(copy, len), &p);
    free(copy);
    return result;
}

static void every_field_of_a_full_packet_is_read(void **state)
{
    (void)state;
    struct rtp_packet p;
    const struct bytes_view datagram = bytes_view_of(full_packet, sizeof(full_packet));
    assert_int_equal(rtp_packet_parse(datagram, &p), RTP_PACKET_OK);
    assert_true(p.marker);
    assert_int_equal(p.payload_type, 111);
    assert_int_equal(p.sequence_number, 0x1234);
    assert_int_equal(p.timestamp, 0xdeadbeef);
    assert_int_equal(p.ssrc, 0x01020304);
    assert_int_equal(p.payload.len, 3);
    assert_ptr_equal(p.payload.data, full_packet + FULL_HEADER_BYTES);
    assert_int_equal(rtp_packet_header_bytes(datagram), FULL_HEADER_BYTES);
}

static void a_packet_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof(full_packet); len++) {
        const enum rtp_packet_result result = parse_copy(full_packet, len);
        const size_t header_bytes = rtp_packet_header_bytes(bytes_view_of(full_packet, len));
        if (len < FULL_HEADER_BYTES) {
            assert_int_equal(result, RTP_PACKET_TRUNCATED);
            assert_int_equal(header_bytes, 0);
        } else {
            /* The last byte left is taken for the padding count: 1, 2, 3 just fit, 0 is none. */
            const bool counts = len > FULL_HEADER_BYTES && full_packet[len - 1] != 0;
            assert_int_equal(result, counts ? RTP_PACKET_OK : RTP_PACKET_PADDING);
            assert_int_equal(header_bytes, FULL_HEADER_BYTES);
        }
    }
}

static void the_padding_count_must_lie_inside_the_payload(void **state)
{
    (void)state;
    uint8_t data[RTP_PACKET_HEADER_BYTES + 4] = {0xa0, 111};
    static const struct {
        uint8_t count;
        enum rtp_packet_result result;
        size_t payload_bytes;
    } padding_case[] = {
        {0, RTP_PACKET_PADDING, 0}, {1, RTP_PACKET_OK, 3},        {4, RTP_PACKET_OK, 0},
        {5, RTP_PACKET_PADDING, 0}, {255, RTP_PACKET_PADDING, 0},
    };
    for (size_t i = 0; i < COUNT_OF(padding_case); i++) {
        data[sizeof(data) - 1] = padding_case[i].count;
        struct rtp_packet p;
        assert_int_equal(rtp_packet_parse(bytes_view_of(data, sizeof(data)), &p),
                         padding_case[i].result);
        if (padding_case[i].result == RTP_PACKET_OK) {
            assert_int_equal(p.payload.len, padding_case[i].payload_bytes);
        }
    }
}

static void only_version_2_is_rtp(void **state)
{
    (void)state;
    uint8_t data[RTP_PACKET_HEADER_BYTES] = {0};
    for (unsigned version = 0; version < 4; version++) {
        data[0] = (uint8_t)(version << 6);
        assert_int_equal(parse_copy(data, sizeof(data)),
                         version == 2 ? RTP_PACKET_OK : RTP_PACKET_VERSION);
        assert_int_equal(rtp_packet_header_bytes(bytes_view_of(data, sizeof(data))),
                         version == 2 ? sizeof(data) : 0);
    }
}

static void csrc_count_and_extension_length_must_fit(void **state)
{
    (void)state;
    uint8_t data[RTP_PACKET_HEADER_BYTES + 60 + 4 + 8] = {0x8f};
    assert_int_equal(parse_copy(data, RTP_PACKET_HEADER_BYTES + 60), RTP_PACKET_OK);
    assert_int_equal(parse_copy(data, RTP_PACKET_HEADER_BYTES + 59), RTP_PACKET_TRUNCATED);
    data[0] = 0x9f;
    data[RTP_PACKET_HEADER_BYTES + 60 + 3] = 2; /* words */
    assert_int_equal(parse_copy(data, sizeof(data)), RTP_PACKET_OK);
    assert_int_equal(parse_copy(data, sizeof(data) - 1), RTP_PACKET_TRUNCATED);
    data[RTP_PACKET_HEADER_BYTES + 60 + 2] = 0xff;
    assert_int_equal(parse_copy(data, sizeof(data)), RTP_PACKET_TRUNCATED);
}

static void an_element_is_found_in_both_forms_of_extension(void **state)
{
    (void)state;
    static const uint8_t one_byte[] = {0x10, 'a', 0x00, 0x00, 0x42, 'm', 'i', 'd'};
    static const uint8_t two_byte[] = {1, 1, 'a', 0, 4, 3, 'm', 'i', 'd', 7, 0, 0};
    const struct rtp_packet form[] = {
        {.extension_profile = 0xbede, .extension = {one_byte, sizeof(one_byte)}},
        {.extension_profile = 0x1000, .extension = {two_byte, sizeof(two_byte)}},
        {.extension_profile = 0x100f, .extension = {two_byte, sizeof(two_byte)}},
    };
    for (size_t i = 0; i < COUNT_OF(form); i++) {
        struct bytes_view value;
        assert_true(rtp_packet_find_extension(&form[i], 1, &value));
        assert_true(bytes_equal(value, bytes_view_of_text("a")));
        assert_true(rtp_packet_find_extension(&form[i], 4, &value));
        assert_true(bytes_equal(value, bytes_view_of_text("mid")));
        assert_false(rtp_packet_find_extension(&form[i], 2, &value));
    }
    struct bytes_view value;
    assert_true(rtp_packet_find_extension(&form[1], 7, &value));
    assert_int_equal(value.len, 0);
}

static void reserved_and_cut_elements_end_the_search(void **state)
{
    (void)state;
    /* Each hides an element with id 1 behind something that must end the list (RFC 8285 s.4.1.2),
     * or is cut short. */
    static const struct {
        uint16_t profile;
        uint8_t data[8];
        size_t len;
    } list[] = {
        {0xbede, {0xf0, 'x', 0x10, 'a'}, 4},      /* id 15 */
        {0xbede, {0x01, 'x', 'x', 0x10, 'a'}, 5}, /* id 0 with a length */
        {0xbede, {0x12, 'a', 'b'}, 3},            /* one byte short */
        {0xbede, {0x10}, 1},
        {0x1000, {1}, 1},
        {0x1000, {1, 2, 'a'}, 3},
        {0x1010, {1, 1, 'a'}, 3}, /* not a profile of RFC 8285 */
        {0x0000, {0x10, 'a'}, 2},
    };
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        uint8_t *copy = malloc(list[i].len);
        assert_non_null(copy);
        memcpy(copy, list[i].data, list[i].len);
        const struct rtp_packet p = {.extension_profile = list[i].profile,
                                     .extension = {copy, list[i].len}};
        struct bytes_view value;
        assert_false(rtp_packet_find_extension(&p, 1, &value));
        free(copy);
    }
}

static void a_written_header_reads_back(void **state)
{
    (void)state;
    const struct rtp_packet p = {.marker = true,
                                 .payload_type = 127,
                                 .sequence_number = 0xfffe,
                                 .timestamp = 0x80000001,
                                 .ssrc = 0xcafebabe};
    uint8_t data[RTP_PACKET_HEADER_BYTES];
    rtp_packet_write_header(&p, data);
    struct rtp_packet read;
    assert_int_equal(rtp_packet_parse(bytes_view_of(data, sizeof(data)), &read), RTP_PACKET_OK);
    assert_true(read.marker);
    assert_int_equal(read.payload_type, 127);
    assert_int_equal(read.sequence_number, 0xfffe);
    assert_int_equal(read.timestamp, 0x80000001);
    assert_int_equal(read.ssrc, 0xcafebabe);
    assert_int_equal(read.payload.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_full_packet_is_read),
        cmocka_unit_test(a_packet_cut_anywhere_is_refused),
        cmocka_unit_test(the_padding_count_must_lie_inside_the_payload),
        cmocka_unit_test(only_version_2_is_rtp),
        cmocka_unit_test(csrc_count_and_extension_length_must_fit),
        cmocka_unit_test(an_element_is_found_in_both_forms_of_extension),
        cmocka_unit_test(reserved_and_cut_elements_end_the_search),
        cmocka_unit_test(a_written_header_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
