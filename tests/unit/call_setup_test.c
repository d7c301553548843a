/* call_setup_test.c - an offer becomes a session and an answer, or a reason for a person */
#include "tests/testing.h"

#include "services/transceiver/port/call_setup.h"
#include "tests/outbox_frames.h"
#include "tests/sdp_samples.h"

#include <stdlib.h>

#define SHARD       3
#define CLUSTER_ID  9
#define INSTANCE_ID 0xa1b2c3d4
#define NOW_US      UINT64_C(60000000)
#define OFFER       SESSION AUDIO

static struct dtls_identity *identity;
static struct voice_silences silences;

struct world {
    struct random_generator random;
    struct transceiver_config config;
    struct outbox_frames frames;
    struct call_setup setup;
    struct control_create_session request;
    struct control_reply reply;
};

static int make_identity(void **state)
{
    struct fault fault = {0};
    (void)state;
    identity = dtls_identity_create(&fault);
    return identity != NULL && voice_silences_make(&silences) ? 0 : -1;
}

static int drop_identity(void **state)
{
    (void)state;
    dtls_identity_destroy(identity);
    return 0;
}

static void open_world(struct world *w, size_t session_count_max)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {7};
    *w = (struct world){.config = {.cluster_id = CLUSTER_ID,
                                   .shard_count = 1,
                                   .session_count_max = session_count_max,
                                   .call_duration_max_us = 3600 * US_PER_S,
                                   .setup_timeout_us = 30 * US_PER_S,
                                   .credit_us = 5 * US_PER_S}};
    random_generator_init(&w->random, 41);
    w->frames.outbox = outbox_create(1, 1u << 20);
    w->setup = (struct call_setup){
        .config = &w->config,
        .identity = identity,
        .silences = &silences,
        .key_ring = key_ring_from_secret(5, secret),
        .registry = session_registry_create(SHARD, call_setup_capacity(&w->config)),
        .outbox = w->frames.outbox,
        .random = random_seeded(&w->random),
        .instance_id = INSTANCE_ID,
        .unix_offset_us = 1000,
    };
    w->request = (struct control_create_session){
        .call_id = "rtc_1", .offer_sdp = bytes_view_of_text(OFFER), .tenant = {4, 5}};
}

static void close_world(struct world *w)
{
    size_t cursor = 0;
    struct session *s = NULL;
    while ((s = session_registry_next(w->setup.registry, &cursor)) != NULL) {
        session_destroy(s);
    }
    session_registry_destroy(w->setup.registry);
    key_ring_destroy(w->setup.key_ring);
    outbox_destroy(w->frames.outbox);
}

static uint32_t create_at(struct world *w, uint64_t now_us)
{
    w->reply = (struct control_reply){0};
    const uint32_t id = call_setup_create(&w->setup, &w->request, true, &w->reply, now_us);
    assert_int_equal(id == 0, w->reply.refusal != CONTROL_REFUSAL_NONE);
    return id;
}

static uint32_t create(struct world *w)
{
    return create_at(w, NOW_US);
}

static bool answer_holds(const struct world *w, const char *what)
{
    const struct bytes_view answer = w->reply.answer_sdp;
    return memmem(answer.data, answer.len, what, strlen(what)) != NULL;
}

/* A refusal leaves nothing behind, and has a line for a person. */
static void assert_refused(struct world *w, enum control_refusal refusal, uint32_t retry_after_ms)
{
    const size_t before = session_registry_count(w->setup.registry);
    assert_int_equal(create(w), 0);
    assert_int_equal(w->reply.refusal, refusal);
    assert_int_equal(w->reply.retry_after_ms, retry_after_ms);
    assert_in_range(w->reply.message.len, 5, CONTROL_TEXT_CHARS_MAX);
    assert_int_equal(session_registry_count(w->setup.registry), before);
    outbox_frames_end(&w->frames);
}

