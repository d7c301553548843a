/* stun_message_test.c - what is refused as STUN, and that no cut or repeated byte confuses it */
#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "common/stun/stun_message.h"

static const uint8_t transaction_id[STUN_TRANSACTION_ID_BYTES] = {1, 2, 3, 4,  5,  6,
                                                                  7, 8, 9, 10, 11, 12};

struct message {
    uint8_t bytes[STUN_MESSAGE_BYTES_MAX + 64];
    struct byte_writer w;
};

static void begin(struct message *m, uint16_t type)
{
    byte_writer_init(&m->w, m->bytes, sizeof(m->bytes));
    stun_message_begin(&m->w, type, transaction_id);
}

static struct bytes_view view_of(const struct message *m)
{
    assert_false(m->w.failed);
    return bytes_view_of(m->bytes, m->w.len);
}

static enum stun_parse_result parse(const struct message *m, struct stun_message *out)
{
    return stun_message_parse(view_of(m), out);
}

static struct hmac_sha1_key key_of(const char *password)
{
    struct hmac_sha1_key key;
    hmac_sha1_key_init(&key, bytes_view_of_text(password));
    return key;
}

/* A request as libnice sends it: USERNAME is the fourth attribute. */
static void build_request(struct message *m)
{
    const struct hmac_sha1_key key = key_of("password");
    begin(m, STUN_BINDING_REQUEST);
    stun_message_add_u32(&m->w, STUN_PRIORITY, 0x7effffff);
    stun_message_add_u64(&m->w, STUN_ICE_CONTROLLING, UINT64_C(0x1122334455667788));
    stun_message_add(&m->w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    stun_message_add(&m->w, STUN_USERNAME, bytes_view_of_text("server:client"));
    stun_integrity_append(&m->w, &key);
    stun_fingerprint_append(&m->w);
}

static void a_request_survives_a_round_trip(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    const struct hmac_sha1_key key = key_of("password");
    build_request(&m);
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_int_equal(out.type, STUN_BINDING_REQUEST);
    assert_memory_equal(out.transaction_id, transaction_id, sizeof(transaction_id));
    assert_true(bytes_equal(out.username, bytes_view_of_text("server:client")));
    assert_true(out.has_priority);
    assert_int_equal(out.priority, 0x7effffff);
    assert_true(out.use_candidate);
    assert_true(out.ice_controlling);
    assert_false(out.ice_controlled);
    assert_true(out.tie_breaker == UINT64_C(0x1122334455667788));
    assert_true(stun_integrity_verify(&out, &key));
    assert_true(stun_fingerprint_verify(&out));
}

static void a_request_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    struct message m;
    build_request(&m);
    for (size_t len = 0; len < m.w.len; len++) {
        struct stun_message out;
        struct bytes_view username;
        /* A copy of its own, so that the sanitizer sees a read behind the cut. */
        uint8_t *cut = test_malloc(len + 1);
        memcpy(cut, m.bytes, len);
        const enum stun_parse_result expected = len < STUN_HEADER_BYTES ? STUN_SHORT : STUN_LENGTH;
        assert_int_equal(stun_message_parse(bytes_view_of(cut, len), &out), expected);
        assert_int_equal(stun_message_peek_username(bytes_view_of(cut, len), &username), expected);
        assert_null(username.data);
        test_free(cut);
    }
}

/* The same cut with a length field that admits it: attributes end in the middle. */
static void a_cut_that_the_length_field_admits_never_verifies(void **state)
{
    (void)state;
    struct message m;
    const struct hmac_sha1_key key = key_of("password");
    build_request(&m);
    const size_t whole = m.w.len;
    for (size_t len = STUN_HEADER_BYTES; len < whole; len += 4) {
        struct stun_message out;
        m.w.len = len;
        m.bytes[3] = (uint8_t)(len - STUN_HEADER_BYTES);
        if (parse(&m, &out) == STUN_OK) {
            const bool only_fingerprint_is_gone = len == whole - 8;
            assert_int_equal(stun_integrity_verify(&out, &key), only_fingerprint_is_gone);
        }
    }
}

