/* dtls_filter_test.c - only what the peer has to send now passes to an unfinished handshake */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_filter.h"

#define RECORD_BYTES_MAX 512
#define DTLS_1_0         0xfeff
#define DTLS_1_2         0xfefd

struct record_bytes {
    uint8_t data[RECORD_BYTES_MAX];
    size_t len;
};

static void make_record(struct record_bytes *out, uint8_t content_type, uint16_t version,
                        uint16_t epoch, uint64_t sequence_number, struct bytes_view fragment)
{
    struct byte_writer w;
    byte_writer_init(&w, out->data, sizeof(out->data));
    byte_writer_u8(&w, content_type);
    byte_writer_u16(&w, version);
    byte_writer_u64(&w, (uint64_t)epoch << 48 | sequence_number);
    byte_writer_u16(&w, (uint16_t)fragment.len);
    byte_writer_bytes(&w, fragment);
    assert_false(w.failed);
    out->len = w.len;
}

static enum dtls_filter_verdict judge(struct dtls_filter *f, const struct record_bytes *bytes)
{
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(bytes->data, bytes->len));
    assert_true(dtls_record_read(&r, &record));
    assert_int_equal(byte_reader_left(&r), 0);
    return dtls_filter_judge(f, &record);
}

/* A record of epoch 0, number 0, from hex. */
static enum dtls_filter_verdict judge_fragment(bool peer_is_server, uint8_t content_type,
                                               const char *hex)
{
    struct dtls_filter f;
    struct record_bytes bytes;
    uint8_t fragment[RECORD_BYTES_MAX];
    const size_t len = strlen(hex) / 2;
    dtls_filter_init(&f, peer_is_server);
    f.awaits_change_cipher_spec = true;
    assert_true(bytes_from_hex(bytes_view_of_text(hex), fragment, len));
    make_record(&bytes, content_type, DTLS_1_2, 0, 0, bytes_view_of(fragment, len));
    return judge(&f, &bytes);
}

#define PASS   DTLS_FILTER_PASS
#define ALERT  DTLS_FILTER_HOLD_ALERT
#define VERIFY DTLS_FILTER_HOLD_HELLO_VERIFY
#define TYPE   DTLS_FILTER_DROP_TYPE
#define MSG    DTLS_FILTER_DROP_MESSAGE

