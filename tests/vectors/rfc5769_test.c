/* rfc5769_test.c - STUN against the test vectors of RFC 5769 */
#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "common/stun/stun_message.h"

#define SHORT_TERM_PASSWORD "VOkJxbRl1RmTxUk/WvJxBt"

/* RFC 5769 s.2.1: sample request. */
static const uint8_t request[] = {
    0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
    0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54, 0x55, 0x4e, 0x20, 0x74, 0x65, 0x73,
    0x74, 0x20, 0x63, 0x6c, 0x69, 0x65, 0x6e, 0x74, 0x00, 0x24, 0x00, 0x04, 0x6e, 0x00, 0x01, 0xff,
    0x80, 0x29, 0x00, 0x08, 0x93, 0x2f, 0xf9, 0xb1, 0x51, 0x26, 0x3b, 0x36, 0x00, 0x06, 0x00, 0x09,
    0x65, 0x76, 0x74, 0x6a, 0x3a, 0x68, 0x36, 0x76, 0x59, 0x20, 0x20, 0x20, 0x00, 0x08, 0x00, 0x14,
    0x9a, 0xea, 0xa7, 0x0c, 0xbf, 0xd8, 0xcb, 0x56, 0x78, 0x1e, 0xf2, 0xb5, 0xb2, 0xd3, 0xf2, 0x49,
    0xc1, 0xb5, 0x71, 0xa2, 0x80, 0x28, 0x00, 0x04, 0xe5, 0x7a, 0x3b, 0xcf,
};

/* RFC 5769 s.2.2: sample IPv4 response. */
static const uint8_t ipv4_response[] = {
    0x01, 0x01, 0x00, 0x3c, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
    0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63,
    0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x08, 0x00, 0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43,
    0x00, 0x08, 0x00, 0x14, 0x2b, 0x91, 0xf5, 0x99, 0xfd, 0x9e, 0x90, 0xc3, 0x8c, 0x74, 0x89, 0xf9,
    0x2a, 0xf9, 0xba, 0x53, 0xf0, 0x6b, 0xe7, 0xd7, 0x80, 0x28, 0x00, 0x04, 0xc0, 0x7d, 0x4c, 0x96,
};

/* RFC 5769 s.2.3: sample IPv6 response. */
static const uint8_t ipv6_response[] = {
    0x01, 0x01, 0x00, 0x48, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
    0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63,
    0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x14, 0x00, 0x02, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa,
    0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9, 0xd9, 0x00, 0x08, 0x00, 0x14,
    0xa3, 0x82, 0x95, 0x4e, 0x4b, 0xe6, 0x7b, 0xf1, 0x17, 0x84, 0xc9, 0x7c, 0x82, 0x92, 0xc2, 0x75,
    0xbf, 0xe3, 0xed, 0x41, 0x80, 0x28, 0x00, 0x04, 0xc8, 0xfb, 0x0b, 0x4c,
};

/* RFC 5769 s.2.4: sample request with long-term authentication. */
static const uint8_t long_term_request[] = {
    0x00, 0x01, 0x00, 0x60, 0x21, 0x12, 0xa4, 0x42, 0x78, 0xad, 0x34, 0x33, 0xc6, 0xad, 0x72,
    0xc0, 0x29, 0xda, 0x41, 0x2e, 0x00, 0x06, 0x00, 0x12, 0xe3, 0x83, 0x9e, 0xe3, 0x83, 0x88,
    0xe3, 0x83, 0xaa, 0xe3, 0x83, 0x83, 0xe3, 0x82, 0xaf, 0xe3, 0x82, 0xb9, 0x00, 0x00, 0x00,
    0x15, 0x00, 0x1c, 0x66, 0x2f, 0x2f, 0x34, 0x39, 0x39, 0x6b, 0x39, 0x35, 0x34, 0x64, 0x36,
    0x4f, 0x4c, 0x33, 0x34, 0x6f, 0x4c, 0x39, 0x46, 0x53, 0x54, 0x76, 0x79, 0x36, 0x34, 0x73,
    0x41, 0x00, 0x14, 0x00, 0x0b, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 0x2e, 0x6f, 0x72,
    0x67, 0x00, 0x00, 0x08, 0x00, 0x14, 0xf6, 0x70, 0x24, 0x65, 0x6d, 0xd6, 0x4a, 0x3e, 0x02,
    0xb8, 0xe0, 0x71, 0x2e, 0x85, 0xc9, 0xa2, 0x8c, 0xa8, 0x96, 0x66,
};

static struct hmac_sha1_key short_term_key(void)
{
    struct hmac_sha1_key key;
    hmac_sha1_key_init(&key, bytes_view_of_text(SHORT_TERM_PASSWORD));
    return key;
}

static void the_request_of_2_1_is_read_and_verifies(void **state)
{
    (void)state;
    struct stun_message m;
    const struct hmac_sha1_key key = short_term_key();
    assert_int_equal(stun_message_parse(bytes_view_of(request, sizeof(request)), &m), STUN_OK);
    assert_int_equal(m.type, STUN_BINDING_REQUEST);
    assert_memory_equal(m.transaction_id, request + 8, STUN_TRANSACTION_ID_BYTES);
    assert_true(bytes_equal(m.username, bytes_view_of_text("evtj:h6vY")));
    assert_true(m.has_priority);
    assert_int_equal(m.priority, 0x6e0001ff);
    assert_true(m.ice_controlled);
    assert_false(m.ice_controlling);
    assert_true(m.tie_breaker == UINT64_C(0x932ff9b151263b36));
    assert_false(m.use_candidate);
    assert_int_equal(m.unknown_required, 0);
    assert_true(stun_integrity_verify(&m, &key));
    assert_true(stun_fingerprint_verify(&m));
}

