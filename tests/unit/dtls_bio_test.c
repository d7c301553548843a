/* dtls_bio_test.c - OpenSSL reads and writes whole datagrams, and none is lost unseen */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_bio.h"
#include "services/transceiver/core/transport/dtls_record.h"

#include <openssl/bio.h>

#define MTU_BYTES     1200
#define LENGTH_BYTES  2 /* before each datagram that waits */
#define LARGEST_BYTES (DTLS_BIO_OUTGOING_BYTES_MAX - LENGTH_BYTES)

static struct {
    struct dtls_bio bio;
    BIO *openssl;
} fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture.bio = (struct dtls_bio){.mtu_bytes = MTU_BYTES};
    fixture.openssl = dtls_bio_prepare() ? dtls_bio_create(&fixture.bio) : NULL;
    return fixture.openssl != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    BIO_free(fixture.openssl);
    return 0;
}

/* A record of no content. */
static void add_record(struct byte_writer *w, uint8_t content_type, uint16_t epoch,
                       uint64_t sequence_number)
{
    byte_writer_u8(w, content_type);
    byte_writer_u16(w, 0xfefd);
    byte_writer_u64(w, (uint64_t)epoch << 48 | sequence_number);
    byte_writer_u16(w, 0);
}

static void write_records(const struct byte_writer *w)
{
    assert_false(w->failed);
    assert_int_equal(BIO_write(fixture.openssl, w->data, (int)w->len), w->len);
}

static void a_datagram_is_read_once_and_then_there_is_nothing_yet(void **state)
{
    (void)state;
    char data[8];
    fixture.bio.incoming = bytes_view_of("abcd", 4);
    assert_int_equal(BIO_read(fixture.openssl, data, sizeof(data)), 4);
    assert_memory_equal(data, "abcd", 4);
    assert_int_equal(fixture.bio.incoming.len, 0);
    assert_int_equal(BIO_read(fixture.openssl, data, sizeof(data)), -1);
    assert_true(BIO_should_read(fixture.openssl));
    fixture.bio.incoming = bytes_view_of("e", 1);
    assert_int_equal(BIO_read(fixture.openssl, data, sizeof(data)), 1);
    assert_false(BIO_should_retry(fixture.openssl));
}

static void a_datagram_longer_than_the_room_is_cut_and_its_rest_is_gone(void **state)
{
    (void)state;
    static const struct {
        int cap;
        int read;
    } room_case[] = {{3, 3}, {4, 4}, {5, 4}};
    for (size_t i = 0; i < COUNT_OF(room_case); i++) {
        char data[8] = "########";
        fixture.bio.incoming = bytes_view_of("abcd", 4);
        assert_int_equal(BIO_read(fixture.openssl, data, room_case[i].cap), room_case[i].read);
        assert_int_equal(data[room_case[i].read], '#');
        assert_int_equal(BIO_read(fixture.openssl, data, sizeof(data)), -1);
    }
}

static void what_is_written_comes_out_whole_and_in_order(void **state)
{
    (void)state;
    struct bytes_view out;
    dtls_bio_send(&fixture.bio, bytes_view_of("first", 5));
    dtls_bio_send(&fixture.bio, bytes_view_of("2", 1));
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_true(bytes_equal(out, bytes_view_of("first", 5)));
    dtls_bio_send(&fixture.bio, bytes_view_of("third", 5));
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_true(bytes_equal(out, bytes_view_of("2", 1)));
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_true(bytes_equal(out, bytes_view_of("third", 5)));
    assert_false(dtls_bio_poll(&fixture.bio, &out));
}

static void a_datagram_that_fills_the_room_waits_and_one_byte_more_is_dropped(void **state)
{
    (void)state;
    static const uint8_t datagram[LARGEST_BYTES + 1];
    struct bytes_view out;
    assert_true(dtls_bio_has_room(&fixture.bio, LARGEST_BYTES));
    assert_false(dtls_bio_has_room(&fixture.bio, LARGEST_BYTES + 1));
    dtls_bio_send(&fixture.bio, bytes_view_of(datagram, LARGEST_BYTES + 1));
    assert_int_equal(fixture.bio.dropped, 1);
    assert_false(dtls_bio_poll(&fixture.bio, &out));
    dtls_bio_send(&fixture.bio, bytes_view_of(datagram, LARGEST_BYTES));
    assert_int_equal(fixture.bio.dropped, 1);
    assert_false(dtls_bio_has_room(&fixture.bio, 0));
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_int_equal(out.len, LARGEST_BYTES);
}

static void the_newest_is_dropped_and_openssl_is_told_that_it_was_sent(void **state)
{
    (void)state;
    uint8_t records[DTLS_RECORD_HEADER_BYTES];
    static const uint8_t full[LARGEST_BYTES];
    struct byte_writer w;
    struct bytes_view out;
    dtls_bio_send(&fixture.bio, bytes_view_of(full, sizeof(full)));
    byte_writer_init(&w, records, sizeof(records));
    add_record(&w, DTLS_CONTENT_HANDSHAKE, 0, 9);
    write_records(&w);
    assert_int_equal(fixture.bio.dropped, 1);
    assert_true(fixture.bio.has_sent);
    assert_true(fixture.bio.sent_sequence_number == 9);
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_int_equal(out.len, sizeof(full));
    assert_false(dtls_bio_poll(&fixture.bio, &out));
}

