/* control_event_test.c - side-bands and events on the wire: there and back, bounded, and of old */
#include "tests/testing.h"

#include "common/control/control_event.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL_ID "rtc_H0-PHtjQYoeTQjD284teUfQ"

static struct {
    struct control_decoder *decoder;
    uint8_t *message;
    size_t len;
    uint8_t *event; /* one byte longer than the longest */
    struct control_request request;
    struct control_reply reply;
    struct control_session_event session_event;
    struct control_sideband_event sideband_event;
} fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture.decoder = control_decoder_create();
    fixture.message = malloc(CONTROL_MESSAGE_BYTES_MAX);
    fixture.event = calloc(1, CONTROL_EVENT_BYTES_MAX + 1);
    return fixture.decoder != NULL && fixture.message != NULL && fixture.event != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    control_decoder_destroy(fixture.decoder);
    free(fixture.message);
    free(fixture.event);
    return 0;
}

static struct bytes_span room(void)
{
    return (struct bytes_span){.data = fixture.message, .cap = CONTROL_MESSAGE_BYTES_MAX};
}

static struct bytes_view sent(void)
{
    return bytes_view_of(fixture.message, fixture.len);
}

static bool pass_request(const struct control_request *in)
{
    fixture.len = control_encode_request(in, room());
    return fixture.len > 0 && control_decode_request(fixture.decoder, sent(), &fixture.request);
}

static bool pass_reply(const struct control_reply *in)
{
    fixture.len = control_encode_reply(in, room());
    return fixture.len > 0 && control_decode_reply(fixture.decoder, sent(), &fixture.reply);
}

static bool pass_sideband_event(const struct control_sideband_event *in)
{
    fixture.len = control_encode_sideband_event(in, room());
    return fixture.len > 0 &&
           control_decode_sideband_event(fixture.decoder, sent(), &fixture.sideband_event);
}

static bool pass_session_event(const struct control_session_event *in)
{
    fixture.len = control_encode_session_event(in, room());
    return fixture.len > 0 &&
           control_decode_session_event(fixture.decoder, sent(), &fixture.session_event);
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

static struct control_sideband_event sample_sideband_event(void)
{
    return (struct control_sideband_event){
        .call_id = CALL_ID,
        .sequence = UINT64_MAX,
        .waiting = {1, 2, 3, UINT32_MAX},
        .waiting_count = CONTROL_SIDEBANDS_MAX,
        .text = bytes_view_of_text("{\"type\":\"error\"}"),
    };
}

static struct control_session_event sample_session_event(void)
{
    return (struct control_session_event){
        .instance_id = 0x5eed0001,
        .call_id = CALL_ID,
        .kind = CONTROL_SESSION_EVENT_ENDED,
        .reason = bytes_view_of_text("hangup"),
        .timeline = {.fact = {{"answer", 3000}, {"ended", UINT64_MAX}}, .count = 2},
        .totals = {.fact = {{"in_frames", 1500}}, .count = 1},
    };
}

/* --- there and back --------------------------------------------------------------------------- */

static void an_attach_sideband_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = {
        .kind = CONTROL_ATTACH_SIDEBAND,
        .body.attach_sideband = {sample_call(), .sideband_id = UINT32_MAX, .lease_ms = 15000}};
    assert_true(pass_request(&in));
    const struct control_attach_sideband *a = &fixture.request.body.attach_sideband;
    assert_int_equal(fixture.request.kind, CONTROL_ATTACH_SIDEBAND);
    assert_sample_call(&a->call);
    assert_int_equal(a->sideband_id, UINT32_MAX);
    assert_int_equal(a->lease_ms, 15000);

    const struct control_reply reply = {
        .kind = CONTROL_ATTACH_SIDEBAND, .sideband_sequence = UINT64_MAX, .is_new_sideband = true};
    assert_true(pass_reply(&reply));
    assert_int_equal(fixture.reply.kind, CONTROL_ATTACH_SIDEBAND);
    assert_true(fixture.reply.sideband_sequence == UINT64_MAX);
    assert_true(fixture.reply.is_new_sideband);
}

static void an_inject_event_survives_the_wire(void **state)
{
    (void)state;
    const struct control_request in = {
        .kind = CONTROL_INJECT_EVENT,
        .body.inject_event = {sample_call(), 7, bytes_view_of_text("{\"type\":\"x\"}")}};
    assert_true(pass_request(&in));
    const struct control_inject_event *i = &fixture.request.body.inject_event;
    assert_int_equal(fixture.request.kind, CONTROL_INJECT_EVENT);
    assert_sample_call(&i->call);
    assert_int_equal(i->sideband_id, 7);
    assert_true(bytes_equal(i->event, in.body.inject_event.event));

    const struct control_reply reply = {.kind = CONTROL_INJECT_EVENT};
    assert_true(pass_reply(&reply));
    assert_int_equal(fixture.reply.kind, CONTROL_INJECT_EVENT);
}