static void the_length_bounds_are_20_and_1280(void **state)
{
    (void)state;
    static const uint8_t filler[STUN_MESSAGE_BYTES_MAX];
    struct message m;
    struct stun_message out;
    begin(&m, STUN_BINDING_INDICATION);
    assert_int_equal(parse(&m, &out), STUN_OK);
    m.w.len--;
    assert_int_equal(parse(&m, &out), STUN_SHORT);

    begin(&m, STUN_BINDING_INDICATION);
    stun_message_add(&m.w, STUN_SOFTWARE, bytes_view_of(filler, STUN_MESSAGE_BYTES_MAX - 24));
    assert_int_equal(m.w.len, STUN_MESSAGE_BYTES_MAX);
    assert_int_equal(parse(&m, &out), STUN_OK);
    begin(&m, STUN_BINDING_INDICATION);
    stun_message_add(&m.w, STUN_SOFTWARE, bytes_view_of(filler, STUN_MESSAGE_BYTES_MAX - 20));
    assert_int_equal(parse(&m, &out), STUN_SHORT);
}

static void other_protocols_are_not_stun(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    for (unsigned first = 0; first < 256; first++) {
        begin(&m, STUN_BINDING_REQUEST);
        m.bytes[0] = (uint8_t)first;
        assert_int_equal(parse(&m, &out), first < 64 ? STUN_OK : STUN_NOT_STUN);
    }
    for (size_t bit = 0; bit < 32; bit++) {
        begin(&m, STUN_BINDING_REQUEST);
        m.bytes[4 + bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(parse(&m, &out), STUN_NOT_STUN);
    }
}

static void a_length_field_that_lies_is_refused(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    for (unsigned length = 0; length <= 0xffff; length++) {
        build_request(&m);
        const unsigned right = (unsigned)m.w.len - STUN_HEADER_BYTES;
        m.bytes[2] = (uint8_t)(length >> 8);
        m.bytes[3] = (uint8_t)length;
        assert_int_equal(parse(&m, &out), length == right ? STUN_OK : STUN_LENGTH);
    }
    /* Right, but no multiple of 4. */
    begin(&m, STUN_BINDING_REQUEST);
    byte_writer_u16(&m.w, 0);
    m.bytes[3] = 2;
    assert_int_equal(parse(&m, &out), STUN_LENGTH);
}

static void thirty_two_attributes_are_read_and_one_more_is_refused(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    struct bytes_view username;
    begin(&m, STUN_BINDING_REQUEST);
    for (int i = 0; i < STUN_ATTRIBUTES_MAX - 1; i++) {
        stun_message_add_u32(&m.w, STUN_SOFTWARE, 0);
    }
    stun_message_add(&m.w, STUN_USERNAME, bytes_view_of_text("a:b"));
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_OK);
    assert_true(bytes_equal(username, bytes_view_of_text("a:b")));
    stun_message_add_u32(&m.w, STUN_SOFTWARE, 0);
    assert_int_equal(parse(&m, &out), STUN_ATTRIBUTE);
    assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_ATTRIBUTE);
    assert_null(username.data);
}

/* Sizes of the attributes that have a fixed one. */
static const struct {
    uint16_t type;
    size_t size;
} sized[] = {{STUN_PRIORITY, 4},          {STUN_USE_CANDIDATE, 0}, {STUN_ICE_CONTROLLED, 8},
             {STUN_ICE_CONTROLLING, 8},   {STUN_FINGERPRINT, 4},   {STUN_MESSAGE_INTEGRITY, 20},
             {STUN_XOR_MAPPED_ADDRESS, 8}};

