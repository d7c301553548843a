/* dtls_record_test.c - the records of a datagram are read one by one, and none beyond its end */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_record.h"

/* RFC 6347 s.4.1: type, version, epoch, sequence number of 48 bits, length, fragment. */
static const uint8_t two_records[] = {0x16, 0xfe, 0xfd, 0x01, 0x02, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5,
                                      0xa6, 0x00, 0x03, 1,    2,    3,    0x14, 0xfe, 0xff, 0x00,
                                      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01, 1};

#define FIRST_BYTES 16

static void a_record_is_read_field_by_field(void **state)
{
    (void)state;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(two_records, sizeof(two_records)));
    assert_true(dtls_record_read(&r, &record));
    assert_int_equal(record.content_type, DTLS_CONTENT_HANDSHAKE);
    assert_int_equal(record.version, 0xfefd);
    assert_int_equal(record.epoch, 0x0102);
    assert_true(record.sequence_number == UINT64_C(0xa1a2a3a4a5a6));
    assert_ptr_equal(record.fragment.data, two_records + DTLS_RECORD_HEADER_BYTES);
    assert_int_equal(record.fragment.len, 3);
    assert_ptr_equal(record.whole.data, two_records);
    assert_int_equal(record.whole.len, FIRST_BYTES);
}

static void the_next_record_begins_where_the_last_one_ends(void **state)
{
    (void)state;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(two_records, sizeof(two_records)));
    assert_true(dtls_record_read(&r, &record));
    assert_true(dtls_record_read(&r, &record));
    assert_int_equal(record.content_type, DTLS_CONTENT_CHANGE_CIPHER_SPEC);
    assert_int_equal(record.version, 0xfeff);
    assert_int_equal(record.epoch, 0);
    assert_true(record.sequence_number == 7);
    assert_ptr_equal(record.whole.data, two_records + FIRST_BYTES);
    assert_int_equal(record.whole.len, sizeof(two_records) - FIRST_BYTES);
    assert_false(dtls_record_read(&r, &record));
    assert_false(r.failed);
}

static void a_datagram_cut_anywhere_gives_only_its_whole_records(void **state)
{
    (void)state;
    for (size_t len = 0; len <= sizeof(two_records); len++) {
        struct byte_reader r;
        struct dtls_record record;
        size_t whole = 0;
        byte_reader_init(&r, bytes_view_of(two_records, len));
        while (dtls_record_read(&r, &record)) {
            whole++;
        }
        const size_t expected =
            (len >= FIRST_BYTES ? 1U : 0U) + (len == sizeof(two_records) ? 1U : 0U);
        if (whole != expected) {
            fail_msg("%zu records in %zu bytes", whole, len);
        }
    }
}

static void a_length_counts_exactly_what_is_left(void **state)
{
    (void)state;
    static const struct {
        uint16_t claimed;
        size_t left;
        bool is_read;
    } length_case[] = {
        {0, 0, true},    {1, 0, false},   {20, 21, true},     {20, 20, true},
        {20, 19, false}, {256, 1, false}, {65535, 24, false},
    };
    for (size_t i = 0; i < COUNT_OF(length_case); i++) {
        uint8_t datagram[DTLS_RECORD_HEADER_BYTES + 24] = {23, 0xfe, 0xfd};
        struct byte_reader r;
        struct dtls_record record;
        datagram[11] = (uint8_t)(length_case[i].claimed >> 8);
        datagram[12] = (uint8_t)length_case[i].claimed;
        byte_reader_init(&r,
                         bytes_view_of(datagram, DTLS_RECORD_HEADER_BYTES + length_case[i].left));
        if (dtls_record_read(&r, &record) != length_case[i].is_read) {
            fail_msg("a length of %u with %zu left", length_case[i].claimed, length_case[i].left);
        }
        if (length_case[i].is_read) {
            assert_int_equal(record.fragment.len, length_case[i].claimed);
            assert_int_equal(byte_reader_left(&r), length_case[i].left - length_case[i].claimed);
        }
    }
}

static void every_bit_of_the_sequence_number_counts(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 48; bit++) {
        uint8_t datagram[DTLS_RECORD_HEADER_BYTES] = {22, 0xfe, 0xfd};
        struct byte_reader r;
        struct dtls_record record;
        datagram[10 - bit / 8] = (uint8_t)(1U << bit % 8);
        byte_reader_init(&r, bytes_view_of(datagram, sizeof(datagram)));
        assert_true(dtls_record_read(&r, &record));
        assert_true(record.sequence_number == UINT64_C(1) << bit);
        assert_int_equal(record.epoch, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_field_by_field),
        cmocka_unit_test(the_next_record_begins_where_the_last_one_ends),
        cmocka_unit_test(a_datagram_cut_anywhere_gives_only_its_whole_records),
        cmocka_unit_test(a_length_counts_exactly_what_is_left),
        cmocka_unit_test(every_bit_of_the_sequence_number_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