static void every_kind_of_plaintext_record_has_its_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint8_t content_type;
        const char *fragment;
        enum dtls_filter_verdict from_server;
        enum dtls_filter_verdict from_client;
    } kind_case[] = {
        {"fatal alert", 21, "0228", ALERT, ALERT},
        {"close_notify", 21, "0100", ALERT, ALERT},
        {"warning alert", 21, "015a", ALERT, ALERT},
        {"alert of 1 byte", 21, "02", MSG, MSG},
        {"alert of 3 bytes", 21, "022800", MSG, MSG},
        {"two alerts in one", 21, "02280228", MSG, MSG},
        {"application data", 23, "00", TYPE, TYPE},
        {"heartbeat", 24, "00", TYPE, TYPE},
        {"content type 0", 0, "00", TYPE, TYPE},
        {"content type 19", 19, "00", TYPE, TYPE},
        {"content type 26 (DTLS 1.3 ack)", 26, "0000", TYPE, TYPE},
        {"content type 63", 63, "00", TYPE, TYPE},
        {"change cipher spec", 20, "01", PASS, PASS},
        {"change cipher spec 2", 20, "02", MSG, MSG},
        {"change cipher spec of 2 bytes", 20, "0101", MSG, MSG},
        {"empty change cipher spec", 20, "", MSG, MSG},
        {"empty handshake record", 22, "", MSG, MSG},
        {"hello request", 22, "000000000000000000000000", MSG, MSG},
        {"client hello", 22, "010000020000000000000002aaaa", MSG, PASS},
        {"server hello", 22, "020000020000000000000002aaaa", PASS, MSG},
        {"hello verify request", 22, "030000030000000000000003feff00", VERIFY, MSG},
        {"new session ticket", 22, "040000020000000000000002aaaa", MSG, MSG},
        {"certificate", 22, "0b0000020001000000000002aaaa", PASS, PASS},
        {"server key exchange", 22, "0c0000020002000000000002aaaa", PASS, MSG},
        {"certificate request", 22, "0d0000020003000000000002aaaa", PASS, MSG},
        {"server hello done", 22, "0e0000000004000000000000", PASS, MSG},
        {"certificate verify", 22, "0f0000020003000000000002aaaa", MSG, PASS},
        {"client key exchange", 22, "100000020002000000000002aaaa", MSG, PASS},
        {"plaintext finished", 22, "140000020002000000000002aaaa", MSG, MSG},
        {"message type 32", 22, "200000020002000000000002aaaa", MSG, MSG},
        {"message type 33", 22, "210000020002000000000002aaaa", MSG, MSG},
        {"message type 255", 22, "ff0000020002000000000002aaaa", MSG, MSG},
        {"two messages", 22, "0b0000010001000000000001aa0b0000010002000000000001bb", PASS, PASS},
        {"a good one, then a bad one", 22, "0b0000010001000000000001aa140000000000000000000000",
         MSG, MSG},
        {"a hello verify request behind another", 22,
         "0b0000010001000000000001aa030000030000000000000003feff00", MSG, MSG},
        {"a hello verify request before another", 22,
         "030000030000000000000003feff000b0000010001000000000001aa", MSG, MSG},
        {"first fragment", 22, "0b00000a000100000000000200aa", PASS, PASS},
        {"last fragment", 22, "0b00000a000100000800000200aa", PASS, PASS},
        {"fragment one byte past its message", 22, "0b00000a000100000900000200aa", MSG, MSG},
        {"fragment that begins past its message", 22, "0b00000a000100000b000000", MSG, MSG},
        {"fragment offset and length that overflow", 22, "0b00000a0001fffffffffffe00aa", MSG, MSG},
        {"fragment longer than its record", 22, "0b00000a000100000000000300aa", MSG, MSG},
        {"message of 16384 bytes", 22, "0b004000000100000000000200aa", PASS, PASS},
        {"message of 16385 bytes", 22, "0b004001000100000000000200aa", MSG, MSG},
        {"garbage", 22, "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", MSG, MSG},
    };
    for (size_t i = 0; i < COUNT_OF(kind_case); i++) {
        const enum dtls_filter_verdict from_server =
            judge_fragment(true, kind_case[i].content_type, kind_case[i].fragment);
        const enum dtls_filter_verdict from_client =
            judge_fragment(false, kind_case[i].content_type, kind_case[i].fragment);
        if (from_server != kind_case[i].from_server || from_client != kind_case[i].from_client) {
            fail_msg("%s: %d from a server, %d from a client", kind_case[i].what, from_server,
                     from_client);
        }
    }
}

static void a_handshake_message_cut_anywhere_is_dropped(void **state)
{
    (void)state;
    static const char whole[] = "0b0000040001000000000004aabbccdd";
    assert_int_equal(judge_fragment(true, 22, whole), DTLS_FILTER_PASS);
    for (size_t bytes = 0; bytes < sizeof(whole) / 2; bytes++) {
        char cut[sizeof(whole)] = "";
        memcpy(cut, whole, 2 * bytes);
        assert_int_equal(judge_fragment(true, 22, cut), DTLS_FILTER_DROP_MESSAGE);
    }
}

