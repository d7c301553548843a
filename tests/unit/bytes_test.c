/* bytes_test.c - readers and writers never pass an end, and a failure sticks */
#include "tests/testing.h"

#include "common/base/bytes.h"

static void a_failed_reader_gives_zeros_for_ever(void **state)
{
    (void)state;
    const uint8_t data[] = {1, 2, 3};
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, sizeof(data)));
    assert_int_equal(byte_reader_u16(&r), 0x0102);
    assert_int_equal(byte_reader_u16(&r), 0);
    assert_true(r.failed);
    assert_int_equal(byte_reader_u8(&r), 0);
    assert_int_equal(byte_reader_left(&r), 0);
}

static void a_writer_writes_whole_values_or_nothing(void **state)
{
    (void)state;
    uint8_t data[4] = {0};
    struct byte_writer w;
    byte_writer_init(&w, data, 3);
    byte_writer_u16(&w, 0x0102);
    byte_writer_u16(&w, 0x0304);
    assert_true(w.failed);
    assert_int_equal(w.len, 2);
    assert_int_equal(data[2], 0);
}

static void integers_survive_a_round_trip_in_both_orders(void **state)
{
    (void)state;
    uint8_t data[64];
    struct byte_writer w;
    byte_writer_init(&w, data, sizeof(data));
    byte_writer_u24(&w, 0xabcdef);
    byte_writer_u64(&w, UINT64_C(0x0102030405060708));
    byte_writer_u32_le(&w, 0xdeadbeef);
    byte_writer_u64_le(&w, UINT64_C(0x1122334455667788));
    byte_writer_u16_le(&w, 0xfffe);
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, w.len));
    assert_int_equal(byte_reader_u24(&r), 0xabcdef);
    assert_int_equal(byte_reader_u64(&r), UINT64_C(0x0102030405060708));
    assert_int_equal(data[11], 0xef);
    assert_int_equal(byte_reader_u32_le(&r), 0xdeadbeef);
    assert_int_equal(byte_reader_u64_le(&r), UINT64_C(0x1122334455667788));
    assert_int_equal(byte_reader_u16_le(&r), 0xfffe);
    assert_false(r.failed);
    assert_int_equal(byte_reader_left(&r), 0);
}

static void hex_refuses_odd_lengths_and_other_characters(void **state)
{
    (void)state;
    uint8_t out[2];
    char text[5];
    assert_true(bytes_from_hex(bytes_view_of_text("a0Ff"), out, 2));
    assert_true(bytes_to_hex(bytes_view_of(out, 2), text, sizeof(text)));
    assert_string_equal(text, "a0ff");
    assert_false(bytes_from_hex(bytes_view_of_text("a0f"), out, 2));
    assert_false(bytes_from_hex(bytes_view_of_text("a0fg"), out, 2));
    assert_false(bytes_to_hex(bytes_view_of(out, 2), text, 4));
}

static void constant_time_compare_sees_every_bit(void **state)
{
    (void)state;
    uint8_t a[20] = {0};
    uint8_t b[20] = {0};
    assert_true(bytes_equal_constant_time(bytes_view_of(a, 20), bytes_view_of(b, 20)));
    assert_false(bytes_equal_constant_time(bytes_view_of(a, 20), bytes_view_of(b, 19)));
    for (size_t bit = 0; bit < 160; bit++) {
        b[bit / 8] = (uint8_t)(1u << bit % 8);
        assert_false(bytes_equal_constant_time(bytes_view_of(a, 20), bytes_view_of(b, 20)));
        b[bit / 8] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_reader_gives_zeros_for_ever),
        cmocka_unit_test(a_writer_writes_whole_values_or_nothing),
        cmocka_unit_test(integers_survive_a_round_trip_in_both_orders),
        cmocka_unit_test(hex_refuses_odd_lengths_and_other_characters),
        cmocka_unit_test(constant_time_compare_sees_every_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
