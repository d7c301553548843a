/* red_test.c - RFC 2198: blocks come out as they went in, and a lying length has its own name */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/red.h"

#include <stdlib.h>

#define RED  63
#define OPUS 111

#define VIEW(text) bytes_view_of(text, sizeof(text) - 1)

static void assert_block(const struct red_block *b, uint8_t payload_type, unsigned offset,
                         const char *text)
{
    assert_int_equal(b->payload_type, payload_type);
    assert_int_equal(b->timestamp_offset, offset);
    assert_true(bytes_equal(b->data, bytes_view_of_text(text)));
}

/* RFC 2198 s.5: a DVI4 primary (5) with one LPC redundant block (7) of 14 bytes; its offset there
 * is 160. */
static void the_example_of_the_rfc_is_read(void **state)
{
    (void)state;
    static const uint8_t headers[] = {0x87, 0x02, 0x80, 0x0e, 0x05};
    uint8_t payload[sizeof(headers) + 14 + 84];
    memcpy(payload, headers, sizeof(headers));
    memset(payload + sizeof(headers), 'l', 14);
    memset(payload + sizeof(headers) + 14, 'd', 84);
    struct red_packet p;
    assert_int_equal(red_parse(bytes_view_of(payload, sizeof(payload)), RED, &p), RED_OK);
    assert_int_equal(p.block_count, 2);
    assert_block(&p.block[0], 7, 160, "llllllllllllll");
    assert_int_equal(p.block[1].payload_type, 5);
    assert_int_equal(p.block[1].timestamp_offset, 0);
    assert_ptr_equal(p.block[1].data.data, payload + sizeof(headers) + 14);
    assert_int_equal(p.block[1].data.len, 84);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static uint8_t longest[RED_BLOCK_BYTES_MAX];
    const struct {
        uint16_t offset;
        struct bytes_view redundant;
        struct bytes_view primary;
        size_t blocks;
    } c[] = {
        {960, VIEW("old"), VIEW("new"), 2},
        {RED_TIMESTAMP_OFFSET_MAX, bytes_view_of(longest, sizeof(longest)), VIEW("n"), 2},
        {960, VIEW(""), VIEW("first"), 1},
        {960, VIEW("old"), VIEW(""), 2},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        uint8_t out[1500];
        const struct red_block old = {OPUS, c[i].offset, c[i].redundant};
        const struct red_block new = {OPUS, 0, c[i].primary};
        const size_t len = red_write(&old, &new, out, sizeof(out));
        assert_int_equal(len, (c[i].blocks - 1) * 4 + 1 + c[i].redundant.len + c[i].primary.len);
        struct red_packet p;
        assert_int_equal(red_parse(bytes_view_of(out, len), RED, &p), RED_OK);
        assert_int_equal(p.block_count, c[i].blocks);
        const struct red_block *last = &p.block[p.block_count - 1];
        assert_true(bytes_equal(last->data, c[i].primary));
        assert_int_equal(last->payload_type, OPUS);
        if (c[i].blocks == 2) {
            assert_true(bytes_equal(p.block[0].data, c[i].redundant));
            assert_int_equal(p.block[0].timestamp_offset, c[i].offset);
        }
        /* Exactly its length is room enough, one byte less is not. */
        assert_int_equal(red_write(&old, &new, out, len), len);
        assert_int_equal(red_write(&old, &new, out, len - 1), 0);
    }
}

static void what_the_header_can_not_say_is_not_written(void **state)
{
    (void)state;
    static uint8_t data[RED_BLOCK_BYTES_MAX + 1];
    uint8_t out[2 * sizeof(data)];
    const struct red_block primary = {OPUS, 0, VIEW("new")};
    const struct red_block too_old = {OPUS, RED_TIMESTAMP_OFFSET_MAX + 1, VIEW("old")};
    const struct red_block too_long = {OPUS, 960, bytes_view_of(data, sizeof(data))};
    assert_int_equal(red_write(&too_old, &primary, out, sizeof(out)), 0);
    assert_int_equal(red_write(&too_long, &primary, out, sizeof(out)), 0);
}

static void a_malformed_payload_has_a_reason(void **state)
{
    (void)state;
    static const struct {
        uint8_t data[24];
        size_t len;
        enum red_result result;
    } c[] = {
        {{0}, 0, RED_TRUNCATED},
        {{0xef, 0x0f, 0x00, 0x01}, 4, RED_TRUNCATED},             /* no last header */
        {{0xef, 0x0f, 0x00, 0x02, 0x6f, 1, 2, 3}, 8, RED_OK},     /* 2 + 1 bytes */
        {{0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2, 3}, 8, RED_OK},     /* 3, an empty primary */
        {{0xef, 0x0f, 0x00, 0x04, 0x6f, 1, 2, 3}, 8, RED_LENGTH}, /* 4 of 3 */
        {{0xef, 0x0f, 0x03, 0xff, 0x6f, 1, 2, 3}, 8, RED_LENGTH}, /* 1,023 of 3 */
        {{0x6f, 1}, 2, RED_OK},                                   /* the primary alone */
        {{0x3f, 0x6f, 1}, 3, RED_NESTED},                         /* RED in RED */
        {{0xbf, 0x0f, 0x00, 0x01, 0x6f, 1, 2}, 7, RED_NESTED},    /* and in an older block */
        {{0xef, 0, 0, 0, 0xef, 0, 0, 0, 0xef, 0, 0, 0, 0x6f, 1}, 14, RED_OK}, /* four blocks */
        {{0xef, 0, 0, 0, 0xef, 0, 0, 0, 0xef, 0, 0, 0, 0xef, 0, 0, 0, 0x6f, 1}, 18, RED_BLOCKS},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct red_packet p;
        const enum red_result result = red_parse(bytes_view_of(c[i].data, c[i].len), RED, &p);
        if (result != c[i].result) {
            fail_msg("case %zu: %d, not %d", i, result, c[i].result);
        }
    }
}

static void cut_anywhere_it_is_read_within_its_bytes(void **state)
{
    (void)state;
    static const uint8_t whole[] = {0xef, 0x0f, 0x00, 0x03, 0xef, 0x07, 0x80, 0x02,
                                    0x6f, 1,    2,    3,    4,    5,    6,    7};
    enum { HEADERS = 9, REDUNDANT = 5 };
    for (size_t len = 0; len <= sizeof(whole); len++) {
        uint8_t *copy = malloc(len + 1); /* one past, so that 0 is a block too */
        assert_non_null(copy);
        memcpy(copy, whole, len);
        struct red_packet p;
        enum red_result expected = RED_OK;
        if (len < HEADERS) {
            expected = RED_TRUNCATED;
        } else if (len < HEADERS + REDUNDANT) {
            expected = RED_LENGTH;
        }
        assert_int_equal(red_parse(bytes_view_of(copy, len), RED, &p), expected);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_rfc_is_read),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_the_header_can_not_say_is_not_written),
        cmocka_unit_test(a_malformed_payload_has_a_reason),
        cmocka_unit_test(cut_anywhere_it_is_read_within_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