static void a_cookie_of_255_bytes_is_held_and_a_longer_one_dropped(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct dtls_filter f;
        struct record_bytes bytes;
        uint8_t fragment[RECORD_BYTES_MAX];
        struct byte_writer w;
        const uint32_t body = (uint32_t)(2 + 1 + 255 + extra);
        byte_writer_init(&w, fragment, sizeof(fragment));
        byte_writer_u8(&w, 3);
        byte_writer_u24(&w, body);
        byte_writer_u16(&w, 0);
        byte_writer_u24(&w, 0);
        byte_writer_u24(&w, body);
        byte_writer_zeros(&w, body);
        dtls_filter_init(&f, true);
        make_record(&bytes, 22, DTLS_1_0, 0, 0, bytes_view_of(fragment, w.len));
        assert_int_equal(judge(&f, &bytes),
                         extra == 0 ? DTLS_FILTER_HOLD_HELLO_VERIFY : DTLS_FILTER_DROP_MESSAGE);
        assert_true(extra != 0 || bytes.len == DTLS_FILTER_HELLO_VERIFY_BYTES);
    }
}

static void a_sequence_number_may_be_32_ahead_and_no_more(void **state)
{
    (void)state;
    static const struct {
        uint8_t content_type;
        uint64_t sequence_number;
        bool passes;
    } sequence_case[] = {
        {22, 33, false},
        {22, 32, true},
        {22, 0, true},
        {22, 65, false},
        {20, 64, true},
        {20, 65, false}, /* a change cipher spec moves nothing */
        {22, 64, true},
        {22, 32, true},
        {22, 97, false},
        {20, 97, false},
        {22, UINT64_C(0xffffffffffff), false},
        {22, UINT64_C(1) << 32, false},
        {22, 96, true},
    };
    static const uint8_t hello_done[] = {14, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0};
    static const uint8_t change_cipher_spec[] = {1};
    struct dtls_filter f;
    dtls_filter_init(&f, true);
    f.awaits_change_cipher_spec = true;
    for (size_t i = 0; i < COUNT_OF(sequence_case); i++) {
        struct record_bytes bytes;
        const bool is_handshake = sequence_case[i].content_type == 22;
        make_record(&bytes, sequence_case[i].content_type, DTLS_1_2, 0,
                    sequence_case[i].sequence_number,
                    is_handshake ? bytes_view_of(hello_done, sizeof(hello_done))
                                 : bytes_view_of(change_cipher_spec, 1));
        assert_int_equal(judge(&f, &bytes),
                         sequence_case[i].passes ? DTLS_FILTER_PASS : DTLS_FILTER_DROP_SEQUENCE);
    }
}

static void a_change_cipher_spec_passes_only_when_it_is_awaited(void **state)
{
    (void)state;
    static const uint8_t change_cipher_spec[] = {1};
    struct dtls_filter f;
    struct record_bytes bytes;
    make_record(&bytes, 20, DTLS_1_2, 0, 3, bytes_view_of(change_cipher_spec, 1));
    for (int peer_is_server = 0; peer_is_server < 2; peer_is_server++) {
        dtls_filter_init(&f, peer_is_server == 1);
        assert_int_equal(judge(&f, &bytes), DTLS_FILTER_DROP_EARLY);
        f.awaits_change_cipher_spec = true;
        assert_int_equal(judge(&f, &bytes), DTLS_FILTER_PASS);
    }
}

static void what_is_not_passed_moves_no_sequence_number(void **state)
{
    (void)state;
    static const uint8_t hello_done[] = {14, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0};
    static const uint8_t alert[] = {2, 40};
    struct dtls_filter f;
    struct record_bytes bytes;
    dtls_filter_init(&f, true);
    make_record(&bytes, 21, DTLS_1_2, 0, 30, bytes_view_of(alert, sizeof(alert)));
    assert_int_equal(judge(&f, &bytes), DTLS_FILTER_HOLD_ALERT);
    make_record(&bytes, 23, DTLS_1_2, 0, 30, bytes_view_of(alert, sizeof(alert)));
    assert_int_equal(judge(&f, &bytes), DTLS_FILTER_DROP_TYPE);
    make_record(&bytes, 22, DTLS_1_2, 0, 30, bytes_view_of(alert, sizeof(alert)));
    assert_int_equal(judge(&f, &bytes), DTLS_FILTER_DROP_MESSAGE);
    make_record(&bytes, 22, DTLS_1_2, 1, 1000, bytes_view_of(alert, sizeof(alert)));
    assert_int_equal(judge(&f, &bytes), DTLS_FILTER_PASS);
    make_record(&bytes, 22, DTLS_1_2, 0, 33, bytes_view_of(hello_done, sizeof(hello_done)));
    assert_int_equal(judge(&f, &bytes), DTLS_FILTER_DROP_SEQUENCE);
}

