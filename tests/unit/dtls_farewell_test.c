/* dtls_farewell_test.c - which alerts are an end, and when ours leave */
#include "tests/testing.h"

#include "common/crypto/aes_gcm.h"
#include "services/transceiver/core/transport/dtls_farewell.h"
#include "services/transceiver/core/transport/dtls_record.h"

#define NOW_US     (10 * US_PER_S)
#define RECORD_CAP 64

static const struct dtls_alert_key their_key = {{1, 2, 3}, {0xa0, 0xa1, 0xa2, 0xa3}};
static const struct dtls_alert_key our_key = {{4, 5, 6}, {0xb0, 0xb1, 0xb2, 0xb3}};

static struct dtls_farewell make(void)
{
    return (struct dtls_farewell){.ours = our_key,
                                  .theirs = their_key,
                                  .sent_epoch = 1,
                                  .sent_sequence_number = 41,
                                  .next_sequence_number = 7,
                                  .next_alert_us = TIME_NEVER};
}

/* A record of the peer; RFC 5288 s.3 and RFC 5246 s.6.2.3.3 by the letter. */
static size_t seal(uint8_t type, uint16_t epoch, uint64_t number, struct bytes_view text,
                   uint8_t out[RECORD_CAP])
{
    uint8_t nonce[AES_GCM_NONCE_BYTES];
    uint8_t additional[13];
    struct byte_writer w;
    byte_writer_init(&w, out, RECORD_CAP);
    byte_writer_u8(&w, type);
    byte_writer_u16(&w, 0xfefd);
    byte_writer_u64(&w, (uint64_t)epoch << 48 | number);
    byte_writer_u16(&w, (uint16_t)(8 + text.len + AES_GCM_TAG_BYTES));
    byte_writer_u64(&w, number);
    memcpy(nonce, their_key.salt, 4);
    memcpy(nonce + 4, out + 13, 8);
    memcpy(additional, out + 3, 8);
    memcpy(additional + 8, out, 3);
    additional[11] = 0;
    additional[12] = (uint8_t)text.len;
    struct aes_gcm *gcm = aes_gcm_create(their_key.key, AES_GCM_KEY_128);
    aes_gcm_seal(gcm, nonce, bytes_view_of(additional, sizeof(additional)), text, out + w.len);
    aes_gcm_destroy(gcm);
    return w.len + text.len + AES_GCM_TAG_BYTES;
}

static enum dtls_farewell_input input(struct dtls_farewell *f, uint8_t type, uint16_t epoch,
                                      uint64_t number, struct bytes_view text, uint8_t *alert)
{
    uint8_t record[RECORD_CAP];
    const size_t len = seal(type, epoch, number, text, record);
    return dtls_farewell_input(f, bytes_view_of(record, len), alert);
}

/* RFC 5246 s.7.2: close_notify of any level, and whatever is fatal. */
static void an_end_is_close_notify_or_fatal(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint8_t text[4];
        size_t len;
        enum dtls_farewell_input result;
    } row[] = {
        {DTLS_CONTENT_ALERT, {1, 0}, 2, DTLS_FAREWELL_CLOSED},
        {DTLS_CONTENT_ALERT, {2, 0}, 2, DTLS_FAREWELL_CLOSED},
        {DTLS_CONTENT_ALERT, {2, 80}, 2, DTLS_FAREWELL_CLOSED},
        {DTLS_CONTENT_ALERT, {1, 90}, 2, DTLS_FAREWELL_AUTHENTIC},  /* user_canceled */
        {DTLS_CONTENT_ALERT, {1, 100}, 2, DTLS_FAREWELL_AUTHENTIC}, /* no_renegotiation */
        {DTLS_CONTENT_ALERT, {2, 80, 0}, 3, DTLS_FAREWELL_AUTHENTIC},
        {DTLS_CONTENT_ALERT, {2}, 1, DTLS_FAREWELL_AUTHENTIC},
        {DTLS_CONTENT_ALERT, {0}, 0, DTLS_FAREWELL_AUTHENTIC},
        {DTLS_CONTENT_APPLICATION_DATA, {2, 80}, 2, DTLS_FAREWELL_AUTHENTIC},
        {DTLS_CONTENT_HANDSHAKE, {2, 80}, 2, DTLS_FAREWELL_AUTHENTIC},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct dtls_farewell f = make();
        uint8_t alert = 0xee;
        const struct bytes_view text = bytes_view_of(row[i].text, row[i].len);
        assert_int_equal(input(&f, row[i].type, 1, 7, text, &alert), row[i].result);
        if (row[i].result == DTLS_FAREWELL_CLOSED) {
            assert_int_equal(alert, row[i].text[1]);
        }
    }
}

