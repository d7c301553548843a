/* sctp_wire_test.c - packets, chunks and INIT as bytes */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_init.h"

static const struct sctp_header header = {
    .source_port = 5000, .destination_port = 5001, .verification_tag = 0x01020304};

static struct byte_writer packet_in(uint8_t *bytes, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, bytes, cap);
    sctp_wire_begin_packet(&w, &header);
    return w;
}

/* The chunk of a writer's packet, behind the header. */
static bool first_chunk(struct bytes_view packet, struct sctp_chunk *out)
{
    struct byte_reader r;
    struct sctp_header read;
    byte_reader_init(&r, packet);
    return sctp_wire_read_header(&r, &read) && sctp_wire_next_chunk(&r, out);
}

static void a_packet_is_read_as_it_was_written(void **state)
{
    (void)state;
    uint8_t bytes[128];
    struct byte_writer w = packet_in(bytes, sizeof(bytes));
    const struct sctp_data data = {.is_unordered = true,
                                   .is_begin = true,
                                   .tsn = 0xfffffff6,
                                   .stream = 1023,
                                   .ssn = 65535,
                                   .ppid = 51,
                                   .payload = bytes_view_of_text("hello")};
    sctp_wire_write_bare(&w, SCTP_CHUNK_COOKIE_ACK, 0);
    sctp_wire_write_data(&w, &data);
    sctp_wire_end_packet(&w, false);
    assert_false(w.failed);
    assert_int_equal(w.len % 4, 0);

    struct byte_reader r;
    struct sctp_header read;
    struct sctp_chunk chunk;
    struct sctp_data out;
    byte_reader_init(&r, bytes_view_of(bytes, w.len));
    assert_true(sctp_wire_read_header(&r, &read));
    assert_memory_equal(&read, &header, sizeof(header));
    assert_true(sctp_wire_next_chunk(&r, &chunk));
    assert_int_equal(chunk.type, SCTP_CHUNK_COOKIE_ACK);
    assert_int_equal(chunk.body.len, 0);
    assert_true(sctp_wire_next_chunk(&r, &chunk));
    assert_true(sctp_wire_read_data(&chunk, &out));
    assert_true(out.is_unordered && out.is_begin && !out.is_end && !out.is_immediate);
    assert_int_equal(out.tsn, data.tsn);
    assert_int_equal(out.stream, 1023);
    assert_int_equal(out.ssn, 65535);
    assert_int_equal(out.ppid, 51);
    assert_true(bytes_equal(out.payload, data.payload));
    assert_false(sctp_wire_next_chunk(&r, &chunk));
    assert_false(r.failed);
}

