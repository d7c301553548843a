/* control_message_hostile_test.c - values beyond their bounds, cuts, floods: nothing gets in */
#include "tests/unit/control_message_world.h"

/* A message made by hand: protobuf's own framing and nothing else. */
static void put_varint(struct byte_writer *w, uint64_t value)
{
    for (; value > 127; value >>= 7) {
        byte_writer_u8(w, (uint8_t)(value | 128));
    }
    byte_writer_u8(w, (uint8_t)value);
}

static void put_number(struct byte_writer *w, unsigned field, uint64_t value)
{
    put_varint(w, field << 3);
    put_varint(w, value);
}

static void put_data(struct byte_writer *w, unsigned field, struct bytes_view data)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, data.len);
    byte_writer_bytes(w, data);
}

/* The announcement whose fields `fields` holds, in its envelope. */
static bool decode_fields(const struct byte_writer *fields, struct control_announcement *out)
{
    struct byte_writer envelope;
    byte_writer_init(&envelope, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
    put_data(&envelope, 1, bytes_view_of(fields->data, fields->len));
    assert_false(envelope.failed);
    return control_decode_announcement(fixture.decoder,
                                       bytes_view_of(fixture.message, envelope.len), out);
}

static struct byte_writer minimal_announcement(uint8_t *bytes, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, bytes, cap);
    put_data(&w, 4, bytes_view_of_text("10.0.0.1:4000"));
    return w;
}

static void a_value_on_its_bound_passes_and_one_beyond_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned field;
        uint64_t good;
        uint64_t bad;
    } number_case[] = {
        {1, 65535, 65536}, /* cluster_id */
        {16, 63, 64},      /* key_ids */
        {20, 63, 64},      /* key_id_active */
    };
    struct control_announcement out;
    uint8_t bytes[64];
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
        put_number(&w, number_case[i].field, number_case[i].good);
        assert_true(decode_fields(&w, &out));
        w = minimal_announcement(bytes, sizeof(bytes));
        put_number(&w, number_case[i].field, number_case[i].bad);
        assert_false(decode_fields(&w, &out));
    }
}

static void a_text_of_its_longest_passes_and_one_longer_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned field;
        size_t chars_max;
    } text_case[] = {{3, CONTROL_NAME_CHARS_MAX},
                     {5, CONTROL_URL_CHARS_MAX},
                     {6, CONTROL_URL_CHARS_MAX},
                     {7, CONTROL_URL_CHARS_MAX},
                     {19, 31}};
    char text[CONTROL_URL_CHARS_MAX + 1];
    memset(text, 'x', sizeof(text));
    struct control_announcement out;
    uint8_t bytes[400];
    for (size_t i = 0; i < COUNT_OF(text_case); i++) {
        struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
        put_data(&w, text_case[i].field, bytes_view_of(text, text_case[i].chars_max));
        assert_true(decode_fields(&w, &out));
        w = minimal_announcement(bytes, sizeof(bytes));
        put_data(&w, text_case[i].field, bytes_view_of(text, text_case[i].chars_max + 1));
        assert_false(decode_fields(&w, &out));
    }
}

static void a_text_with_a_nul_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    struct control_announcement out;
    uint8_t bytes[64];
    static const struct bytes_view text[] = {
        {(const uint8_t *)"\0", 1}, {(const uint8_t *)"\0ab", 3}, {(const uint8_t *)"ab\0", 3}};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
        put_data(&w, 3, text[i]);
        assert_false(decode_fields(&w, &out));
    }
    struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
    put_data(&w, 3, bytes_view_of_text(""));
    assert_true(decode_fields(&w, &out));
}

static void a_media_address_must_be_one(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "10.0.0.1", "host:4000", "10.0.0.1:65536",
        "[fe80::1%a-name-that-is-far-too-long-for-any-interface-of-this-world-or-another]:1"};
    struct control_announcement out;
    uint8_t bytes[200];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct byte_writer w;
        byte_writer_init(&w, bytes, sizeof(bytes));
        put_data(&w, 4, bytes_view_of_text(bad[i]));
        assert_false(decode_fields(&w, &out));
    }
}

static void sixty_four_key_ids_pass_and_one_more_is_refused(void **state)
{
    (void)state;
    struct control_announcement out;
    uint8_t bytes[400];
    struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
    for (unsigned id = 0; id < CONTROL_KEY_IDS_MAX; id++) {
        put_number(&w, 16, id);
    }
    assert_true(decode_fields(&w, &out));
    assert_int_equal(out.key_id_count, CONTROL_KEY_IDS_MAX);
    put_number(&w, 16, 1);
    assert_false(decode_fields(&w, &out));
}

