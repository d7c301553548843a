/* control_session_test.c - UpdateSession, GetSession, ListSessions: there and back, and bounded */
#include "tests/testing.h"

#include "common/control/control_message.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL_ID "rtc_H0-PHtjQYoeTQjD284teUfQ"

static struct {
    struct control_decoder *decoder;
    uint8_t *message;
    size_t len;
    struct control_request request; /* what was decoded last */
    struct control_reply reply;
} fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture.decoder = control_decoder_create();
    fixture.message = malloc(CONTROL_MESSAGE_BYTES_MAX);
    return fixture.decoder != NULL && fixture.message != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    control_decoder_destroy(fixture.decoder);
    free(fixture.message);
    return 0;
}

static struct bytes_span room(void)
{
    return (struct bytes_span){.data = fixture.message, .cap = CONTROL_MESSAGE_BYTES_MAX};
}

static bool pass_request(const struct control_request *in)
{
    fixture.len = control_encode_request(in, room());
    return fixture.len > 0 &&
           control_decode_request(fixture.decoder, bytes_view_of(fixture.message, fixture.len),
                                  &fixture.request);
}

static bool pass_reply(const struct control_reply *in)
{
    fixture.len = control_encode_reply(in, room());
    return fixture.len > 0 &&
           control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, fixture.len),
                                &fixture.reply);
}

static struct control_call sample_call(void)
{
    return (struct control_call){
        .call_id = CALL_ID, .tenant = "tenant of 16 by", .is_operator = true};
}

static void assert_sample_call(const struct control_call *call)
{
    assert_string_equal(call->call_id, CALL_ID);
    assert_memory_equal(call->tenant, "tenant of 16 by", CONTROL_TENANT_BYTES);
    assert_true(call->is_operator);
}

static struct control_request sample_update(void)
{
    struct control_request r = {
        .request_id = "request id 0001",
        .kind = CONTROL_UPDATE_SESSION,
        .body.update_session = {.call = sample_call(),
                                .sdpfrag = bytes_view_of_text("a=ice-ufrag:abcd\r\n"),
                                .restarts_ice = true,
                                .ice_generation = 254,
                                .ingress_count = 2},
    };
    struct control_ingress *ingress = r.body.update_session.ingress;
    assert_true(net_addr_parse("203.0.113.10:3478", &ingress[0].address));
    assert_true(net_addr_parse("[2001:db8::10]:443", &ingress[1].address));
    ingress[1].is_tcp = true;
    return r;
}

static struct control_reply sample_session(void)
{
    struct control_reply r = {
        .request_id = "request id 0002",
        .kind = CONTROL_GET_SESSION,
        .row = {CALL_ID, 0x2a03, CONTROL_SESSION_ENDED, UINT64_C(1799999999999999)},
        .end_reason = bytes_view_of_text("client_lost"),
        .timeline = {.fact = {{"answer", 3000}, {"ended", UINT64_MAX}}, .count = 2},
        .counters = {.fact = {{"packets_in", 1500}}, .count = 1},
    };
    return r;
}

/* --- there and back --------------------------------------------------------------------------- */

static void an_update_session_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = sample_update();
    assert_true(pass_request(&in));
    const struct control_update_session *u = &fixture.request.body.update_session;
    assert_int_equal(fixture.request.kind, CONTROL_UPDATE_SESSION);
    assert_sample_call(&u->call);
    assert_true(bytes_equal(u->sdpfrag, in.body.update_session.sdpfrag));
    assert_true(u->restarts_ice);
    assert_int_equal(u->ice_generation, 254);
    assert_int_equal(u->ingress_count, 2);
    assert_true(net_addr_equal(&u->ingress[1].address, &in.body.update_session.ingress[1].address));
    assert_false(u->ingress[0].is_tcp);
    assert_true(u->ingress[1].is_tcp);
}

static void a_get_session_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = {.request_id = "request id 0003",
                                       .kind = CONTROL_GET_SESSION,
                                       .body.get_session.call = sample_call()};
    assert_true(pass_request(&in));
    assert_int_equal(fixture.request.kind, CONTROL_GET_SESSION);
    assert_sample_call(&fixture.request.body.get_session.call);
}

