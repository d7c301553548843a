/* rtcp_packet_test.c - compounds are read packet by packet and no length is believed */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtcp_packet.h"

#include <stdlib.h>

/* SR with two blocks, SDES with two chunks, an unknown feedback packet, BYE with a reason and 4
 * bytes of padding. */
static const uint8_t compound[] = {
    /* SR */
    0x82, 200, 0, 18, 0, 0, 0, 7,                                        /* sender */
    0xe8, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 9, 0, 0, 1, 0, /* info */
    0, 0, 0, 11, 64, 0xff, 0xff, 0xfe, 0, 1, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 0, 1, 0, 0, 0, 0, 0, 12,
    1, 0x00, 0x01, 0x00, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0,
    /* SDES: chunk of 7 with a tool and a cname, chunk of 8 with a cname */
    0x82, 202, 0, 7, 0, 0, 0, 7, 6, 3, 'x', 'y', 'z', 1, 2, 'a', 'b', 0, 0, 0, 0, 0, 0, 8, 1, 4,
    'w', 'x', 'y', 'z', 0, 0,
    /* transport feedback, format 15 */
    0x8f, 205, 0, 2, 0, 0, 0, 7, 0, 0, 0, 11,
    /* BYE of 7 and 8 */
    0xa2, 203, 0, 5, 0, 0, 0, 7, 0, 0, 0, 8, 3, 'b', 'y', 'e', 0, 0, 0, 0, 0, 0, 0, 4};

/* Where each packet of `compound` ends. */
static const size_t packet_end[] = {76, 108, 120, 144};

static void a_compound_is_read_packet_by_packet(void **state)
{
    (void)state;
    assert_int_equal(sizeof(compound), 144);
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(compound, sizeof(compound)));
    struct rtcp_packet p;
    struct rtcp_report_block b;
    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
    assert_int_equal(p.type, RTCP_SENDER_REPORT);
    assert_int_equal(p.ssrc, 7);
    assert_true(p.sender_info.ntp_time == UINT64_C(0xe800000180000000));
    assert_int_equal(p.sender_info.timestamp, 0x1000);
    assert_int_equal(p.sender_info.packet_count, 9);
    assert_int_equal(p.sender_info.octet_count, 256);
    assert_true(rtcp_packet_find_block(&p, 11, &b));
    assert_int_equal(b.fraction_lost, 64);
    assert_int_equal(b.cumulative_lost, -2);
    assert_int_equal(b.highest_sequence, 0x10002);
    assert_int_equal(b.jitter, 3);
    assert_int_equal(b.last_sr, 0x01020304);
    assert_int_equal(b.delay_since_last_sr, 0x10000);
    assert_true(rtcp_packet_find_block(&p, 12, &b));
    assert_int_equal(b.cumulative_lost, 256);
    assert_false(rtcp_packet_find_block(&p, 13, &b));

    struct bytes_view cname;
    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
    assert_true(rtcp_packet_find_cname(&p, 7, &cname));
    assert_true(bytes_equal(cname, bytes_view_of_text("ab")));
    assert_true(rtcp_packet_find_cname(&p, 8, &cname));
    assert_true(bytes_equal(cname, bytes_view_of_text("wxyz")));
    assert_false(rtcp_packet_find_cname(&p, 9, &cname));
    assert_false(rtcp_packet_is_bye_of(&p, 7));

    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
    assert_int_equal(p.type, 205);
    assert_int_equal(p.count, 15);
    assert_false(rtcp_packet_find_block(&p, 11, &b));

    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
    assert_true(rtcp_packet_is_bye_of(&p, 7));
    assert_true(rtcp_packet_is_bye_of(&p, 8));
    assert_false(rtcp_packet_is_bye_of(&p, 9));
    assert_int_equal(p.body.len, 16);
    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_END);
    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_END);
}

/* Reads all of a heap copy of exactly len bytes; returns how many packets were good. */
static size_t read_copy(const uint8_t *data, size_t len, enum rtcp_packet_result *out_last)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, data, len);
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(copy, len));
    struct rtcp_packet p;
    size_t count = 0;
    while ((*out_last = rtcp_packet_next(&r, &p)) == RTCP_PACKET_OK) {
        struct rtcp_report_block b;
        struct bytes_view cname;
        assert_false(rtcp_packet_find_block(&p, 99, &b));
        assert_false(rtcp_packet_find_cname(&p, 99, &cname));
        assert_false(rtcp_packet_is_bye_of(&p, 99));
        count++;
    }
    /* A compound that was damaged once is not read on. */
    assert_int_equal(rtcp_packet_next(&r, &p),
                     *out_last == RTCP_PACKET_END ? RTCP_PACKET_END : RTCP_PACKET_TRUNCATED);
    free(copy);
    return count;
}