static void the_event_stream_of_a_call_survives_the_wire(void **state)
{
    (void)state;
    static const uint16_t stream[] = {0, 1, UINT16_MAX};
    for (size_t i = 0; i < COUNT_OF(stream); i++) {
        const struct control_request in = {
            .kind = CONTROL_CREATE_SESSION,
            .body.create_session = {.has_event_stream = true, .event_stream = stream[i]}};
        assert_true(pass_request(&in));
        assert_true(fixture.request.body.create_session.has_event_stream);
        assert_int_equal(fixture.request.body.create_session.event_stream, stream[i]);
    }
}

static void a_sideband_event_survives_the_wire(void **state)
{
    (void)state;
    struct control_sideband_event in = sample_sideband_event();
    assert_true(pass_sideband_event(&in));
    const struct control_sideband_event *out = &fixture.sideband_event;
    assert_string_equal(out->call_id, CALL_ID);
    assert_int_equal(out->sideband_id, 0);
    assert_true(out->sequence == UINT64_MAX);
    assert_int_equal(out->waiting_count, CONTROL_SIDEBANDS_MAX);
    assert_memory_equal(out->waiting, in.waiting, sizeof(in.waiting));
    assert_false(out->is_end);
    assert_true(bytes_equal(out->text, in.text));

    in = (struct control_sideband_event){
        .call_id = CALL_ID, .sideband_id = 9, .sequence = 1, .is_end = true};
    assert_true(pass_sideband_event(&in));
    assert_int_equal(out->sideband_id, 9);
    assert_true(out->is_end);
    assert_int_equal(out->waiting_count, 0);
    assert_int_equal(out->text.len, 0);
}

static void a_session_event_survives_the_wire(void **state)
{
    (void)state;
    struct control_session_event in = sample_session_event();
    for (in.kind = CONTROL_SESSION_EVENT_UNKNOWN; in.kind <= CONTROL_SESSION_EVENT_ENDED;
         in.kind++) {
        assert_true(pass_session_event(&in));
        assert_int_equal(fixture.session_event.kind, in.kind);
    }
    const struct control_session_event *out = &fixture.session_event;
    assert_int_equal(out->instance_id, 0x5eed0001);
    assert_string_equal(out->call_id, CALL_ID);
    assert_true(bytes_equal(out->reason, in.reason));
    assert_int_equal(out->timeline.count, 2);
    assert_string_equal(out->timeline.fact[1].name, "ended");
    assert_true(out->timeline.fact[1].value == UINT64_MAX);
    assert_int_equal(out->totals.count, 1);
    assert_int_equal(out->totals.fact[0].value, 1500);
}

/* --- topics ----------------------------------------------------------------------------------- */