static void a_list_sessions_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = {.kind = CONTROL_LIST_SESSIONS,
                                       .body.list_sessions = {.tenant = "tenant of 16 by",
                                                              .is_operator = true,
                                                              .from_session_id = UINT32_MAX}};
    assert_true(pass_request(&in));
    const struct control_list_sessions *l = &fixture.request.body.list_sessions;
    assert_int_equal(fixture.request.kind, CONTROL_LIST_SESSIONS);
    assert_memory_equal(l->tenant, "tenant of 16 by", CONTROL_TENANT_BYTES);
    assert_true(l->is_operator);
    assert_int_equal(l->from_session_id, UINT32_MAX);
}

static void a_reply_to_an_update_survives_the_wire(void **state)
{
    (void)state;
    const struct control_reply in = {.kind = CONTROL_UPDATE_SESSION,
                                     .ice_generation = 255,
                                     .sdpfrag = bytes_view_of_text("a=ice-lite\r\n")};
    assert_true(pass_reply(&in));
    assert_int_equal(fixture.reply.kind, CONTROL_UPDATE_SESSION);
    assert_int_equal(fixture.reply.ice_generation, 255);
    assert_true(bytes_equal(fixture.reply.sdpfrag, in.sdpfrag));
}

static void a_reply_about_a_session_survives_the_wire(void **state)
{
    (void)state;
    const struct control_reply in = sample_session();
    assert_true(pass_reply(&in));
    const struct control_reply *out = &fixture.reply;
    assert_int_equal(out->kind, CONTROL_GET_SESSION);
    assert_memory_equal(&out->row, &in.row, sizeof(in.row));
    assert_true(bytes_equal(out->end_reason, in.end_reason));
    assert_memory_equal(&out->timeline, &in.timeline, sizeof(in.timeline));
    assert_memory_equal(&out->counters, &in.counters, sizeof(in.counters));
}

static void a_full_page_survives_the_wire_and_so_does_an_empty_one(void **state)
{
    (void)state;
    static struct control_session_row rows[CONTROL_ROWS_MAX];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i] = (struct control_session_row){.session_id = (uint32_t)i + 1,
                                               .state = CONTROL_SESSION_CHECKING,
                                               .offer_unix_us = UINT64_MAX - i};
        memset(rows[i].call_id, 'x', CONTROL_CALL_ID_CHARS_MAX);
    }
    struct control_reply in = {.kind = CONTROL_LIST_SESSIONS,
                               .rows = rows,
                               .row_count = CONTROL_ROWS_MAX,
                               .next_session_id = 77};
    assert_true(pass_reply(&in));
    assert_int_equal(fixture.reply.row_count, CONTROL_ROWS_MAX);
    assert_memory_equal(fixture.reply.rows, rows, sizeof(rows));
    assert_int_equal(fixture.reply.next_session_id, 77);

    in.row_count = 0;
    assert_true(pass_reply(&in));
    assert_int_equal(fixture.reply.kind, CONTROL_LIST_SESSIONS);
    assert_int_equal(fixture.reply.row_count, 0);
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void a_fragment_is_bounded_on_both_ways(void **state)
{
    (void)state;
    static const uint8_t text[CONTROL_SDPFRAG_BYTES_MAX + 1];
    struct control_request request = sample_update();
    struct control_reply reply = {.kind = CONTROL_UPDATE_SESSION};
    request.body.update_session.sdpfrag = bytes_view_of(text, CONTROL_SDPFRAG_BYTES_MAX);
    reply.sdpfrag = request.body.update_session.sdpfrag;
    assert_true(pass_request(&request));
    assert_true(pass_reply(&reply));
    request.body.update_session.sdpfrag.len++;
    reply.sdpfrag.len++;
    assert_false(pass_request(&request));
    assert_false(pass_reply(&reply));
}

/* protobuf's own framing: a length of up to three bytes, which each of these needs. */
static void put_data(struct byte_writer *w, unsigned field, struct bytes_view data)
{
    byte_writer_u8(w, (uint8_t)(field << 3 | 2));
    byte_writer_u8(w, (uint8_t)(data.len | 128));
    byte_writer_u8(w, (uint8_t)(data.len >> 7 | 128));
    byte_writer_u8(w, (uint8_t)(data.len >> 14));
    byte_writer_bytes(w, data);
}