static void an_attribute_of_another_size_is_refused(void **state)
{
    (void)state;
    static const uint8_t value[32] = {0, 1}; /* family IPv4 for the address */
    for (size_t i = 0; i < COUNT_OF(sized); i++) {
        for (size_t size = 0; size <= sizeof(value); size++) {
            struct message m;
            struct stun_message out;
            begin(&m, STUN_BINDING_REQUEST);
            stun_message_add(&m.w, sized[i].type, bytes_view_of(value, size));
            const enum stun_parse_result expected =
                size == sized[i].size ? STUN_OK : STUN_ATTRIBUTE;
            assert_int_equal(parse(&m, &out), expected);
        }
    }
}

static void an_attribute_of_ice_may_not_repeat(void **state)
{
    (void)state;
    static const struct {
        uint16_t first, second;
        size_t size;
    } repeat_case[] = {
        {STUN_PRIORITY, STUN_PRIORITY, 4},
        {STUN_USE_CANDIDATE, STUN_USE_CANDIDATE, 0},
        {STUN_ICE_CONTROLLED, STUN_ICE_CONTROLLED, 8},
        {STUN_ICE_CONTROLLED, STUN_ICE_CONTROLLING, 8},
        {STUN_USERNAME, STUN_USERNAME, 8},
        {STUN_XOR_MAPPED_ADDRESS, STUN_XOR_MAPPED_ADDRESS, 8},
    };
    static const uint8_t value[8] = {0, 1};
    for (size_t i = 0; i < COUNT_OF(repeat_case); i++) {
        struct message m;
        struct stun_message out;
        begin(&m, STUN_BINDING_REQUEST);
        stun_message_add(&m.w, repeat_case[i].first, bytes_view_of(value, repeat_case[i].size));
        assert_int_equal(parse(&m, &out), STUN_OK);
        stun_message_add(&m.w, repeat_case[i].second, bytes_view_of(value, repeat_case[i].size));
        assert_int_equal(parse(&m, &out), STUN_ATTRIBUTE);
    }
}

static void a_username_of_513_bytes_is_read_and_one_of_514_refused(void **state)
{
    (void)state;
    static const uint8_t name[STUN_USERNAME_BYTES_MAX + 1] = {'u'};
    for (size_t len = STUN_USERNAME_BYTES_MAX; len <= sizeof(name); len++) {
        struct message m;
        struct stun_message out;
        struct bytes_view username;
        const enum stun_parse_result expected =
            len <= STUN_USERNAME_BYTES_MAX ? STUN_OK : STUN_ATTRIBUTE;
        begin(&m, STUN_BINDING_REQUEST);
        stun_message_add(&m.w, STUN_USERNAME, bytes_view_of(name, len));
        assert_int_equal(parse(&m, &out), expected);
        assert_int_equal(stun_message_peek_username(view_of(&m), &username), expected);
        assert_int_equal(username.len, expected == STUN_OK ? len : 0);
    }
}