static void every_message_of_a_call_begins_with_its_topic_and_none_of_another(void **state)
{
    (void)state;
    static const char *const call_id[] = {CALL_ID, CALL_ID "x", "rtc_H0", ""};
    for (size_t i = 0; i < COUNT_OF(call_id); i++) {
        struct control_sideband_event in = sample_sideband_event();
        memcpy(in.call_id, call_id[i], strlen(call_id[i]) + 1);
        if (call_id[i][0] != '\0') {
            assert_true(pass_sideband_event(&in));
        }
        for (size_t j = 0; call_id[i][0] != '\0' && j < COUNT_OF(call_id); j++) {
            uint8_t topic[CONTROL_TOPIC_CAP];
            const size_t len = control_sideband_topic(call_id[j], topic);
            assert_int_equal(fixture.len >= len && memcmp(fixture.message, topic, len) == 0,
                             i == j);
        }
    }
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void an_event_of_256_kb_fits_and_not_a_byte_more(void **state)
{
    (void)state;
    struct control_request inject = {.kind = CONTROL_INJECT_EVENT,
                                     .body.inject_event = {sample_call(), 7, {0}}};
    struct control_sideband_event event = sample_sideband_event();
    event.text = inject.body.inject_event.event =
        bytes_view_of(fixture.event, CONTROL_EVENT_BYTES_MAX);
    assert_true(pass_request(&inject));
    assert_int_equal(fixture.request.body.inject_event.event.len, CONTROL_EVENT_BYTES_MAX);
    assert_true(pass_sideband_event(&event));
    assert_int_equal(fixture.sideband_event.text.len, CONTROL_EVENT_BYTES_MAX);

    event.text.len = inject.body.inject_event.event.len = CONTROL_EVENT_BYTES_MAX + 1;
    assert_int_equal(control_encode_request(&inject, room()), 0);
    assert_int_equal(control_encode_sideband_event(&event, room()), 0);
}

/* A number of at most three bytes, and a field of bytes, as protobuf has them. */
static void put_varint(struct byte_writer *w, uint32_t value)
{
    while (value >= 0x80) {
        byte_writer_u8(w, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    byte_writer_u8(w, (uint8_t)value);
}

static void put_field(struct byte_writer *w, unsigned field, const void *data, size_t len)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, (uint32_t)len);
    byte_writer_bytes(w, bytes_view_of(data, len));
}

static void what_another_version_sends_beyond_a_bound_is_refused(void **state)
{
    (void)state;
    static const uint8_t waiting[] = {1, 1, 1, 1, 1};
    static_assert(sizeof(waiting) == CONTROL_SIDEBANDS_MAX + 1, "one too many");
    for (size_t excess = 0; excess < 2; excess++) {
        struct byte_writer w;
        byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
        put_field(&w, 1, CALL_ID, strlen(CALL_ID));
        put_field(&w, 4, waiting, CONTROL_SIDEBANDS_MAX + excess);
        assert_int_equal(control_decode_sideband_event(fixture.decoder,
                                                       bytes_view_of(fixture.message, w.len),
                                                       &fixture.sideband_event),
                         excess == 0);
        byte_writer_init(&w, fixture.message, CONTROL_MESSAGE_BYTES_MAX);
        put_field(&w, 1, CALL_ID, strlen(CALL_ID));
        put_field(&w, 6, fixture.event, CONTROL_EVENT_BYTES_MAX + excess);
        assert_int_equal(control_decode_sideband_event(fixture.decoder,
                                                       bytes_view_of(fixture.message, w.len),
                                                       &fixture.sideband_event),
                         excess == 0);
    }
}

static void an_event_of_no_call_is_refused(void **state)
{
    (void)state;
    assert_false(control_decode_sideband_event(fixture.decoder, (struct bytes_view){0},
                                               &fixture.sideband_event));
    const struct control_sideband_event in = {.sequence = 1};
    assert_false(pass_sideband_event(&in));
}

static void a_cut_message_is_refused_or_smaller_but_never_read_past_its_end(void **state)
{
    (void)state;
    const struct control_sideband_event event = sample_sideband_event();
    const struct control_session_event session = sample_session_event();
    uint8_t whole[512];
    size_t len = control_encode_sideband_event(&event, room());
    assert_true(len > 0 && len <= sizeof(whole));
    memcpy(whole, fixture.message, len);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1); /* the sanitizer sees a read past the cut */
        memcpy(copy, whole, cut);
        (void)!control_decode_sideband_event(fixture.decoder, bytes_view_of(copy, cut),
                                             &fixture.sideband_event);
        free(copy);
    }
    len = control_encode_session_event(&session, room());
    assert_true(len > 0 && len <= sizeof(whole));
    memcpy(whole, fixture.message, len);
    for (size_t cut = 0; cut < len; cut++) {
        assert_false(control_decode_session_event(fixture.decoder, bytes_view_of(whole, cut),
                                                  &fixture.session_event));
    }
}

static void a_session_event_is_no_announcement_and_an_announcement_no_session_event(void **state)
{
    (void)state;
    const struct control_session_event session = sample_session_event();
    struct control_announcement announcement = {.cluster_id = 1};
    assert_true(net_addr_parse("10.0.0.9:4000", &announcement.media_address));
    fixture.len = control_encode_session_event(&session, room());
    assert_false(control_decode_announcement(fixture.decoder, sent(), &announcement));
    fixture.len = control_encode_announcement(&announcement, room());
    assert_false(control_decode_session_event(fixture.decoder, sent(), &fixture.session_event));
}

/* --- of old ----------------------------------------------------------------------------------- */

/* Recorded before there were event streams and side-bands. */
static void an_offer_of_an_older_signaling_means_what_it_meant(void **state)
{
    (void)state;
    FILE *file = fopen(TEST_DATA "/fuzz/seeds/control_message/create_session", "rb");
    assert_non_null(file);
    fixture.len = fread(fixture.message, 1, CONTROL_MESSAGE_BYTES_MAX, file);
    (void)fclose(file);
    assert_true(control_decode_request(fixture.decoder, sent(), &fixture.request));
    assert_int_equal(fixture.request.kind, CONTROL_CREATE_SESSION);
    assert_true(fixture.request.body.create_session.offer_sdp.len > 0);
    assert_false(fixture.request.body.create_session.has_event_stream);
    assert_int_equal(fixture.request.body.create_session.event_stream, 0);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(an_attach_sideband_survives_the_wire),
        WITH_FIXTURE(an_inject_event_survives_the_wire),
        WITH_FIXTURE(the_event_stream_of_a_call_survives_the_wire),
        WITH_FIXTURE(a_sideband_event_survives_the_wire),
        WITH_FIXTURE(a_session_event_survives_the_wire),
        WITH_FIXTURE(every_message_of_a_call_begins_with_its_topic_and_none_of_another),
        WITH_FIXTURE(an_event_of_256_kb_fits_and_not_a_byte_more),
        WITH_FIXTURE(what_another_version_sends_beyond_a_bound_is_refused),
        WITH_FIXTURE(an_event_of_no_call_is_refused),
        WITH_FIXTURE(a_cut_message_is_refused_or_smaller_but_never_read_past_its_end),
        WITH_FIXTURE(a_session_event_is_no_announcement_and_an_announcement_no_session_event),
        WITH_FIXTURE(an_offer_of_an_older_signaling_means_what_it_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