static void any_bit_that_flips_spoils_the_checksum(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct byte_writer w = packet_in(bytes, sizeof(bytes));
    sctp_wire_write_bare(&w, SCTP_CHUNK_COOKIE_ACK, 0);
    sctp_wire_end_packet(&w, false);
    const struct bytes_view packet = bytes_view_of(bytes, w.len);
    assert_int_equal(sctp_wire_checksum(packet), SCTP_CHECKSUM_RIGHT);
    for (size_t bit = 0; bit < 8 * w.len; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_equal(sctp_wire_checksum(packet), SCTP_CHECKSUM_WRONG);
        bytes[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    memset(bytes + 8, 0, 4);
    assert_int_equal(sctp_wire_checksum(packet), SCTP_CHECKSUM_ZERO);
    assert_int_equal(sctp_wire_checksum(bytes_view_of(bytes, 11)), SCTP_CHECKSUM_WRONG);
}

/* RFC 9260 s.3.2: the length counts the header, not the padding; the last padding may be absent. */
static void lengths_that_lie_end_the_packet(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t len;
        unsigned chunks;
        bool is_malformed;
    } c[] = {
        {{0}, 0, 0, false},
        {{11, 0, 0}, 3, 0, true},
        {{11, 0, 0, 3}, 4, 0, true},
        {{11, 0, 0, 4}, 4, 1, false},
        {{11, 0, 0, 5, 1}, 5, 1, false},
        {{11, 0, 0, 5, 1, 0, 0, 0, 11, 0, 0, 4}, 12, 2, false},
        {{11, 0, 0, 8, 1, 2, 3}, 7, 0, true},
        {{11, 0, 0xff, 0xff}, 4, 0, true},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct byte_reader r;
        struct sctp_chunk chunk;
        unsigned chunks = 0;
        byte_reader_init(&r, bytes_view_of(c[i].bytes, c[i].len));
        while (sctp_wire_next_chunk(&r, &chunk)) {
            chunks++;
        }
        assert_int_equal(chunks, c[i].chunks);
        assert_int_equal(r.failed, c[i].is_malformed);
    }
}

static bool read_sack(const uint8_t *body, size_t len, struct sctp_sack *out)
{
    const struct sctp_chunk chunk = {.type = SCTP_CHUNK_SACK, .body = bytes_view_of(body, len)};
    return sctp_wire_read_sack(&chunk, out);
}

static void gaps_that_do_not_rise_end_the_list(void **state)
{
    (void)state;
    static const struct {
        uint8_t gap[8];
        size_t count;
    } c[] = {
        {{0, 2, 0, 2, 0, 4, 0, 9}, 2}, /* the first that can be */
        {{0, 1, 0, 2, 0, 4, 0, 9}, 0}, /* would be cumulative */
        {{0, 0, 0, 2, 0, 4, 0, 9}, 0},     {{0, 3, 0, 2, 0, 4, 0, 9}, 0}, /* backwards */
        {{0, 2, 0, 3, 0, 4, 0, 9}, 1}, /* touches: would be one */
        {{0, 2, 0, 3, 0, 3, 0, 9}, 1}, /* overlaps */
        {{0, 2, 255, 255, 0, 4, 0, 9}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        uint8_t body[20] = {0, 0, 0, 5, 0, 0, 16, 0, 0, 2, 0, 0};
        struct sctp_sack sack;
        memcpy(body + 12, c[i].gap, 8);
        assert_true(read_sack(body, sizeof(body), &sack));
        assert_int_equal(sack.cumulative_tsn, 5);
        assert_int_equal(sack.a_rwnd, 4096);
        assert_int_equal(sack.gap_count, c[i].count);
    }
}

static void a_sack_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const uint8_t body[20] = {0, 0, 0, 5, 0, 0, 16, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 9};
    struct sctp_sack sack;
    for (size_t len = 0; len < sizeof(body); len++) {
        assert_false(read_sack(body, len, &sack));
    }
    assert_true(read_sack(body, sizeof(body), &sack));
}

static void of_many_gaps_the_first_64_count(void **state)
{
    (void)state;
    uint8_t body[12 + 4 * (SCTP_GAPS_MAX + 1)] = {0};
    struct sctp_sack sack;
    body[9] = SCTP_GAPS_MAX + 1;
    for (size_t i = 0; i <= SCTP_GAPS_MAX; i++) {
        body[12 + 4 * i + 1] = body[12 + 4 * i + 3] = (uint8_t)(2 + 2 * i);
    }
    assert_true(read_sack(body, sizeof(body), &sack));
    assert_int_equal(sack.gap_count, SCTP_GAPS_MAX);
}

/* --- INIT ------------------------------------------------------------------------------------- */

/* Chromium 156. */
static const uint8_t chromium[] = {0x01, 0x00, 0x00, 0x1e, 0xa4, 0xcb, 0x13, 0x75, 0x00, 0x50,
                                   0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x05, 0xb7, 0xf0, 0x43,
                                   0xc0, 0x00, 0x00, 0x04, 0x80, 0x08, 0x00, 0x06, 0x82, 0xc0};

static bool read_init(const uint8_t *chunk, size_t len, struct sctp_init *out,
                      struct byte_writer *report)
{
    struct byte_reader r;
    struct sctp_chunk c;
    struct bytes_view cookie;
    byte_reader_init(&r, bytes_view_of(chunk, len));
    return sctp_wire_next_chunk(&r, &c) && sctp_init_read(&c, out, &cookie, report);
}

static void the_init_of_chromium_is_read(void **state)
{
    (void)state;
    struct sctp_init init;
    assert_true(read_init(chromium, sizeof(chromium), &init, NULL));
    assert_int_equal(init.tag, 0xa4cb1375);
    assert_int_equal(init.a_rwnd, 0x500000);
    assert_int_equal(init.out_streams, 65535);
    assert_int_equal(init.in_streams, 65535);
    assert_int_equal(init.tsn, 0x05b7f043);
    assert_true(init.has_forward_tsn && init.has_re_config && !init.has_zero_checksum);
    for (size_t len = 0; len < sizeof(chromium); len++) {
        assert_false(read_init(chromium, len, &init, NULL));
    }
}

static void what_is_written_of_an_end_is_read_again(void **state)
{
    (void)state;
    const struct sctp_init init = {.tag = 7,
                                   .a_rwnd = 524288,
                                   .out_streams = 1024,
                                   .in_streams = 1023,
                                   .tsn = UINT32_MAX,
                                   .has_forward_tsn = true,
                                   .has_re_config = true,
                                   .has_zero_checksum = true};
    uint8_t bytes[256];
    struct byte_writer w = packet_in(bytes, sizeof(bytes));
    const uint8_t report[8] = {0, 8, 0, 8, 0xc1, 0, 0, 4};
    sctp_init_write(&w, SCTP_CHUNK_INIT_ACK, &init, bytes_view_of_text("cookie"),
                    bytes_view_of(report, sizeof(report)));
    sctp_wire_end_packet(&w, false);
    struct sctp_chunk chunk;
    struct sctp_init read;
    struct bytes_view cookie;
    assert_true(first_chunk(bytes_view_of(bytes, w.len), &chunk));
    assert_true(sctp_init_read(&chunk, &read, &cookie, NULL));
    assert_true(bytes_equal(cookie, bytes_view_of_text("cookie")));
    assert_int_equal(read.tag, 7);
    assert_int_equal(read.a_rwnd, 524288);
    assert_int_equal(read.out_streams, 1024);
    assert_int_equal(read.in_streams, 1023);
    assert_int_equal(read.tsn, UINT32_MAX);
    assert_true(read.has_forward_tsn && read.has_re_config && read.has_zero_checksum);
}

/* RFC 9260 s.3.3.2: tag 0 and streams 0 end the association. */
static void an_init_without_tag_or_streams_is_refused(void **state)
{
    (void)state;
    static const size_t zero_at[][2] = {{4, 4}, {12, 2}, {14, 2}};
    for (size_t i = 0; i < COUNT_OF(zero_at); i++) {
        uint8_t bytes[sizeof(chromium)];
        struct sctp_init init;
        memcpy(bytes, chromium, sizeof(bytes));
        memset(bytes + zero_at[i][0], 0, zero_at[i][1]);
        assert_false(read_init(bytes, sizeof(bytes), &init, NULL));
    }
}

/* RFC 9260 s.3.2.1: the two upper bits of a type that is not known. */
static void an_unknown_parameter_is_treated_as_its_upper_bits_say(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        bool is_skipped; /* what is behind it counts */
        size_t report_bytes;
    } c[] = {{0x3f, false, 0}, {0x7f, false, 8}, {0xbf, true, 0}, {0xff, true, 8}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        uint8_t bytes[28] = {0x01, 0, 0, 28};
        uint8_t report_bytes[SCTP_INIT_REPORT_BYTES_MAX];
        struct byte_writer report;
        struct sctp_init init;
        memcpy(bytes + 4, chromium + 4, 16);
        const uint8_t parameters[8] = {c[i].type, 0, 0, 4, 0xc0, 0, 0, 4};
        memcpy(bytes + 20, parameters, 8);
        byte_writer_init(&report, report_bytes, sizeof(report_bytes));
        assert_true(read_init(bytes, sizeof(bytes), &init, &report));
        assert_int_equal(init.has_forward_tsn, c[i].is_skipped);
        assert_int_equal(report.len, c[i].report_bytes);
    }
}

