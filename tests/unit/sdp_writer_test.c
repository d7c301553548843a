/* sdp_writer_test.c - each piece of SDP is written to the letter, or marked as failed */
#include "tests/testing.h"

#include "services/transceiver/core/sdp/sdp_writer.h"

#define TEXT_CAP 64

static void write_text(struct byte_writer *w)
{
    sdp_writer_text(w, "a=rtcp-mux");
}

static void write_zero(struct byte_writer *w)
{
    sdp_writer_number(w, 0);
}

static void write_nine(struct byte_writer *w)
{
    sdp_writer_number(w, 9);
}

static void write_ten(struct byte_writer *w)
{
    sdp_writer_number(w, 10);
}

static void write_largest(struct byte_writer *w)
{
    sdp_writer_number(w, UINT64_MAX);
}

static void write_digest_of_one(struct byte_writer *w)
{
    sdp_writer_digest(w, bytes_view_of("\x0f", 1));
}

static void write_digest(struct byte_writer *w)
{
    sdp_writer_digest(w, bytes_view_of("\x01\x23\x45\x67\x89\xab\xcd\xef\x00\xff", 10));
}

static void write_line(struct byte_writer *w)
{
    sdp_writer_line(w, "a=mid:", "audio");
}

static void write_number_line(struct byte_writer *w)
{
    sdp_writer_number_line(w, "a=rtpmap:", 111, " opus/48000/2");
}

static const struct {
    void (*write)(struct byte_writer *w);
    const char *text;
} piece_case[] = {
    {write_text, "a=rtcp-mux"},
    {write_zero, "0"},
    {write_nine, "9"},
    {write_ten, "10"},
    {write_largest, "18446744073709551615"},
    {write_digest_of_one, "0F"},
    {write_digest, "01:23:45:67:89:AB:CD:EF:00:FF"},
    {write_line, "a=mid:audio\r\n"},
    {write_number_line, "a=rtpmap:111 opus/48000/2\r\n"},
};

static void a_piece_fits_exactly_and_fails_with_less_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(piece_case); i++) {
        const size_t len = strlen(piece_case[i].text);
        for (size_t cap = 0; cap <= len; cap++) {
            char text[TEXT_CAP];
            struct byte_writer w;
            memset(text, '#', sizeof(text));
            byte_writer_init(&w, text, cap);
            piece_case[i].write(&w);
            if (w.failed != (cap < len) || text[cap] != '#') {
                fail_msg("\"%s\" in %zu bytes", piece_case[i].text, cap);
            }
            assert_memory_equal(text, piece_case[i].text, w.len);
            assert_true(w.failed || w.len == len);
        }
    }
}

static void an_empty_piece_writes_nothing_and_needs_no_room(void **state)
{
    (void)state;
    struct byte_writer w;
    byte_writer_init(&w, NULL, 0);
    sdp_writer_text(&w, "");
    sdp_writer_digest(&w, bytes_view_of(NULL, 0));
    assert_false(w.failed);
    assert_int_equal(w.len, 0);
}

static void after_a_failure_nothing_more_is_written(void **state)
{
    (void)state;
    char text[TEXT_CAP];
    struct byte_writer w;
    byte_writer_init(&w, text, 4);
    sdp_writer_text(&w, "12345");
    sdp_writer_number(&w, 1);
    sdp_writer_text(&w, "2");
    assert_true(w.failed);
    assert_int_equal(w.len, 0);
}

static void pieces_stand_one_after_the_other(void **state)
{
    (void)state;
    static const char expected[] = "a=fingerprint:sha-256 5D:1F:0A\r\na=sctp-port:5000\r\n";
    char text[TEXT_CAP];
    struct byte_writer w;
    byte_writer_init(&w, text, sizeof(text));
    sdp_writer_text(&w, "a=fingerprint:sha-256 ");
    sdp_writer_digest(&w, bytes_view_of("\x5d\x1f\x0a", 3));
    sdp_writer_line(&w, "", "");
    sdp_writer_number_line(&w, "a=sctp-port:", 5000, "");
    assert_false(w.failed);
    assert_int_equal(w.len, strlen(expected));
    assert_memory_equal(text, expected, w.len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_fits_exactly_and_fails_with_less_room),
        cmocka_unit_test(an_empty_piece_writes_nothing_and_needs_no_room),
        cmocka_unit_test(after_a_failure_nothing_more_is_written),
        cmocka_unit_test(pieces_stand_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