static void an_unknown_state_is_unknown_and_an_unknown_field_is_ignored(void **state)
{
    (void)state;
    struct control_announcement out;
    uint8_t bytes[64];
    static const uint64_t wire[] = {0, 5, 1000000, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(wire); i++) {
        struct byte_writer w = minimal_announcement(bytes, sizeof(bytes));
        put_number(&w, 13, wire[i]);
        put_data(&w, 99, bytes_view_of_text("news"));
        assert_true(decode_fields(&w, &out));
        assert_int_equal(out.state, CONTROL_STATE_UNKNOWN);
    }
}

static void an_unknown_or_absent_refusal_code_is_still_a_refusal(void **state)
{
    (void)state;
    static const uint64_t code[] = {0, CONTROL_REFUSAL_COUNT, 1000000, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(code); i++) {
        uint8_t refusal[16];
        struct byte_writer inner;
        byte_writer_init(&inner, refusal, sizeof(refusal));
        put_number(&inner, 1, code[i]);
        struct byte_writer w;
        byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
        put_data(&w, 1, bytes_view_of("request id 0007", 16));
        put_data(&w, 2, bytes_view_of(refusal, inner.len));
        struct control_reply out;
        assert_true(
            control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, w.len), &out));
        assert_int_equal(out.refusal, CONTROL_INTERNAL);
    }
}

static struct bytes_view with_request_id(size_t len, unsigned body_field)
{
    struct byte_writer w;
    byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
    put_data(&w, 1, bytes_view_of("a request id that is long", len));
    put_data(&w, body_field, (struct bytes_view){0});
    return bytes_view_of(fixture.message, w.len);
}

static void a_request_id_is_sixteen_bytes(void **state)
{
    (void)state;
    for (size_t len = 0; len < 20; len++) {
        struct control_reply reply;
        struct control_request request;
        assert_int_equal(
            control_decode_reply(fixture.decoder, with_request_id(len, 4), &reply), /* ended */
            len == 16);
        assert_int_equal(
            control_decode_request(fixture.decoder, with_request_id(len, 15), &request), /* new */
            len == 16);
    }
}

static void a_message_with_another_body_is_no_announcement(void **state)
{
    (void)state;
    struct control_announcement out;
    static const uint8_t process_status[] = {0x12, 0x00};
    assert_false(control_decode_announcement(
        fixture.decoder, bytes_view_of(process_status, sizeof(process_status)), &out));
    assert_false(control_decode_announcement(fixture.decoder, (struct bytes_view){0}, &out));
}

/* Any cut either fails or gives a message whose fields are within their bounds; never a crash. */
static void every_message_can_be_cut_at_every_byte(void **state)
{
    (void)state;
    const struct control_announcement announcement = sample_announcement();
    struct control_announcement announcement_out;
    struct control_request request_out;
    struct control_reply reply_out;
    size_t len = control_encode_announcement(&announcement, room());
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1); /* the sanitizer sees a read past the cut */
        memcpy(copy, fixture.message, cut);
        assert_false(control_decode_announcement(fixture.decoder, bytes_view_of(copy, cut),
                                                 &announcement_out));
        free(copy);
    }
    const struct control_request request = sample_create_session();
    len = control_encode_request(&request, room());
    for (size_t cut = 0; cut < len; cut++) {
        const bool is_whole_field = cut == 18; /* the request id alone: a body from the future */
        assert_int_equal(control_decode_request(fixture.decoder,
                                                bytes_view_of(fixture.message, cut), &request_out),
                         is_whole_field);
    }
    const struct control_reply reply = {.kind = CONTROL_END_SESSION};
    len = control_encode_reply(&reply, room());
    for (size_t cut = 0; cut < len; cut++) {
        assert_false(
            control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, cut), &reply_out));
    }
}

static void unknown_fields_that_would_take_megabytes_are_refused(void **state)
{
    (void)state;
    struct control_request out;
    struct byte_writer w;
    byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
    put_data(&w, 1, bytes_view_of("request id 0008", 16));
    const size_t request_id_len = w.len;
    for (int i = 0; i < 1000; i++) {
        put_number(&w, 15, 1);
    }
    assert_true(
        control_decode_request(fixture.decoder, bytes_view_of(fixture.message, w.len), &out));
    w.len = request_id_len;
    while (w.cap - w.len > 2) {
        put_number(&w, 15, 1);
    }
    assert_false(
        control_decode_request(fixture.decoder, bytes_view_of(fixture.message, w.len), &out));

    /* The decoder is as good as new after that. */
    const struct control_request request = sample_end_session();
    const size_t len = control_encode_request(&request, room());
    assert_true(control_decode_request(fixture.decoder, bytes_view_of(fixture.message, len), &out));
}

