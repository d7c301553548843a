/* control_message_test.c - what goes in comes out */
#include "tests/unit/control_message_world.h"

static void an_announcement_survives_the_wire(void **state)
{
    (void)state;
    const struct control_announcement in = sample_announcement();
    const size_t len = control_encode_announcement(&in, room());
    assert_true(len > 0);
    struct control_announcement out;
    assert_true(
        control_decode_announcement(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_memory_equal(&out, &in, sizeof(in));
}

static void a_create_session_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = sample_create_session();
    const size_t len = control_encode_request(&in, room());
    struct control_request out;
    assert_true(control_decode_request(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_memory_equal(out.request_id, in.request_id, sizeof(in.request_id));
    assert_int_equal(out.kind, CONTROL_CREATE_SESSION);
    const struct control_create_session *c = &out.body.create_session;
    const struct control_create_session *sent = &in.body.create_session;
    assert_string_equal(c->call_id, sent->call_id);
    assert_true(bytes_equal(c->offer_sdp, sent->offer_sdp));
    assert_int_equal(c->ingress_count, 2);
    assert_true(net_addr_equal(&c->ingress[1].address, &sent->ingress[1].address));
    assert_false(c->ingress[0].is_tcp);
    assert_true(c->ingress[1].is_tcp);
    assert_int_equal(c->duration_s_max, 3600);
    assert_view(c->backend_name, "default");
    assert_view(c->session_json, "{}");
    assert_view(c->client_agent, "agents/0.20.0");
    assert_view(c->client_language, "de");
    assert_view(c->client_place, "DE");
    assert_memory_equal(c->tenant, sent->tenant, sizeof(c->tenant));
    assert_view(c->placement_reason, "least_loaded");
    assert_view(c->trace_id, "0af7651916cd43dd");
    assert_true(c->offer_unix_us == sent->offer_unix_us);
}

static void an_end_session_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = sample_end_session();
    const size_t len = control_encode_request(&in, room());
    struct control_request out;
    assert_true(control_decode_request(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_int_equal(out.kind, CONTROL_END_SESSION);
    assert_string_equal(out.body.end_session.call.call_id, in.body.end_session.call.call_id);
    assert_memory_equal(out.body.end_session.call.tenant, in.body.end_session.call.tenant, 16);
    assert_true(out.body.end_session.call.is_operator);
    assert_view(out.body.end_session.reason, "hangup");
}

static void a_request_from_the_future_is_known_as_unknown(void **state)
{
    (void)state;
    const struct control_request in = {.request_id = "request id 0003"};
    const size_t len = control_encode_request(&in, room());
    static const uint8_t unknown_body[] = {0x7a, 0x00}; /* field 15, empty message */
    memcpy(fixture.message + len, unknown_body, sizeof(unknown_body));
    struct control_request out;
    assert_true(control_decode_request(
        fixture.decoder, bytes_view_of(fixture.message, len + sizeof(unknown_body)), &out));
    assert_int_equal(out.kind, CONTROL_REQUEST_UNKNOWN);
    assert_memory_equal(out.request_id, in.request_id, sizeof(in.request_id));
}

static void each_reply_survives_the_wire(void **state)
{
    (void)state;
    struct control_reply in = {.request_id = "request id 0004",
                               .kind = CONTROL_CREATE_SESSION,
                               .instance_id = 0x5eed0001,
                               .session_id = 0x2a03,
                               .answer_sdp = bytes_view_of_text("v=0\r\n")};
    struct control_reply out;
    size_t len = control_encode_reply(&in, room());
    assert_true(control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_int_equal(out.refusal, CONTROL_REFUSAL_NONE);
    assert_int_equal(out.kind, CONTROL_CREATE_SESSION);
    assert_int_equal(out.instance_id, 0x5eed0001);
    assert_int_equal(out.session_id, 0x2a03);
    assert_view(out.answer_sdp, "v=0\r\n");

    in = (struct control_reply){.request_id = "request id 0005", .kind = CONTROL_END_SESSION};
    len = control_encode_reply(&in, room());
    assert_true(control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, len), &out));
    assert_int_equal(out.kind, CONTROL_END_SESSION);
    assert_int_equal(out.refusal, CONTROL_REFUSAL_NONE);
}

static void each_refusal_survives_the_wire(void **state)
{
    (void)state;
    for (int refusal = CONTROL_BAD_OFFER; refusal < CONTROL_REFUSAL_COUNT; refusal++) {
        const struct control_reply in = {.request_id = "request id 0006",
                                         .refusal = (enum control_refusal)refusal,
                                         .message = bytes_view_of_text("no audio"),
                                         .retry_after_ms = 1500};
        const size_t len = control_encode_reply(&in, room());
        struct control_reply out;
        assert_true(
            control_decode_reply(fixture.decoder, bytes_view_of(fixture.message, len), &out));
        assert_int_equal(out.refusal, refusal);
        assert_view(out.message, "no audio");
        assert_int_equal(out.retry_after_ms, 1500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_announcement_survives_the_wire),
        cmocka_unit_test(a_create_session_survives_the_wire),
        cmocka_unit_test(an_end_session_survives_the_wire),
        cmocka_unit_test(a_request_from_the_future_is_known_as_unknown),
        cmocka_unit_test(each_reply_survives_the_wire),
        cmocka_unit_test(each_refusal_survives_the_wire),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