static const struct {
    const char *section;
    const uint8_t *bytes;
    size_t len;
    const char *mapped;
} response_case[] = {
    {"2.2", ipv4_response, sizeof(ipv4_response), "192.0.2.1:32853"},
    {"2.3", ipv6_response, sizeof(ipv6_response), "[2001:db8:1234:5678:11:2233:4455:6677]:32853"},
};

static void the_responses_of_2_2_and_2_3_are_read_and_verify(void **state)
{
    (void)state;
    const struct hmac_sha1_key key = short_term_key();
    for (size_t i = 0; i < COUNT_OF(response_case); i++) {
        struct stun_message m;
        struct net_addr mapped;
        const struct bytes_view bytes = bytes_view_of(response_case[i].bytes, response_case[i].len);
        assert_int_equal(stun_message_parse(bytes, &m), STUN_OK);
        assert_int_equal(m.type, STUN_BINDING_SUCCESS);
        assert_true(net_addr_parse(response_case[i].mapped, &mapped));
        assert_true(m.has_xor_mapped_address);
        assert_true(net_addr_equal(&m.xor_mapped_address, &mapped));
        assert_true(stun_integrity_verify(&m, &key));
        assert_true(stun_fingerprint_verify(&m));
    }
}

static void the_request_of_2_4_verifies_and_names_what_it_requires(void **state)
{
    (void)state;
    /* MD5 of "<U+30DE U+30C8 U+30EA U+30C3 U+30AF U+30B9>:example.org:TheMatrIX". */
    uint8_t long_term[16];
    assert_true(bytes_from_hex(bytes_view_of_text("e8ca7ad59d5eb0518e312911d2dab2a9"), long_term,
                               sizeof(long_term)));
    struct hmac_sha1_key key;
    struct stun_message m;
    hmac_sha1_key_init(&key, bytes_view_of(long_term, sizeof(long_term)));
    const struct bytes_view bytes = bytes_view_of(long_term_request, sizeof(long_term_request));
    assert_int_equal(stun_message_parse(bytes, &m), STUN_OK);
    assert_int_equal(m.username.len, 18);
    assert_int_equal(m.unknown_required, 0x0015); /* NONCE: we speak short-term only */
    assert_true(stun_integrity_verify(&m, &key));
    assert_int_equal(m.fingerprint_offset, 0);
}

/* The vectors pad with spaces, which a writer of ours never does; all else must be the same. */
static void building_the_responses_gives_the_same_bytes(void **state)
{
    (void)state;
    const struct hmac_sha1_key key = short_term_key();
    for (size_t i = 0; i < COUNT_OF(response_case); i++) {
        uint8_t out[128];
        struct byte_writer w;
        struct net_addr mapped;
        struct bytes_view software = bytes_view_of("test vector ", 12);
        assert_true(net_addr_parse(response_case[i].mapped, &mapped));
        byte_writer_init(&w, out, sizeof(out));
        stun_message_begin(&w, STUN_BINDING_SUCCESS, response_case[i].bytes + 8);
        stun_message_add(&w, STUN_SOFTWARE, software);
        out[23] = 11; /* the length without its padding */
        stun_message_add_xor_address(&w, STUN_XOR_MAPPED_ADDRESS, &mapped);
        stun_integrity_append(&w, &key);
        stun_fingerprint_append(&w);
        assert_false(w.failed);
        assert_int_equal(w.len, response_case[i].len);
        assert_memory_equal(out, response_case[i].bytes, w.len);
    }
}

/* What a bit flip may do: make the message unreadable, or break a check. It never passes, but for
 * the bits that RFC 8489 leaves without meaning: padding is covered by MESSAGE-INTEGRITY. */
static void no_flipped_bit_of_the_request_passes(void **state)
{
    (void)state;
    const struct hmac_sha1_key key = short_term_key();
    uint8_t bytes[sizeof(request)];
    memcpy(bytes, request, sizeof(bytes));
    for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
        struct stun_message m;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const bool passes =
            stun_message_parse(bytes_view_of(bytes, sizeof(bytes)), &m) == STUN_OK &&
            stun_integrity_verify(&m, &key) && m.fingerprint_offset != 0 &&
            stun_fingerprint_verify(&m);
        assert_false(passes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void another_password_does_not_verify(void **state)
{
    (void)state;
    struct stun_message m;
    struct hmac_sha1_key key;
    hmac_sha1_key_init(&key, bytes_view_of_text("VOkJxbRl1RmTxUk/WvJxBu"));
    assert_int_equal(stun_message_parse(bytes_view_of(request, sizeof(request)), &m), STUN_OK);
    assert_false(stun_integrity_verify(&m, &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_of_2_1_is_read_and_verifies),
        cmocka_unit_test(the_responses_of_2_2_and_2_3_are_read_and_verify),
        cmocka_unit_test(the_request_of_2_4_verifies_and_names_what_it_requires),
        cmocka_unit_test(building_the_responses_gives_the_same_bytes),
        cmocka_unit_test(no_flipped_bit_of_the_request_passes),
        cmocka_unit_test(another_password_does_not_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