static void reports_of_unknown_parameters_have_a_bound(void **state)
{
    (void)state;
    uint8_t bytes[20 + 400] = {0x01, 0, 0x01, 0xa4};
    uint8_t report_bytes[SCTP_INIT_REPORT_BYTES_MAX];
    struct byte_writer report;
    struct sctp_init init;
    memcpy(bytes + 4, chromium + 4, 16);
    for (size_t i = 20; i < sizeof(bytes); i += 4) {
        bytes[i] = 0xff;
        bytes[i + 3] = 4;
    }
    byte_writer_init(&report, report_bytes, sizeof(report_bytes));
    assert_true(read_init(bytes, sizeof(bytes), &init, &report));
    assert_false(report.failed);
    assert_true(report.len > 200 && report.len <= SCTP_INIT_REPORT_BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_read_as_it_was_written),
        cmocka_unit_test(any_bit_that_flips_spoils_the_checksum),
        cmocka_unit_test(lengths_that_lie_end_the_packet),
        cmocka_unit_test(gaps_that_do_not_rise_end_the_list),
        cmocka_unit_test(a_sack_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(of_many_gaps_the_first_64_count),
        cmocka_unit_test(the_init_of_chromium_is_read),
        cmocka_unit_test(what_is_written_of_an_end_is_read_again),
        cmocka_unit_test(an_init_without_tag_or_streams_is_refused),
        cmocka_unit_test(an_unknown_parameter_is_treated_as_its_upper_bits_say),
        cmocka_unit_test(reports_of_unknown_parameters_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
