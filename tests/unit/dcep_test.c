/* dcep_test.c - DATA_CHANNEL_OPEN and ACK, names from strangers, payload identifiers */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dcep.h"

/* As Chromium opens "oai-events": reliable, ordered, no protocol. */
static const uint8_t chromium_open[] = {0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                        0x00, 0x0a, 0x00, 0x00, 'o',  'a',  'i',  '-',
                                        'e',  'v',  'e',  'n',  't',  's'};

static void an_open_is_read(void **state)
{
    struct dcep_open open;
    (void)state;
    assert_int_equal(dcep_parse(bytes_view_of(chromium_open, sizeof(chromium_open)), &open),
                     DCEP_OPEN);
    assert_true(bytes_equal(open.label, bytes_view_of_text("oai-events")));
    assert_int_equal(open.protocol.len, 0);
    assert_false(open.is_unordered);
    assert_int_equal(open.reliability, DCEP_RELIABLE);
}

static void an_open_cut_anywhere_or_too_long_is_bad(void **state)
{
    struct dcep_open open;
    uint8_t longer[sizeof(chromium_open) + 1] = {0};
    (void)state;
    for (size_t len = 0; len < sizeof(chromium_open); len++) {
        assert_int_equal(dcep_parse(bytes_view_of(chromium_open, len), &open), DCEP_BAD);
    }
    memcpy(longer, chromium_open, sizeof(chromium_open));
    assert_int_equal(dcep_parse(bytes_view_of(longer, sizeof(longer)), &open), DCEP_BAD);
}

static void every_channel_type_of_the_rfc_is_known_and_no_other(void **state)
{
    static const struct {
        uint8_t type;
        bool is_unordered;
        enum dcep_reliability reliability;
    } known[] = {
        {0x00, false, DCEP_RELIABLE},    {0x80, true, DCEP_RELIABLE},
        {0x01, false, DCEP_RETRANSMITS}, {0x81, true, DCEP_RETRANSMITS},
        {0x02, false, DCEP_LIFETIME},    {0x82, true, DCEP_LIFETIME},
    };
    uint8_t message[sizeof(chromium_open)];
    struct dcep_open open;
    size_t good = 0;
    (void)state;
    memcpy(message, chromium_open, sizeof(message));
    message[7] = 9; /* the reliability parameter's last byte */
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        message[1] = (uint8_t)type;
        good += dcep_parse(bytes_view_of(message, sizeof(message)), &open) == DCEP_OPEN;
    }
    assert_int_equal(good, COUNT_OF(known));
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        message[1] = known[i].type;
        assert_int_equal(dcep_parse(bytes_view_of(message, sizeof(message)), &open), DCEP_OPEN);
        assert_int_equal(open.is_unordered, known[i].is_unordered);
        assert_int_equal(open.reliability, known[i].reliability);
        assert_int_equal(open.reliability_parameter, known[i].reliability == DCEP_RELIABLE ? 0 : 9);
    }
}

static void what_is_written_is_read_again(void **state)
{
    const struct dcep_open in = {.is_unordered = true,
                                 .reliability = DCEP_LIFETIME,
                                 .reliability_parameter = 3000,
                                 .priority = 512,
                                 .label = bytes_view_of_text("chat"),
                                 .protocol = bytes_view_of_text("json")};
    struct dcep_open out;
    uint8_t bytes[DCEP_OPEN_BYTES_MAX];
    (void)state;
    const size_t len = dcep_write_open(&in, bytes, sizeof(bytes));
    assert_int_equal(len, 20);
    assert_int_equal(dcep_write_open(&in, bytes, len - 1), 0);
    assert_int_equal(dcep_write_open(&in, bytes, len), len);
    assert_int_equal(dcep_parse(bytes_view_of(bytes, len), &out), DCEP_OPEN);
    assert_true(out.is_unordered);
    assert_int_equal(out.reliability, DCEP_LIFETIME);
    assert_int_equal(out.reliability_parameter, 3000);
    assert_int_equal(out.priority, 512);
    assert_true(bytes_equal(out.label, in.label));
    assert_true(bytes_equal(out.protocol, in.protocol));
}

static void an_ack_is_one_byte_and_anything_else_is_bad(void **state)
{
    struct dcep_open open;
    uint8_t ack[DCEP_ACK_BYTES];
    (void)state;
    assert_int_equal(dcep_write_ack(ack), 1);
    for (unsigned first = 0; first <= UINT8_MAX; first++) {
        const uint8_t message = (uint8_t)first;
        assert_int_equal(dcep_parse(bytes_view_of(&message, 1), &open),
                         message == ack[0] ? DCEP_ACK : DCEP_BAD);
    }
}