static void nothing_after_message_integrity_counts(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    struct bytes_view found;
    const struct hmac_sha1_key key = key_of("password");
    begin(&m, STUN_BINDING_REQUEST);
    stun_message_add(&m.w, STUN_USERNAME, bytes_view_of_text("a:b"));
    stun_integrity_append(&m.w, &key);
    stun_message_add(&m.w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    stun_message_add(&m.w, STUN_USERNAME, bytes_view_of_text("c:d"));
    stun_message_add_u32(&m.w, 0x7fff, 0);
    stun_message_add_u32(&m.w, 0xc070, 0);
    stun_fingerprint_append(&m.w);
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_true(stun_integrity_verify(&out, &key));
    assert_true(stun_fingerprint_verify(&out));
    assert_false(out.use_candidate);
    assert_int_equal(out.unknown_required, 0);
    assert_true(bytes_equal(out.username, bytes_view_of_text("a:b")));
    assert_false(stun_message_find(&out, 0xc070, &found));
    assert_int_equal(stun_message_peek_username(view_of(&m), &found), STUN_OK);
    assert_true(bytes_equal(found, bytes_view_of_text("a:b")));
}

static void nothing_may_follow_fingerprint(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    build_request(&m);
    stun_message_add_u32(&m.w, STUN_SOFTWARE, 0);
    assert_int_equal(parse(&m, &out), STUN_ATTRIBUTE);
}

static void the_first_unknown_required_attribute_is_named(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    begin(&m, STUN_BINDING_REQUEST);
    stun_message_add_u32(&m.w, 0x8000, 0);
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_int_equal(out.unknown_required, 0);
    stun_message_add_u32(&m.w, 0x7fff, 0);
    stun_message_add_u32(&m.w, 0x7ffe, 0);
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_int_equal(out.unknown_required, 0x7fff);
}

static void find_gives_the_first_attribute_of_a_type(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    struct bytes_view found;
    begin(&m, STUN_BINDING_REQUEST);
    stun_message_add(&m.w, 0xc071, (struct bytes_view){0});
    stun_message_add(&m.w, 0xc070, bytes_view_of_text("first"));
    stun_message_add(&m.w, 0xc070, bytes_view_of_text("second"));
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_true(stun_message_find(&out, 0xc070, &found));
    assert_true(bytes_equal(found, bytes_view_of_text("first")));
    assert_true(stun_message_find(&out, 0xc071, &found));
    assert_int_equal(found.len, 0);
    assert_false(stun_message_find(&out, 0xc072, &found));
}

static void peek_wants_a_binding_request(void **state)
{
    (void)state;
    static const uint16_t other[] = {STUN_BINDING_INDICATION, STUN_BINDING_SUCCESS,
                                     STUN_BINDING_ERROR, 0x0003, 0x0000};
    struct message m;
    struct bytes_view username;
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        begin(&m, other[i]);
        stun_message_add(&m.w, STUN_USERNAME, bytes_view_of_text("a:b"));
        assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_NOT_REQUEST);
        assert_null(username.data);
    }
    begin(&m, STUN_BINDING_REQUEST);
    assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_OK);
    assert_null(username.data);
    stun_message_add(&m.w, STUN_USERNAME, (struct bytes_view){0});
    assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_OK);
    assert_non_null(username.data); /* present and empty */
    build_request(&m);
    assert_int_equal(stun_message_peek_username(view_of(&m), &username), STUN_OK);
    assert_true(bytes_equal(username, bytes_view_of_text("server:client")));
}

static void an_error_code_is_read_between_300_and_699(void **state)
{
    (void)state;
    static const struct {
        uint8_t hundreds, rest;
        enum stun_parse_result expected;
        uint16_t code;
    } error_case[] = {
        {2, 99, STUN_ATTRIBUTE, 0}, {3, 0, STUN_OK, 300},        {4, 87, STUN_OK, 487},
        {6, 99, STUN_OK, 699},      {6, 100, STUN_ATTRIBUTE, 0}, {7, 0, STUN_ATTRIBUTE, 0},
        {0xfc, 20, STUN_OK, 420}, /* the reserved bits are ignored */
    };
    struct message m;
    struct stun_message out;
    for (size_t i = 0; i < COUNT_OF(error_case); i++) {
        const uint8_t value[] = {0, 0, error_case[i].hundreds, error_case[i].rest};
        begin(&m, STUN_BINDING_ERROR);
        stun_message_add(&m.w, STUN_ERROR_CODE, bytes_view_of(value, sizeof(value)));
        assert_int_equal(parse(&m, &out), error_case[i].expected);
        if (error_case[i].expected == STUN_OK) {
            assert_int_equal(out.error_code, error_case[i].code);
        }
    }
    begin(&m, STUN_BINDING_ERROR);
    stun_message_add_error(&m.w, 487, "Role Conflict");
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_int_equal(out.error_code, 487);
}