static void the_room_comes_back_when_all_was_taken_or_cleared(void **state)
{
    (void)state;
    static const uint8_t full[LARGEST_BYTES];
    struct bytes_view out;
    dtls_bio_send(&fixture.bio, bytes_view_of(full, sizeof(full)));
    assert_true(dtls_bio_poll(&fixture.bio, &out));
    assert_false(dtls_bio_poll(&fixture.bio, &out));
    assert_true(dtls_bio_has_room(&fixture.bio, LARGEST_BYTES));
    dtls_bio_send(&fixture.bio, bytes_view_of(full, sizeof(full)));
    dtls_bio_clear(&fixture.bio);
    assert_true(dtls_bio_has_room(&fixture.bio, LARGEST_BYTES));
    assert_false(dtls_bio_poll(&fixture.bio, &out));
}

static void a_datagram_of_plaintext_alerts_alone_is_never_sent(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t count;
        uint8_t content_type[2];
        uint16_t epoch[2];
        bool is_sent;
    } alert_case[] = {
        {"a plaintext alert", 1, {21}, {0}, false},
        {"two plaintext alerts", 2, {21, 21}, {0, 0}, false},
        {"an encrypted alert", 1, {21}, {1}, true},
        {"a plaintext and an encrypted alert", 2, {21, 21}, {0, 1}, true},
        {"an alert, then a handshake record", 2, {21, 22}, {0, 0}, true},
        {"a handshake record, then an alert", 2, {22, 21}, {0, 0}, true},
        {"a change cipher spec", 1, {20}, {0}, true},
    };
    for (size_t i = 0; i < COUNT_OF(alert_case); i++) {
        uint8_t records[2 * DTLS_RECORD_HEADER_BYTES];
        struct byte_writer w;
        struct bytes_view out;
        fixture.bio.has_sent = false;
        byte_writer_init(&w, records, sizeof(records));
        for (size_t k = 0; k < alert_case[i].count; k++) {
            add_record(&w, alert_case[i].content_type[k], alert_case[i].epoch[k], k);
        }
        write_records(&w);
        const bool is_sent = dtls_bio_poll(&fixture.bio, &out);
        if (is_sent != alert_case[i].is_sent || fixture.bio.has_sent != is_sent) {
            fail_msg("%s: sent %d, noted %d", alert_case[i].what, is_sent, fixture.bio.has_sent);
        }
        dtls_bio_clear(&fixture.bio);
    }
}

static void the_number_of_the_last_record_is_noted_of_what_openssl_writes_alone(void **state)
{
    (void)state;
    uint8_t records[2 * DTLS_RECORD_HEADER_BYTES];
    struct byte_writer w;
    byte_writer_init(&w, records, sizeof(records));
    add_record(&w, DTLS_CONTENT_CHANGE_CIPHER_SPEC, 0, 5);
    add_record(&w, DTLS_CONTENT_HANDSHAKE, 1, UINT64_C(0xffffffffffff));
    dtls_bio_send(&fixture.bio, bytes_view_of(records, sizeof(records)));
    assert_false(fixture.bio.has_sent);
    write_records(&w);
    assert_true(fixture.bio.has_sent);
    assert_int_equal(fixture.bio.sent_epoch, 1);
    assert_true(fixture.bio.sent_sequence_number == UINT64_C(0xffffffffffff));
}

static void openssl_learns_the_mtu_and_the_overhead_of_udp(void **state)
{
    (void)state;
    assert_int_equal(BIO_ctrl(fixture.openssl, BIO_CTRL_DGRAM_QUERY_MTU, 0, NULL), MTU_BYTES);
    assert_int_equal(BIO_ctrl(fixture.openssl, BIO_CTRL_DGRAM_GET_MTU_OVERHEAD, 0, NULL), 20 + 8);
    assert_int_equal(BIO_flush(fixture.openssl), 1);
    assert_int_equal(BIO_ctrl(fixture.openssl, BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT, 0, NULL), 0);
}

static void a_second_preparation_keeps_the_first(void **state)
{
    (void)state;
    const int type = BIO_method_type(fixture.openssl);
    assert_true(dtls_bio_prepare());
    BIO *second = dtls_bio_create(&fixture.bio);
    assert_non_null(second);
    assert_int_equal(BIO_method_type(second), type);
    BIO_free(second);
}

#define BIO_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BIO_TEST(a_datagram_is_read_once_and_then_there_is_nothing_yet),
        BIO_TEST(a_datagram_longer_than_the_room_is_cut_and_its_rest_is_gone),
        BIO_TEST(what_is_written_comes_out_whole_and_in_order),
        BIO_TEST(a_datagram_that_fills_the_room_waits_and_one_byte_more_is_dropped),
        BIO_TEST(the_newest_is_dropped_and_openssl_is_told_that_it_was_sent),
        BIO_TEST(the_room_comes_back_when_all_was_taken_or_cleared),
        BIO_TEST(a_datagram_of_plaintext_alerts_alone_is_never_sent),
        BIO_TEST(the_number_of_the_last_record_is_noted_of_what_openssl_writes_alone),
        BIO_TEST(openssl_learns_the_mtu_and_the_overhead_of_udp),
        BIO_TEST(a_second_preparation_keeps_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