static void a_good_offer_is_answered_and_its_token_leads_back_to_the_session(void **state)
{
    (void)state;
    struct world w;
    struct routing_token token;
    uint8_t key_id = 0;
    open_world(&w, 8);
    w.request.ingress_count = 2;
    assert_true(net_addr_parse("198.51.100.7:3478", &w.request.ingress[0].address));
    assert_true(net_addr_parse("198.51.100.7:443", &w.request.ingress[1].address));
    w.request.ingress[1].is_tcp = true;
    const uint32_t id = create(&w);
    assert_int_equal(w.reply.kind, CONTROL_CREATE_SESSION);
    assert_int_equal(w.reply.instance_id, INSTANCE_ID);
    assert_int_equal(w.reply.session_id, id);
    const struct session *s = session_registry_find(w.setup.registry, id);
    assert_non_null(s);
    assert_string_equal(session_call_id(s), "rtc_1");
    assert_int_equal(session_tenant(s)[1], 5);
    assert_true(answer_holds(&w, " udp "));
    assert_true(answer_holds(&w, " 198.51.100.7 3478 typ host"));
    assert_true(answer_holds(&w, " 198.51.100.7 443 typ host tcptype passive"));
    assert_true(answer_holds(&w, "a=setup:active"));
    const char *ufrag = memmem(w.reply.answer_sdp.data, w.reply.answer_sdp.len, "a=ice-ufrag:", 12);
    assert_non_null(ufrag);
    assert_int_equal(routing_token_open(w.setup.key_ring,
                                        bytes_view_of(ufrag + 12, ROUTING_TOKEN_CHARS), &token,
                                        &key_id),
                     ROUTING_TOKEN_OK);
    assert_int_equal(token.cluster_id, CLUSTER_ID);
    assert_int_equal(token.instance_id, INSTANCE_ID);
    assert_int_equal(token.session_id, id);
    assert_int_equal(SESSION_ID_SHARD(id), SHARD);
    close_world(&w);
}

static void the_backend_is_told_who_calls_at_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    w.request.client_agent = bytes_view_of_text("agent/1 \"quoted\"");
    w.request.client_language = bytes_view_of_text("de");
    w.request.client_place = bytes_view_of_text("wien");
    w.request.trace_id = bytes_view_of_text("trace-9");
    w.request.session_json = bytes_view_of_text("{\"voice\":\"slt\"}");
    (void)create(&w);
    const struct backend_frame start = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    static const char *const holds[] = {
        "\"call_id\":\"rtc_1\"",
        "\"agent\":\"agent/1 \\\"quoted\\\"\"",
        "\"language\":\"de\"",
        "\"place\":\"wien\"",
        "\"trace_id\":\"trace-9\"",
        "\"session\":{\"voice\":\"slt\"}",
        "\"credit_us\":5000000",
        "\"wall_clock_us\":60001000",
        "\"in\":[\"pcm16/24000\",\"pcm16/16000\",\"pcm16/48000\",\"pcm16/8000\",\"opus/48000\"]",
        "\"out\":[\"pcm16/24000\",\"pcm16/16000\",\"pcm16/48000\",\"pcm16/8000\",\"opus/48000\"]",
    };
    for (size_t i = 0; i < COUNT_OF(holds); i++) {
        outbox_frames_assert_holds(&start, holds[i]);
    }
    outbox_frames_end(&w.frames);
    close_world(&w);
}

static void every_password_is_another(void **state)
{
    (void)state;
    struct world w;
    char pwd[4][CLIENT_LEG_PWD_CHARS + 1] = {{0}};
    open_world(&w, 100);
    for (int i = 0; i < 4; i++) {
        (void)create(&w);
        const char *found =
            memmem(w.reply.answer_sdp.data, w.reply.answer_sdp.len, "a=ice-pwd:", 10);
        assert_non_null(found);
        memcpy(pwd[i], found + 10, CLIENT_LEG_PWD_CHARS);
        assert_int_equal(found[10 + CLIENT_LEG_PWD_CHARS], '\r');
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(pwd[i], pwd[k]);
        }
    }
    close_world(&w);
}