static void encrypted_records_of_the_next_epoch_pass_and_later_ones_do_not(void **state)
{
    (void)state;
    static const struct {
        uint16_t epoch;
        uint16_t version;
        enum dtls_filter_verdict verdict;
    } epoch_case[] = {
        {1, DTLS_1_2, DTLS_FILTER_PASS},
        {2, DTLS_1_2, DTLS_FILTER_DROP_EPOCH},
        {0xffff, DTLS_1_2, DTLS_FILTER_DROP_EPOCH},
        {1, 0x0303, DTLS_FILTER_DROP_VERSION},
        {0, 0x0303, DTLS_FILTER_DROP_VERSION},
        {0, 0xfdfd, DTLS_FILTER_DROP_VERSION},
    };
    const uint8_t sealed[24] = {0};
    for (size_t i = 0; i < COUNT_OF(epoch_case); i++) {
        for (uint8_t content_type = 20; content_type <= 23; content_type++) {
            struct dtls_filter f;
            struct record_bytes bytes;
            dtls_filter_init(&f, false);
            make_record(&bytes, content_type, epoch_case[i].version, epoch_case[i].epoch, 5,
                        bytes_view_of(sealed, sizeof(sealed)));
            assert_int_equal(judge(&f, &bytes), epoch_case[i].verdict);
        }
    }
}

static void a_record_whose_length_does_not_fit_is_not_read(void **state)
{
    (void)state;
    const uint8_t fragment[] = {1, 2, 3};
    struct record_bytes bytes;
    struct byte_reader r;
    struct dtls_record record;
    byte_reader_init(&r, bytes_view_of(NULL, 0));
    assert_false(dtls_record_read(&r, &record));
    make_record(&bytes, 22, DTLS_1_2, 0, 7, bytes_view_of(fragment, sizeof(fragment)));
    for (size_t len = 0; len < bytes.len; len++) {
        byte_reader_init(&r, bytes_view_of(bytes.data, len));
        assert_false(dtls_record_read(&r, &record));
    }
    /* Two records, the second one byte short. */
    uint8_t two[2 * RECORD_BYTES_MAX];
    memcpy(two, bytes.data, bytes.len);
    memcpy(two + bytes.len, bytes.data, bytes.len);
    byte_reader_init(&r, bytes_view_of(two, 2 * bytes.len - 1));
    assert_true(dtls_record_read(&r, &record));
    assert_int_equal(record.content_type, 22);
    assert_int_equal(record.version, DTLS_1_2);
    assert_int_equal(record.epoch, 0);
    assert_int_equal(record.sequence_number, 7);
    assert_int_equal(record.fragment.len, 3);
    assert_int_equal(record.whole.len, bytes.len);
    assert_ptr_equal(record.whole.data, two);
    assert_false(dtls_record_read(&r, &record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_plaintext_record_has_its_verdict),
        cmocka_unit_test(a_handshake_message_cut_anywhere_is_dropped),
        cmocka_unit_test(a_cookie_of_255_bytes_is_held_and_a_longer_one_dropped),
        cmocka_unit_test(a_sequence_number_may_be_32_ahead_and_no_more),
        cmocka_unit_test(a_change_cipher_spec_passes_only_when_it_is_awaited),
        cmocka_unit_test(what_is_not_passed_moves_no_sequence_number),
        cmocka_unit_test(encrypted_records_of_the_next_epoch_pass_and_later_ones_do_not),
        cmocka_unit_test(a_record_whose_length_does_not_fit_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