static void only_a_record_above_all_others_is_opened(void **state)
{
    (void)state;
    static const struct {
        uint16_t epoch;
        uint64_t number;
        enum dtls_farewell_input result;
    } row[] = {
        {1, 6, DTLS_FAREWELL_REFUSED},
        {0, 9, DTLS_FAREWELL_REFUSED},
        {2, 9, DTLS_FAREWELL_REFUSED},
        {1, 7, DTLS_FAREWELL_AUTHENTIC},
        {1, 7, DTLS_FAREWELL_REFUSED},
        {1, 9, DTLS_FAREWELL_AUTHENTIC},
        {1, 8, DTLS_FAREWELL_REFUSED},
        {1, 10, DTLS_FAREWELL_AUTHENTIC},
        {1, 0xffffffffffff, DTLS_FAREWELL_AUTHENTIC},
        {1, 0xffffffffffff, DTLS_FAREWELL_REFUSED},
    };
    struct dtls_farewell f = make();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        uint8_t alert = 0;
        assert_int_equal(input(&f, DTLS_CONTENT_APPLICATION_DATA, row[i].epoch, row[i].number,
                               bytes_view_of_text("x"), &alert),
                         row[i].result);
    }
}

/* One datagram may hold several: the end is found behind others. */
static void the_end_is_found_behind_other_records(void **state)
{
    (void)state;
    static const uint8_t close_notify[] = {1, 0};
    struct dtls_farewell f = make();
    uint8_t datagram[3 * RECORD_CAP];
    uint8_t alert = 0xee;
    size_t len = seal(DTLS_CONTENT_APPLICATION_DATA, 1, 7, bytes_view_of_text("x"), datagram);
    len += seal(DTLS_CONTENT_APPLICATION_DATA, 0, 8, bytes_view_of_text("y"), datagram + len);
    len += seal(DTLS_CONTENT_ALERT, 1, 8, bytes_view_of(close_notify, 2), datagram + len);
    assert_int_equal(dtls_farewell_input(&f, bytes_view_of(datagram, len), &alert),
                     DTLS_FAREWELL_CLOSED);
    assert_int_equal(alert, 0);
}

static void our_alert_leaves_three_times_under_new_numbers(void **state)
{
    (void)state;
    static const uint64_t at_us[] = {0, 50000, 150000};
    struct dtls_farewell f = make();
    uint8_t record[DTLS_ALERT_RECORD_BYTES];
    assert_false(dtls_farewell_poll_alert(&f, record, NOW_US));
    dtls_farewell_close(&f, NOW_US);
    for (size_t i = 0; i < COUNT_OF(at_us); i++) {
        struct byte_reader r;
        struct dtls_record read;
        struct dtls_alert alert;
        assert_true(dtls_farewell_next_timeout(&f) == NOW_US + at_us[i]);
        assert_false(i > 0 && dtls_farewell_poll_alert(&f, record, NOW_US + at_us[i] - 1));
        assert_true(dtls_farewell_poll_alert(&f, record, NOW_US + at_us[i]));
        byte_reader_init(&r, bytes_view_of(record, sizeof(record)));
        assert_true(dtls_record_read(&r, &read));
        assert_int_equal(read.sequence_number, 42 + i);
        assert_true(dtls_alert_open(&our_key, &read, &alert));
        assert_true(alert.is_alert && alert.level == 2 && alert.description == 80);
        assert_false(dtls_alert_open(&their_key, &read, &alert));
        assert_false(alert.is_alert);
    }
    assert_true(dtls_farewell_next_timeout(&f) == TIME_NEVER);
    assert_false(dtls_farewell_poll_alert(&f, record, NOW_US + US_PER_S));
}

static void a_wiped_farewell_has_no_key_and_says_nothing(void **state)
{
    (void)state;
    static const struct dtls_alert_key none;
    struct dtls_farewell f = make();
    dtls_farewell_close(&f, NOW_US);
    dtls_farewell_wipe(&f);
    assert_memory_equal(&f.ours, &none, sizeof(none));
    assert_memory_equal(&f.theirs, &none, sizeof(none));
    assert_true(dtls_farewell_next_timeout(&f) == TIME_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_close_notify_or_fatal),
        cmocka_unit_test(only_a_record_above_all_others_is_opened),
        cmocka_unit_test(the_end_is_found_behind_other_records),
        cmocka_unit_test(our_alert_leaves_three_times_under_new_numbers),
        cmocka_unit_test(a_wiped_farewell_has_no_key_and_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
