/* crc32c_test.c - the checksum, by instruction and by table */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/transport/sctp/crc32c.h"

static uint32_t of(const void *data, size_t len)
{
    return crc32c_update(CRC32C_BEGIN, bytes_view_of(data, len));
}

static uint32_t by_table(const void *data, size_t len)
{
    return crc32c_update_by_table(CRC32C_BEGIN, bytes_view_of(data, len));
}

/* One bit at a time, as the polynomial says. */
static uint32_t by_hand(const uint8_t *data, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    return ~crc;
}

/* RFC 3720 appendix B.4: the same CRC, written there with its bytes in order. */
static void the_vectors_of_iscsi_hold(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    uint8_t rising[32];
    uint8_t falling[32];
    for (size_t i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = (uint8_t)i;
        falling[i] = (uint8_t)(31 - i);
    }
    const struct {
        const void *data;
        size_t len;
        uint32_t crc;
    } vector[] = {
        {zeros, 32, 0x8a9136aa},
        {ones, 32, 0x62a8ab43},
        {rising, 32, 0x46dd794e},
        {falling, 32, 0x113fdb5c},
        {"", 0, 0},
        {"a", 1, 0xc1d04330},
        {"123456789", 9, 0xe3069283},
    };
    for (size_t i = 0; i < COUNT_OF(vector); i++) {
        assert_int_equal(of(vector[i].data, vector[i].len), vector[i].crc);
        assert_int_equal(by_table(vector[i].data, vector[i].len), vector[i].crc);
    }
}

static void instruction_table_and_polynomial_agree_at_every_length_and_offset(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct random_generator g;
    random_generator_init(&g, 7);
    random_fill(random_seeded(&g), bytes, sizeof(bytes));
    for (size_t offset = 0; offset < 9; offset++) {
        for (size_t len = 0; len + offset <= sizeof(bytes); len++) {
            const uint32_t crc = by_hand(bytes + offset, len);
            assert_int_equal(of(bytes + offset, len), crc);
            assert_int_equal(by_table(bytes + offset, len), crc);
        }
    }
}

static void pieces_make_the_same_sum_as_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 37);
    }
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        const struct bytes_view behind = bytes_view_of(bytes + cut, sizeof(bytes) - cut);
        assert_int_equal(crc32c_update(of(bytes, cut), behind), of(bytes, sizeof(bytes)));
        assert_int_equal(crc32c_update_by_table(by_table(bytes, cut), behind),
                         of(bytes, sizeof(bytes)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_iscsi_hold),
        cmocka_unit_test(instruction_table_and_polynomial_agree_at_every_length_and_offset),
        cmocka_unit_test(pieces_make_the_same_sum_as_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