static void an_address_survives_a_round_trip(void **state)
{
    (void)state;
    static const char *const text[] = {"203.0.113.77:51870", "[2001:db8::1]:1", "0.0.0.0:0",
                                       "255.255.255.255:65535"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct message m;
        struct stun_message out;
        struct net_addr address;
        assert_true(net_addr_parse(text[i], &address));
        begin(&m, STUN_BINDING_SUCCESS);
        stun_message_add_xor_address(&m.w, STUN_XOR_MAPPED_ADDRESS, &address);
        assert_int_equal(parse(&m, &out), STUN_OK);
        assert_true(out.has_xor_mapped_address);
        assert_true(net_addr_equal(&out.xor_mapped_address, &address));
    }
}

static void an_address_of_an_unknown_family_is_refused(void **state)
{
    (void)state;
    for (unsigned family = 0; family < 256; family++) {
        const uint8_t value[20] = {0, (uint8_t)family};
        struct message m;
        struct stun_message out;
        begin(&m, STUN_BINDING_SUCCESS);
        stun_message_add(&m.w, STUN_XOR_MAPPED_ADDRESS, bytes_view_of(value, sizeof(value)));
        assert_int_equal(parse(&m, &out), family == 2 ? STUN_OK : STUN_ATTRIBUTE);
    }
}

static void a_message_without_the_attributes_fails_integrity_and_passes_fingerprint(void **state)
{
    (void)state;
    struct message m;
    struct stun_message out;
    const struct hmac_sha1_key key = key_of("password");
    begin(&m, STUN_BINDING_REQUEST);
    assert_int_equal(parse(&m, &out), STUN_OK);
    assert_false(stun_integrity_verify(&out, &key));
    assert_true(stun_fingerprint_verify(&out));
}

static void a_writer_without_room_fails_and_stays_inside(void **state)
{
    (void)state;
    struct message whole;
    const struct hmac_sha1_key key = key_of("password");
    build_request(&whole);
    for (size_t cap = 0; cap < whole.w.len; cap++) {
        struct byte_writer w;
        struct net_addr address = {.port = 1};
        uint8_t *room = test_malloc(cap + 1);
        byte_writer_init(&w, room, cap);
        stun_message_begin(&w, STUN_BINDING_SUCCESS, transaction_id);
        stun_message_add_xor_address(&w, STUN_XOR_MAPPED_ADDRESS, &address);
        stun_message_add_error(&w, 420, "Unknown Attribute");
        stun_integrity_append(&w, &key);
        stun_fingerprint_append(&w);
        assert_true(w.failed);
        test_free(room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_survives_a_round_trip),
        cmocka_unit_test(a_request_cut_at_any_byte_is_refused),
        cmocka_unit_test(a_cut_that_the_length_field_admits_never_verifies),
        cmocka_unit_test(the_length_bounds_are_20_and_1280),
        cmocka_unit_test(other_protocols_are_not_stun),
        cmocka_unit_test(a_length_field_that_lies_is_refused),
        cmocka_unit_test(thirty_two_attributes_are_read_and_one_more_is_refused),
        cmocka_unit_test(an_attribute_of_another_size_is_refused),
        cmocka_unit_test(an_attribute_of_ice_may_not_repeat),
        cmocka_unit_test(a_username_of_513_bytes_is_read_and_one_of_514_refused),
        cmocka_unit_test(nothing_after_message_integrity_counts),
        cmocka_unit_test(nothing_may_follow_fingerprint),
        cmocka_unit_test(the_first_unknown_required_attribute_is_named),
        cmocka_unit_test(find_gives_the_first_attribute_of_a_type),
        cmocka_unit_test(peek_wants_a_binding_request),
        cmocka_unit_test(an_error_code_is_read_between_300_and_699),
        cmocka_unit_test(an_address_survives_a_round_trip),
        cmocka_unit_test(an_address_of_an_unknown_family_is_refused),
        cmocka_unit_test(a_message_without_the_attributes_fails_integrity_and_passes_fingerprint),
        cmocka_unit_test(a_writer_without_room_fails_and_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