/* A reply with `count` times `field` in its body of kind `body_field`. */
static bool decode_repeated(unsigned body_field, unsigned field, struct bytes_view element,
                            size_t count)
{
    struct byte_writer body;
    struct byte_writer w;
    byte_writer_init(&body, malloc(65536), 65536);
    byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        put_data(&body, field, element);
    }
    put_data(&w, 1, bytes_view_of("request id 0004", CONTROL_REQUEST_ID_BYTES));
    put_data(&w, body_field, bytes_view_of(body.data, body.len));
    assert_false(w.failed || body.failed);
    free(body.data);
    return control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, w.len),
                                &fixture.reply);
}

static void as_many_as_the_bound_pass_and_one_more_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned body;
        unsigned field;
        size_t count_max;
    } c[] = {
        {7, 1, CONTROL_ROWS_MAX},  /* rows of a page */
        {6, 3, CONTROL_FACTS_MAX}, /* timeline */
        {6, 4, CONTROL_FACTS_MAX}, /* counters */
    };
    const struct bytes_view nothing = bytes_view_of("", 0);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        assert_true(decode_repeated(c[i].body, c[i].field, nothing, c[i].count_max));
        assert_false(decode_repeated(c[i].body, c[i].field, nothing, c[i].count_max + 1));
    }
}

static void a_name_of_its_longest_passes_and_one_longer_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned body;
        unsigned field;
        size_t chars_max;
    } c[] = {
        {7, 1, CONTROL_CALL_ID_CHARS_MAX}, /* the call id of a row */
        {6, 1, CONTROL_CALL_ID_CHARS_MAX},
        {6, 4, CONTROL_FACT_CHARS_MAX}, /* the name of a counter */
    };
    char text[CONTROL_CALL_ID_CHARS_MAX + 1];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        uint8_t bytes[100];
        struct byte_writer name;
        byte_writer_init(&name, bytes, sizeof(bytes));
        put_data(&name, 1, bytes_view_of(text, c[i].chars_max));
        assert_true(decode_repeated(c[i].body, c[i].field, bytes_view_of(bytes, name.len), 1));
        name.len = 0;
        put_data(&name, 1, bytes_view_of(text, c[i].chars_max + 1));
        assert_false(decode_repeated(c[i].body, c[i].field, bytes_view_of(bytes, name.len), 1));
    }
}

static void a_session_without_a_row_and_a_state_from_the_future_are_unknown(void **state)
{
    (void)state;
    static const uint8_t future[] = {3 << 3, 99}; /* state = 99 */
    assert_true(decode_repeated(6, 4, bytes_view_of("", 0), 1));
    assert_int_equal(fixture.reply.row.state, CONTROL_SESSION_UNKNOWN);
    assert_true(decode_repeated(6, 1, bytes_view_of(future, sizeof(future)), 1));
    assert_int_equal(fixture.reply.row.state, CONTROL_SESSION_UNKNOWN);
}

/* Any cut fails, or gives fields within their bounds: the sanitizer sees a read past it. */
static void every_message_can_be_cut_at_every_byte(void **state)
{
    (void)state;
    const struct control_request update = sample_update();
    const struct control_reply session = sample_session();
    size_t whole = 0;
    assert_true(pass_request(&update));
    for (size_t cut = 0; cut < fixture.len; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, fixture.message, cut);
        whole +=
            control_decode_request(fixture.decoder, bytes_view_of(copy, cut), &fixture.request);
        free(copy);
    }
    assert_int_equal(whole, 1); /* the request id alone: a body from the future */
    assert_true(pass_reply(&session));
    for (size_t cut = 0; cut < fixture.len; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, fixture.message, cut);
        assert_false(
            control_decode_reply(fixture.decoder, bytes_view_of(copy, cut), &fixture.reply));
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_session_survives_the_wire),
        cmocka_unit_test(a_get_session_survives_the_wire),
        cmocka_unit_test(a_list_sessions_survives_the_wire),
        cmocka_unit_test(a_reply_to_an_update_survives_the_wire),
        cmocka_unit_test(a_reply_about_a_session_survives_the_wire),
        cmocka_unit_test(a_full_page_survives_the_wire_and_so_does_an_empty_one),
        cmocka_unit_test(a_fragment_is_bounded_on_both_ways),
        cmocka_unit_test(as_many_as_the_bound_pass_and_one_more_is_refused),
        cmocka_unit_test(a_name_of_its_longest_passes_and_one_longer_is_refused),
        cmocka_unit_test(a_session_without_a_row_and_a_state_from_the_future_are_unknown),
        cmocka_unit_test(every_message_can_be_cut_at_every_byte),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