static void sessions_fill_up_to_the_capacity_and_a_quarter_of_them_unconnected(void **state)
{
    (void)state;
    static const struct {
        size_t session_count_max;
        unsigned shard_count;
        size_t capacity;
        size_t pending_max;
    } c[] = {{1, 1, 1, 1},  {3, 1, 3, 3},     {4, 1, 4, 1},
             {7, 1, 7, 1},  {8, 1, 8, 2},     {10, 4, 3, 3},
             {1, 64, 1, 1}, {200, 3, 67, 16}, {65536, 1, 65536, 16384}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, c[i].session_count_max);
        w.config.shard_count = c[i].shard_count;
        assert_int_equal(call_setup_capacity(&w.config), c[i].capacity);
        w.setup.pending_count = c[i].pending_max - 1;
        assert_int_not_equal(create(&w), 0);
        outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        w.setup.pending_count = c[i].pending_max;
        assert_refused(&w, CONTROL_FULL, 1000);
        w.setup.pending_count = 0;
        for (size_t n = 1; n + 1 < c[i].capacity; n++) { /* as if they were there */
            (void)session_registry_reserve(w.setup.registry);
        }
        if (c[i].capacity > 1) {
            assert_int_not_equal(create(&w), 0);
            outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        }
        assert_refused(&w, CONTROL_FULL, 1000);
        close_world(&w);
    }
}

static void a_full_quarter_says_when_its_oldest_call_is_given_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t after_ms; /* since the older of two calls; the other one is younger */
        uint32_t retry_after_ms;
    } c[] = {{0, 1000},     {5000, 1000},  {5001, 24999}, {20000, 10000},
             {28999, 1001}, {29000, 1000}, {29999, 1000}, {31000, 1000}};
    struct world w;
    open_world(&w, 8);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(create_at(&w, NOW_US + (uint64_t)(1 - i) * US_PER_MS * 700), 0);
        outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        w.setup.pending_count++;
    }
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        assert_int_equal(create_at(&w, NOW_US + c[i].after_ms * US_PER_MS), 0);
        assert_int_equal(w.reply.refusal, CONTROL_FULL);
        assert_int_equal(w.reply.retry_after_ms, c[i].retry_after_ms);
    }
    close_world(&w);
}

static void a_call_that_says_goodbye_is_not_waited_for(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    w.setup.pending_count = 2;
    w.config.session_count_max = 16; /* room for both, then none */
    const uint32_t first = create(&w);
    assert_int_not_equal(create_at(&w, NOW_US + 10 * US_PER_S), 0);
    struct session *s = session_registry_find(w.setup.registry, first);
    session_end(s, SESSION_END_HANGUP, NOW_US + 11 * US_PER_S);
    w.config.session_count_max = 8;
    assert_int_equal(create_at(&w, NOW_US + 20 * US_PER_S), 0);
    assert_int_equal(w.reply.retry_after_ms, 20000);
    close_world(&w);
}

static void without_a_backend_nobody_is_let_in(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    assert_int_equal(call_setup_create(&w.setup, &w.request, false, &w.reply, NOW_US), 0);
    assert_int_equal(w.reply.refusal, CONTROL_BACKEND_UNAVAILABLE);
    assert_int_equal(w.reply.retry_after_ms, 1000);
    assert_int_equal(session_registry_count(w.setup.registry), 0);
    close_world(&w);
}

static void what_can_not_be_used_is_refused_for_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *offer;
        enum control_refusal refusal;
    } c[] = {
        {"", CONTROL_BAD_OFFER},
        {"hello", CONTROL_BAD_OFFER},
        {SESSION AUDIO_M TRANSPORT OPUS, CONTROL_BAD_OFFER}, /* without rtcp-mux */
        {SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 9\r\n" TRANSPORT MUX "a=rtpmap:9 G722/8000\r\n",
         CONTROL_NO_COMMON_CODEC},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, 8);
        w.request.offer_sdp = bytes_view_of_text(c[i].offer);
        assert_refused(&w, c[i].refusal, 0);
        close_world(&w);
    }
}