static void the_largest_request_passes_and_larger_fields_are_neither_sent_nor_taken(void **state)
{
    (void)state;
    uint8_t *large = calloc(1, CONTROL_SESSION_BYTES_MAX + 1);
    struct control_request in = sample_create_session();
    struct control_request out;
    in.body.create_session.offer_sdp = bytes_view_of(large, CONTROL_OFFER_BYTES_MAX);
    in.body.create_session.session_json = bytes_view_of(large, CONTROL_SESSION_BYTES_MAX);
    size_t len = control_encode_request(&in, room());
    assert_true(len > 0);
    assert_true(control_decode_request(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_int_equal(out.body.create_session.session_json.len, CONTROL_SESSION_BYTES_MAX);

    in.body.create_session.session_json.len++;
    assert_int_equal(control_encode_request(&in, room()), 0);
    in.body.create_session.session_json.len = 0;
    in.body.create_session.offer_sdp.len++;
    assert_int_equal(control_encode_request(&in, room()), 0);

    struct byte_writer body;
    byte_writer_init(&body, calloc(1, 70000), 70000);
    put_data(&body, 2, bytes_view_of(large, CONTROL_OFFER_BYTES_MAX + 1));
    struct byte_writer w;
    byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
    put_data(&w, 1, bytes_view_of("request id 0009", 16));
    put_data(&w, 2, bytes_view_of(body.data, body.len));
    assert_false(
        control_decode_request(fixture.decoder, bytes_view_of(fixture.message, w.len), &out));
    free(body.data);
    free(large);
}

static void a_message_above_the_cap_is_refused_unread(void **state)
{
    (void)state;
    const struct control_request in = sample_end_session();
    const size_t len = control_encode_request(&in, room());
    struct control_request out;
    struct byte_writer w = {
        .data = fixture.message, .len = len, .cap = CONTROL_MESSAGE_BYTES_MAX + 1};
    put_varint(&w, 15 << 3 | 2);
    put_varint(&w, CONTROL_MESSAGE_BYTES_MAX - len - 4); /* tag 1 byte, length 3 bytes */
    memset(w.data + w.len, 0, w.cap - w.len);
    assert_true(control_decode_request(
        fixture.decoder, bytes_view_of(fixture.message, CONTROL_MESSAGE_BYTES_MAX), &out));
    w.len = len + 1;
    put_varint(&w, CONTROL_MESSAGE_BYTES_MAX - len - 3);
    assert_false(control_decode_request(
        fixture.decoder, bytes_view_of(fixture.message, CONTROL_MESSAGE_BYTES_MAX + 1), &out));
}

static void encoding_refuses_what_decoding_would(void **state)
{
    (void)state;
    char text[CONTROL_TEXT_CHARS_MAX + 1];
    memset(text, 'x', sizeof(text));
    struct control_request in = sample_end_session();
    in.body.end_session.reason = bytes_view_of(text, CONTROL_TEXT_CHARS_MAX);
    const size_t len = control_encode_request(&in, room());
    assert_true(len > 0);
    struct bytes_span too_small = room();
    too_small.cap = len - 1;
    assert_int_equal(control_encode_request(&in, too_small), 0);
    in.body.end_session.reason.len++;
    assert_int_equal(control_encode_request(&in, room()), 0);
    in.body.end_session.reason = bytes_view_of("a\0b", 3);
    assert_int_equal(control_encode_request(&in, room()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_on_its_bound_passes_and_one_beyond_is_refused),
        cmocka_unit_test(a_text_of_its_longest_passes_and_one_longer_is_refused),
        cmocka_unit_test(a_text_with_a_nul_is_refused_wherever_it_stands),
        cmocka_unit_test(a_media_address_must_be_one),
        cmocka_unit_test(sixty_four_key_ids_pass_and_one_more_is_refused),
        cmocka_unit_test(an_unknown_state_is_unknown_and_an_unknown_field_is_ignored),
        cmocka_unit_test(an_unknown_or_absent_refusal_code_is_still_a_refusal),
        cmocka_unit_test(a_request_id_is_sixteen_bytes),
        cmocka_unit_test(a_message_with_another_body_is_no_announcement),
        cmocka_unit_test(every_message_can_be_cut_at_every_byte),
        cmocka_unit_test(unknown_fields_that_would_take_megabytes_are_refused),
        cmocka_unit_test(the_largest_request_passes_and_larger_fields_are_neither_sent_nor_taken),
        cmocka_unit_test(a_message_above_the_cap_is_refused_unread),
        cmocka_unit_test(encoding_refuses_what_decoding_would),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