static enum dcep_result parse_named(const void *label, size_t label_len, const void *protocol,
                                    size_t protocol_len)
{
    uint8_t bytes[2048];
    struct dcep_open out;
    const struct dcep_open in = {.label = bytes_view_of(label, label_len),
                                 .protocol = bytes_view_of(protocol, protocol_len)};
    const size_t len = dcep_write_open(&in, bytes, sizeof(bytes));
    assert_true(len > 0);
    return dcep_parse(bytes_view_of(bytes, len), &out);
}

static void a_name_is_bounded(void **state)
{
    char name[DCEP_NAME_BYTES_MAX + 1];
    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(parse_named(name, DCEP_NAME_BYTES_MAX, name, DCEP_NAME_BYTES_MAX), DCEP_OPEN);
    assert_int_equal(parse_named(name, DCEP_NAME_BYTES_MAX + 1, "", 0), DCEP_BAD);
    assert_int_equal(parse_named("", 0, name, DCEP_NAME_BYTES_MAX + 1), DCEP_BAD);
}

static void a_name_is_utf8_without_a_nul(void **state)
{
    static const struct {
        const char *name;
        bool is_good;
    } table[] = {
        {"", true},
        {"oai-events", true},
        {"gespr\xc3\xa4"
         "ch",
         true},
        {"\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf", true},
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true},
        {"\x80", false},                 /* not a first byte */
        {"\xc0\x80", false},             /* overlong */
        {"\xc1\xbf", false},             /* overlong */
        {"\xe0\x9f\xbf", false},         /* overlong */
        {"\xf0\x8f\xbf\xbf", false},     /* overlong */
        {"\xed\xa0\x80", false},         /* a surrogate */
        {"\xf4\x90\x80\x80", false},     /* above U+10FFFF */
        {"\xf5\x80\x80\x80", false},     /* likewise */
        {"\xc3", false},                 /* cut */
        {"\xe2\x82", false},             /* cut */
        {"\xe2\x28\xa1", false},         /* a second byte that is none */
        {"\xe2\x82\x28", false},         /* a third one */
        {"\xf0\x90\x80\x28 more", false} /* a fourth one */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_int_equal(parse_named(table[i].name, strlen(table[i].name), "", 0),
                         table[i].is_good ? DCEP_OPEN : DCEP_BAD);
    }
    assert_int_equal(parse_named("a\0b", 3, "", 0), DCEP_BAD);
}

static void an_identifier_says_what_a_message_is(void **state)
{
    static const struct {
        uint32_t ppid;
        enum dcep_content content;
        bool is_empty;
    } table[] = {
        {0, DCEP_CONTENT_UNKNOWN, false},  {49, DCEP_CONTENT_UNKNOWN, false},
        {50, DCEP_CONTENT_CONTROL, false}, {51, DCEP_CONTENT_TEXT, false},
        {52, DCEP_CONTENT_UNKNOWN, false}, {53, DCEP_CONTENT_BINARY, false},
        {54, DCEP_CONTENT_UNKNOWN, false}, {55, DCEP_CONTENT_UNKNOWN, false},
        {56, DCEP_CONTENT_TEXT, true},     {57, DCEP_CONTENT_BINARY, true},
        {58, DCEP_CONTENT_UNKNOWN, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        bool is_empty = !table[i].is_empty;
        assert_int_equal(dcep_content_of(table[i].ppid, &is_empty), table[i].content);
        assert_int_equal(is_empty, table[i].is_empty);
    }
    assert_int_equal(dcep_ppid_of(true, false), 51);
    assert_int_equal(dcep_ppid_of(true, true), 56);
    assert_int_equal(dcep_ppid_of(false, false), 53);
    assert_int_equal(dcep_ppid_of(false, true), 57);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_is_read),
        cmocka_unit_test(an_open_cut_anywhere_or_too_long_is_bad),
        cmocka_unit_test(every_channel_type_of_the_rfc_is_known_and_no_other),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(an_ack_is_one_byte_and_anything_else_is_bad),
        cmocka_unit_test(a_name_is_bounded),
        cmocka_unit_test(a_name_is_utf8_without_a_nul),
        cmocka_unit_test(an_identifier_says_what_a_message_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