static void red_is_answered_before_opus_unless_the_configuration_says_off(void **state)
{
    (void)state;
    for (int is_on = 0; is_on <= 1; is_on++) {
        struct world w;
        open_world(&w, 8);
        w.config.has_red = is_on == 1;
        w.request.offer_sdp =
            bytes_view_of_text(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 111 63\r\n" TRANSPORT MUX OPUS
                                       "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n");
        assert_int_not_equal(create(&w), 0);
        assert_int_equal(answer_holds(&w, "m=audio 9 UDP/TLS/RTP/SAVPF 63 111\r\n"), is_on);
        assert_int_equal(answer_holds(&w, "a=fmtp:63 111/111\r\n"), is_on);
        assert_int_equal(answer_holds(&w, "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"), !is_on);
        outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        close_world(&w);
    }
}

static void a_client_that_puts_g711_first_gets_it(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    w.request.offer_sdp =
        bytes_view_of_text(SESSION "m=audio 9 UDP/TLS/RTP/SAVPF 8 111\r\n" TRANSPORT MUX OPUS);
    assert_int_not_equal(create(&w), 0);
    assert_true(answer_holds(&w, "m=audio 9 UDP/TLS/RTP/SAVPF 8\r\n"));
    assert_true(answer_holds(&w, "a=rtpmap:8 PCMA/8000\r\n"));
    const struct backend_frame start = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    outbox_frames_assert_holds(&start,
                               "\"pcm16/8000\"]"); /* and no Opus, which it does not speak */
    close_world(&w);
}

static void a_session_text_is_taken_up_to_its_bound(void **state)
{
    (void)state;
    static char json[CALL_SETUP_SESSION_JSON_MAX + 1];
    static char text[CONTROL_TEXT_CHARS_MAX];
    memset(json, ' ', sizeof(json));
    memset(text, '"', sizeof(text)); /* two bytes each, when they are quoted */
    for (size_t over = 0; over <= 1; over++) {
        struct world w;
        open_world(&w, 8);
        w.request.session_json = bytes_view_of(json, CALL_SETUP_SESSION_JSON_MAX + over);
        w.request.client_language = w.request.client_place = bytes_view_of(text, sizeof(text));
        if (over == 0) {
            assert_int_not_equal(create(&w), 0);
        } else {
            assert_refused(&w, CONTROL_TOO_LARGE, 0);
        }
        close_world(&w);
    }
}

static void the_stream_of_an_event_channel_is_below_1024(void **state)
{
    (void)state;
    static const uint16_t stream[] = {0, 1023, 1024, UINT16_MAX};
    struct world w;
    open_world(&w, 20);
    w.request.has_event_stream = true;
    for (size_t i = 0; i < COUNT_OF(stream); i++) {
        w.request.event_stream = stream[i];
        if (stream[i] < 1024) {
            assert_int_not_equal(create(&w), 0);
            outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        } else {
            assert_refused(&w, CONTROL_BAD_OFFER, 0);
        }
    }
    close_world(&w);
}

static void the_shorter_of_both_durations_counts(void **state)
{
    (void)state;
    static const struct {
        uint64_t configured_us;
        uint32_t asked_s;
        uint64_t expected_us;
    } c[] = {
        {1900000, 0, 1900000}, {1900000, 1, 1000000},          {1900000, 2, 1900000},
        {1000000, 1, 1000000}, {1900000, UINT32_MAX, 1900000},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, 8);
        w.config.call_duration_max_us = c[i].configured_us;
        w.request.duration_s_max = c[i].asked_s;
        const struct session *s = session_registry_find(w.setup.registry, create(&w));
        assert_true(session_next_timeout(s) == NOW_US + c[i].expected_us);
        close_world(&w);
    }
}