static void a_cut_compound_ends_at_the_packet_that_is_cut(void **state)
{
    (void)state;
    size_t whole = 0;
    for (size_t len = 0; len < sizeof(compound); len++) {
        if (len == packet_end[whole]) {
            whole++;
        }
        const bool at_an_end = len == 0 || (whole > 0 && len == packet_end[whole - 1]);
        enum rtcp_packet_result last = RTCP_PACKET_OK;
        assert_int_equal(read_copy(compound, len, &last), whole);
        assert_int_equal(last, at_an_end ? RTCP_PACKET_END : RTCP_PACKET_TRUNCATED);
    }
}

static void a_packet_whose_parts_do_not_fit_is_malformed(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint8_t data[32];
        enum rtcp_packet_result result;
    } packet[] = {
        {8, {0x80, 201, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_END},
        {8, {0x40, 201, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_VERSION},   /* version 1 */
        {8, {0xc0, 201, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_VERSION},   /* version 3 */
        {8, {0x80, 201, 0, 2, 0, 0, 0, 1}, RTCP_PACKET_TRUNCATED}, /* longer than the datagram */
        {4, {0x80, 201, 0, 0}, RTCP_PACKET_TRUNCATED},             /* no SSRC */
        {8, {0x81, 201, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_COUNT},     /* no block */
        {28, {0x80, 200, 0, 6}, RTCP_PACKET_END},                  /* SR: 24 bytes are needed */
        {24, {0x80, 200, 0, 5}, RTCP_PACKET_TRUNCATED},            /* SR: 4 short */
        {28, {0x81, 200, 0, 6}, RTCP_PACKET_COUNT},                /* SR: no block */
        {8, {0x81, 203, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_END},       /* BYE of one */
        {8, {0x82, 203, 0, 1, 0, 0, 0, 1}, RTCP_PACKET_COUNT},     /* BYE of two */
        {4, {0x80, 203, 0, 0}, RTCP_PACKET_END},                   /* BYE of none */
        {4, {0x80, 207, 0, 0}, RTCP_PACKET_END},                   /* unknown and empty */
        {12, {0x81, 205, 0, 2}, RTCP_PACKET_END},                  /* NACK of nothing */
        {8, {0x81, 205, 0, 1}, RTCP_PACKET_TRUNCATED},             /* NACK of nobody */
        {8, {0xa0, 207, 0, 1, 0, 0, 0, 4}, RTCP_PACKET_END},       /* padding is all of it */
        {8, {0xa0, 207, 0, 1, 0, 0, 0, 8}, RTCP_PACKET_PADDING},   /* padding is more */
        {8, {0xa0, 207, 0, 1, 0, 0, 0, 3}, RTCP_PACKET_PADDING},   /* padding not in words */
        {8, {0xa0, 207, 0, 1, 0, 0, 0, 0}, RTCP_PACKET_PADDING},   /* padding of nothing */
        {4, {0xa0, 207, 0, 0}, RTCP_PACKET_PADDING},               /* padding without a byte */
        {12, {0xa0, 207, 0, 1, 0, 0, 0, 4, 0x80, 203, 0, 0}, RTCP_PACKET_PADDING}, /* not last */
    };
    for (size_t i = 0; i < COUNT_OF(packet); i++) {
        enum rtcp_packet_result last = RTCP_PACKET_OK;
        (void)read_copy(packet[i].data, packet[i].len, &last);
        assert_int_equal(last, packet[i].result);
    }
}

/* RFC 4585 s.6.2.1: sender 7, media 11, packet 0x1234 and the 1st and 16th behind it, packet 5. */
static void a_nack_lists_the_lost_packets_of_one_ssrc(void **state)
{
    (void)state;
    static const uint8_t data[] = {0x81, 205, 0,    4,    0,    0, 0, 7, 0, 0,
                                   0,    11,  0x12, 0x34, 0x80, 1, 0, 5, 0, 0};
    struct byte_reader r;
    struct byte_reader list;
    struct rtcp_packet p;
    struct rtcp_nack nack;
    byte_reader_init(&r, bytes_view_of(data, sizeof(data)));
    assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
    assert_int_equal(p.ssrc, 7);
    assert_false(rtcp_packet_find_nacks(&p, 7, &list));
    assert_true(rtcp_packet_find_nacks(&p, 11, &list));
    assert_true(rtcp_packet_next_nack(&list, &nack));
    assert_int_equal(nack.sequence_number, 0x1234);
    assert_int_equal(nack.following, 0x8001);
    assert_true(rtcp_packet_next_nack(&list, &nack));
    assert_int_equal(nack.sequence_number, 5);
    assert_int_equal(nack.following, 0);
    assert_false(rtcp_packet_next_nack(&list, &nack));
    p.count = 15; /* transport-wide congestion control has another list */
    assert_false(rtcp_packet_find_nacks(&p, 11, &list));
    p.count = RTCP_FORMAT_NACK;
    p.type = 206;
    assert_false(rtcp_packet_find_nacks(&p, 11, &list));
}

static void items_of_a_description_must_fit_their_packet(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint8_t data[16];
        bool is_found;
    } description[] = {
        {12, {0x81, 202, 0, 2, 0, 0, 0, 9, 1, 1, 'x', 0}, true},
        {12, {0x81, 202, 0, 2, 0, 0, 0, 9, 1, 2, 'x', 0}, false},   /* the value takes the end */
        {12, {0x81, 202, 0, 2, 0, 0, 0, 9, 1, 3, 'x', 'y'}, false}, /* the value is cut */
        {12, {0x81, 202, 0, 2, 0, 0, 0, 9, 6, 1, 'x', 1}, false},   /* the length is cut */
        {12, {0x81, 202, 0, 2, 0, 0, 0, 9, 1, 0, 0, 0}, false},     /* an empty name is none */
        {8, {0x81, 202, 0, 1, 0, 0, 0, 9}, false},                  /* no item */
        {4, {0x81, 202, 0, 0}, false},                              /* no chunk */
    };
    for (size_t i = 0; i < COUNT_OF(description); i++) {
        uint8_t *copy = malloc(description[i].len);
        assert_non_null(copy);
        memcpy(copy, description[i].data, description[i].len);
        struct byte_reader r;
        byte_reader_init(&r, bytes_view_of(copy, description[i].len));
        struct rtcp_packet p;
        struct bytes_view cname;
        assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
        assert_int_equal(rtcp_packet_find_cname(&p, 9, &cname), description[i].is_found);
        free(copy);
    }
}

static void a_written_report_reads_back(void **state)
{
    (void)state;
    const struct rtcp_report_block block[] = {
        {11, 255, -0x800000, 0xffffffff, 1, 2, 3},
        {12, 0, 0x7fffff, 4, 5, 6, 7},
    };
    /* Names of every length modulo 4: the end is always there and always a whole word. */
    static const char *const cname[] = {"a", "ab", "abc", "abcd", "abcde"};
    for (size_t i = 0; i < COUNT_OF(cname); i++) {
        const struct rtcp_report report = {.ssrc = 7,
                                           .cname = cname[i],
                                           .has_sender_info = true,
                                           .sender_info = {UINT64_C(1) << 63, 2, 3, 4},
                                           .block = block,
                                           .block_count = 2,
                                           .is_bye = true};
        uint8_t data[128];
        const size_t len = rtcp_packet_write(&report, data, sizeof(data));
        assert_int_not_equal(len, 0);
        assert_int_equal(len % 4, 0);
        for (size_t cap = 0; cap < len; cap++) {
            assert_int_equal(rtcp_packet_write(&report, data, cap), 0);
        }
        assert_int_equal(rtcp_packet_write(&report, data, len), len);

        struct byte_reader r;
        byte_reader_init(&r, bytes_view_of(data, len));
        struct rtcp_packet p;
        assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
        assert_int_equal(p.ssrc, 7);
        assert_true(p.sender_info.ntp_time == report.sender_info.ntp_time);
        assert_int_equal(p.sender_info.timestamp, 2);
        assert_int_equal(p.sender_info.packet_count, 3);
        assert_int_equal(p.sender_info.octet_count, 4);
        for (size_t k = 0; k < COUNT_OF(block); k++) {
            struct rtcp_report_block read;
            assert_true(rtcp_packet_find_block(&p, block[k].ssrc, &read));
            assert_int_equal(read.fraction_lost, block[k].fraction_lost);
            assert_int_equal(read.cumulative_lost, block[k].cumulative_lost);
            assert_int_equal(read.highest_sequence, block[k].highest_sequence);
            assert_int_equal(read.jitter, block[k].jitter);
            assert_int_equal(read.last_sr, block[k].last_sr);
            assert_int_equal(read.delay_since_last_sr, block[k].delay_since_last_sr);
        }
        struct bytes_view name;
        assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
        assert_true(rtcp_packet_find_cname(&p, 7, &name));
        assert_true(bytes_equal(name, bytes_view_of_text(cname[i])));
        assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_OK);
        assert_true(rtcp_packet_is_bye_of(&p, 7));
        assert_int_equal(rtcp_packet_next(&r, &p), RTCP_PACKET_END);
    }
}

static void a_report_without_sender_info_is_a_receiver_report(void **state)
{
    (void)state;
    const struct rtcp_report report = {.ssrc = 7, .cname = "c"};
    /* RFC 3550 s.6.4.2 and s.6.5: an empty RR, then the CNAME. */
    static const uint8_t expected[] = {0x80, 201, 0, 1, 0, 0, 0, 7, 0x81, 202,
                                       0,    2,   0, 0, 0, 7, 1, 1, 'c',  0};
    uint8_t data[64];
    assert_int_equal(rtcp_packet_write(&report, data, sizeof(data)), sizeof(expected));
    assert_memory_equal(data, expected, sizeof(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compound_is_read_packet_by_packet),
        cmocka_unit_test(a_cut_compound_ends_at_the_packet_that_is_cut),
        cmocka_unit_test(a_packet_whose_parts_do_not_fit_is_malformed),
        cmocka_unit_test(a_nack_lists_the_lost_packets_of_one_ssrc),
        cmocka_unit_test(items_of_a_description_must_fit_their_packet),
        cmocka_unit_test(a_written_report_reads_back),
        cmocka_unit_test(a_report_without_sender_info_is_a_receiver_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