/* a=max-message-size, and what SESSION_START says of it. */
static void an_agent_hears_whether_there_are_events_and_how_long_they_may_be(void **state)
{
    (void)state;
    static const struct {
        const char *offer;
        bool has_events;
        uint32_t message_bytes_max;
    } c[] = {
        {SESSION AUDIO, false, 262144},
        {BOTH, true, 65536},
        {BOTH "a=max-message-size:1000\r\n", true, 1000},
        {BOTH "a=max-message-size:262144\r\n", true, 262144},
        {BOTH "a=max-message-size:262145\r\n", true, 262144},
        {BOTH "a=max-message-size:1073741823\r\n", true, 262144},
        {BOTH "a=max-message-size:0\r\n", true, 262144}, /* no limit */
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        struct backend_start_request start;
        open_world(&w, 8);
        w.request.offer_sdp = bytes_view_of_text(c[i].offer);
        assert_int_not_equal(create(&w), 0);
        const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
        assert_true(backend_start_decode(frame.payload, &start));
        assert_int_equal(start.has_events, c[i].has_events);
        assert_int_equal(start.message_bytes_max, c[i].message_bytes_max);
        assert_int_equal(answer_holds(&w, "a=max-message-size:262144\r\n"), c[i].has_events);
        assert_int_equal(answer_holds(&w, "a=sctp-port:5000\r\n"), c[i].has_events);
        close_world(&w);
    }
}

static void the_older_form_of_a_data_section_is_answered_in_kind(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    w.request.offer_sdp = bytes_view_of_text(SESSION BUNDLE("0 1") AUDIO_MID(
        "0") "m=application 9 DTLS/SCTP 5000\r\n" TRANSPORT
             "a=mid:1\r\na=sctpmap:5000 webrtc-datachannel 65535\r\n");
    assert_int_not_equal(create(&w), 0);
    assert_true(answer_holds(&w, "m=application 9 DTLS/SCTP 5000\r\n"));
    assert_true(answer_holds(&w, "a=sctpmap:5000 webrtc-datachannel 1024\r\n"));
    assert_false(answer_holds(&w, "a=sctp-port"));
    close_world(&w);
}

static void data_without_audio_is_refused(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    w.request.offer_sdp = bytes_view_of_text(SESSION DATA);
    assert_refused(&w, CONTROL_BAD_OFFER, 0);
    close_world(&w);
}

static void more_ingress_entries_than_an_answer_holds_are_left_out(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 8);
    for (size_t i = 0; i < CONTROL_INGRESS_MAX; i++) {
        assert_true(net_addr_parse("198.51.100.7:3478", &w.request.ingress[i].address));
        w.request.ingress[i].address.port = (uint16_t)(3478 + i);
    }
    w.request.ingress_count = CONTROL_INGRESS_MAX;
    (void)create(&w);
    assert_true(answer_holds(&w, " 3478 typ host"));
    assert_true(answer_holds(&w, " 3493 typ host"));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_offer_is_answered_and_its_token_leads_back_to_the_session),
        cmocka_unit_test(the_backend_is_told_who_calls_at_once),
        cmocka_unit_test(every_password_is_another),
        cmocka_unit_test(sessions_fill_up_to_the_capacity_and_a_quarter_of_them_unconnected),
        cmocka_unit_test(a_full_quarter_says_when_its_oldest_call_is_given_up),
        cmocka_unit_test(a_call_that_says_goodbye_is_not_waited_for),
        cmocka_unit_test(without_a_backend_nobody_is_let_in),
        cmocka_unit_test(what_can_not_be_used_is_refused_for_its_reason),
        cmocka_unit_test(red_is_answered_before_opus_unless_the_configuration_says_off),
        cmocka_unit_test(a_client_that_puts_g711_first_gets_it),
        cmocka_unit_test(a_session_text_is_taken_up_to_its_bound),
        cmocka_unit_test(the_stream_of_an_event_channel_is_below_1024),
        cmocka_unit_test(the_shorter_of_both_durations_counts),
        cmocka_unit_test(an_agent_hears_whether_there_are_events_and_how_long_they_may_be),
        cmocka_unit_test(the_older_form_of_a_data_section_is_answered_in_kind),
        cmocka_unit_test(data_without_audio_is_refused),
        cmocka_unit_test(more_ingress_entries_than_an_answer_holds_are_left_out),
    };
    return cmocka_run_group_tests(tests, make_identity, drop_identity);
}
