/* stub_link_test.c - a connection from the transceiver's end: greeting, heartbeat, order, end */
#include "tests/unit/stub_link_world.h"

#include "common/runtime/log.h"

/* --- HELLO and strangers ---------------------------------------------------------------------- */

static void a_stranger_is_refused_whatever_it_says_first(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint32_t session;
        const char *payload;
        enum stub_close_reason reason;
        const char *code;
    } cases[] = {
        {BACKEND_PING, 0, "12345678", STUB_CLOSE_BAD_FRAME, "bad_frame"},
        {BACKEND_SESSION_START, 1, START_JSON, STUB_CLOSE_BAD_FRAME, "bad_frame"},
        {BACKEND_HELLO, 1, "{}", STUB_CLOSE_BAD_FRAME, "bad_frame"},
        {BACKEND_HELLO, 0, "", STUB_CLOSE_BAD_FRAME, "bad_frame"},
        {BACKEND_HELLO, 0, "[]", STUB_CLOSE_BAD_FRAME, "bad_frame"},
        {BACKEND_HELLO, 0, "{\"versions\":[2]}", STUB_CLOSE_VERSION, "version"},
        {0x90, 0, "", STUB_CLOSE_BAD_FRAME, "bad_frame"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer *p = open_peer(DIALOGUE_PARROT);
        send_text(p, cases[i].type, cases[i].session, cases[i].payload);
        assert_failed(p, cases[i].reason, cases[i].code);
        close_peer(p);
    }
}

static void garbage_is_refused_at_its_first_bytes_and_a_flood_is_swallowed(void **state)
{
    (void)state;
    static const char garbage[] = "GET / HTTP/1.1\r\nHost: earshot\r\n\r\n";
    struct peer *p = open_peer(DIALOGUE_PARROT);
    send_bytes(p, garbage, 4);
    for (int i = 0; i < 10000; i++) {
        send_bytes(p, garbage, sizeof(garbage));
    }
    assert_failed(p, STUB_CLOSE_BAD_FRAME, "bad_frame");
    close_peer(p);
}

static void who_says_nothing_for_2_s_is_closed(void **state)
{
    (void)state;
    struct peer *p = open_peer(DIALOGUE_PARROT);
    const uint8_t half_a_frame[] = {28, 0, 0, 0, BACKEND_FRAME_MAGIC};
    pass_time(p, 1999 * US_PER_MS);
    send_bytes(p, half_a_frame, sizeof(half_a_frame)); /* dripping does not help */
    assert_false(stub_link_is_finished(p->link));
    pass_time(p, 2 * US_PER_MS);
    assert_failed(p, STUB_CLOSE_HELLO_TIMEOUT, "timeout");
    close_peer(p);
}

static void a_peer_that_closes_is_over_at_once(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    stub_link_peer_closed(p->link);
    assert_true(stub_link_is_over(p->link));
    assert_int_equal(stub_link_reason(p->link), STUB_CLOSE_PEER);
    assert_int_equal(metric_get(&p->counters.sessions_open), 1);
    close_peer(p);
    assert_int_equal(metric_get(&p->counters.sessions_open), 0);
}

/* --- heartbeat -------------------------------------------------------------------------------- */

static void a_ping_is_answered_with_its_bytes(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_PARROT);
    send_text(p, BACKEND_PING, 0, "abcdefgh");
    hear(p);
    const struct backend_frame *pong = heard(p, BACKEND_PONG);
    assert_true(pong != NULL && bytes_equal(pong->payload, bytes_view_of_text("abcdefgh")));
    assert_int_equal(pong->time_us, p->now_us);
    send_text(p, BACKEND_PING, 0, "abcdefg");
    assert_failed(p, STUB_CLOSE_BAD_FRAME, "bad_frame");
    close_peer(p);
}

static void a_silent_link_pings_and_a_dead_one_is_closed(void **state)
{
    (void)state;
    struct peer *p = open_peer(DIALOGUE_PARROT);
    send_text(p, BACKEND_HELLO, 0, "{\"versions\":[1],\"heartbeat_ms\":400}");
    hear(p);
    pass_time(p, 399 * US_PER_MS);
    hear(p);
    assert_null(heard(p, BACKEND_PING));
    pass_time(p, US_PER_MS);
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_PING), 1);
    for (int i = 0; i < 10; i++) { /* a peer that answers lives on */
        send_text(p, BACKEND_PONG, 0, "12345678");
        pass_time(p, 400 * US_PER_MS);
        hear(p);
    }
    assert_int_equal(heard_count(p, BACKEND_PING), 11);
    pass_time(p, 799 * US_PER_MS);
    assert_int_equal(stub_link_reason(p->link), STUB_CLOSE_PEER);
    pass_time(p, 2 * US_PER_MS);
    assert_failed(p, STUB_CLOSE_HEARTBEAT, "timeout");
    close_peer(p);
}

/* --- sequences and types ---------------------------------------------------------------------- */

static void a_gap_in_any_sequence_closes_the_connection(void **state)
{
    (void)state;
    for (uint32_t session = 0; session <= 2; session++) { /* 2 is not started yet */
        struct peer *p = start(DIALOGUE_ECHO);
        p->sequence[session]++;
        send_text(p, session == 2 ? BACKEND_SESSION_START : BACKEND_GOAWAY, session, START_JSON);
        assert_failed(p, STUB_CLOSE_SEQUENCE, "sequence");
        close_peer(p);
    }
}

static void unknown_types_are_skipped_or_reported_and_the_session_goes_on(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint32_t session;
        const char *code; /* NULL: nothing is said */
    } cases[] = {
        {0x80, 0, NULL},          {0xff, 1, NULL},
        {0x80, 5, NULL},          {0x06, 0, "unsupported"},
        {0x7f, 1, "unsupported"}, {BACKEND_SESSION_ACCEPT, 1, "unsupported"},
        {0x20, 0, "unsupported"}, {BACKEND_CONNECTED, 5, "no_session"},
        {0x7f, 5, "no_session"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer *p = start(DIALOGUE_ECHO);
        send_text(p, cases[i].type, cases[i].session, "x");
        hear(p);
        const struct backend_frame *error = heard(p, BACKEND_ERROR);
        assert_int_equal(error != NULL, cases[i].code != NULL);
        assert_true(error == NULL || says(error, cases[i].code));
        send_frame(p, audio_frame(1, 24));
        hear(p);
        assert_non_null(heard(p, BACKEND_AUDIO_OUT));
        close_peer(p);
    }
}

static void errors_are_said_once_a_second(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    for (int i = 0; i < 100; i++) {
        send_frame(p, audio_frame(1, 16)); /* 24 was accepted */
        send_text(p, BACKEND_CONNECTED, 5, "{}");
        hear(p);
    }
    assert_int_equal(heard_count(p, BACKEND_ERROR), 2);
    assert_true(says(heard(p, BACKEND_ERROR), "codec") ||
                says(heard(p, BACKEND_ERROR), "no_session"));
    assert_null(heard(p, BACKEND_AUDIO_OUT));
    pass_time(p, US_PER_S);
    send_frame(p, audio_frame(1, 16));
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_ERROR), 3);
    close_peer(p);
}

static void a_frame_no_session_can_have_closes_the_connection(void **state)
{
    (void)state;
    struct backend_frame odd = audio_frame(1, 24);
    odd.payload.len--;
    const struct backend_frame cases[] = {
        odd,
        {.type = BACKEND_CREDIT, .session = 1, .payload = bytes_view_of_text("1234567")},
        {.type = BACKEND_CREDIT, .session = 1, .payload = bytes_view_of_text("123456789")},
        {.type = BACKEND_PLAYBACK, .session = 1, .payload = bytes_view_of_text("{\"state\":1}")},
        {.type = BACKEND_SESSION_END, .session = 1, .payload = bytes_view_of_text("now")},
        {.type = BACKEND_SESSION_START, .session = 1, .payload = bytes_view_of_text("{}")},
        {.type = BACKEND_SESSION_START,
         .session = 2,
         .flags = BACKEND_FLAG_LAST,
         .payload = bytes_view_of_text("{")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer *p = start(DIALOGUE_ECHO);
        send_text(p, BACKEND_PING, 0, "12345678"); /* no PONG may follow the ERROR */
        send_frame(p, cases[i]);
        assert_failed(p, STUB_CLOSE_BAD_FRAME, "bad_frame");
        close_peer(p);
    }
}

static void a_message_of_more_than_256_kb_closes_the_connection(void **state)
{
    (void)state;
    static const uint8_t chunk[16384];
    struct peer *p = start(DIALOGUE_ECHO);
    for (int i = 0; i < 16; i++) {
        send_frame(p, (struct backend_frame){
                          .type = BACKEND_EVENT, .session = 1, .payload = {chunk, sizeof(chunk)}});
    }
    hear(p);
    assert_int_equal(p->frame_count, 0);
    send_frame(p,
               (struct backend_frame){.type = BACKEND_EVENT, .session = 1, .payload = {chunk, 1}});
    assert_failed(p, STUB_CLOSE_BAD_FRAME, "bad_frame");
    close_peer(p);
}

static void a_peer_that_reads_nothing_for_5_s_is_dropped(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_TONE);
    send_text(p, BACKEND_SESSION_START, 1, "{\"credit_us\":3600000000}");
    for (int i = 0; i < 10; i++) { /* a slow reader is none */
        hear_some(p, 1);
        send_text(p, BACKEND_PING, 0, "12345678");
        pass_time(p, 2 * US_PER_S);
    }
    hear_some(p, 1);
    for (int i = 0; i < 49; i++) {
        send_text(p, BACKEND_PING, 0, "12345678");
        pass_time(p, 100 * US_PER_MS);
        assert_true(stub_link_output(p->link, p->now_us).len <= LINK_OUTPUT_BYTES);
        stub_link_sent(p->link, 0, p->now_us); /* the socket is full */
        assert_false(stub_link_is_over(p->link));
    }
    pass_time(p, 200 * US_PER_MS);
    assert_true(stub_link_is_over(p->link));
    assert_int_equal(stub_link_reason(p->link), STUB_CLOSE_NOT_READING);
    close_peer(p);
}

/* Whole conversations with one bit turned over: the link ends or goes on, in bounds either way. */
static void any_flipped_bit_is_survived(void **state)
{
    (void)state;
    static uint8_t stream[4096];
    struct byte_writer w;
    byte_writer_init(&w, stream, sizeof(stream));
    const struct backend_frame frames[] = {
        {.type = BACKEND_HELLO, .payload = bytes_view_of_text("{\"versions\":[1]}")},
        {.type = BACKEND_SESSION_START,
         .session = 1,
         .flags = BACKEND_FLAG_LAST,
         .payload = bytes_view_of_text(START_JSON)},
        {.type = BACKEND_CONNECTED,
         .session = 1,
         .sequence = 1,
         .payload = bytes_view_of_text("{}")},
        {.type = BACKEND_EVENT,
         .session = 1,
         .sequence = 2,
         .flags = BACKEND_FLAG_LAST,
         .payload = bytes_view_of_text("{\"event_id\":\"x\"}")},
        {.type = BACKEND_SESSION_END,
         .session = 1,
         .sequence = 3,
         .payload = bytes_view_of_text("{}")},
    };
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        uint8_t header[BACKEND_FRAME_HEADER_BYTES];
        backend_frame_encode_header(&frames[i], header);
        byte_writer_bytes(&w, bytes_view_of(header, sizeof(header)));
        byte_writer_bytes(&w, frames[i].payload);
    }
    assert_false(w.failed);
    for (size_t bit = 0; bit < 8 * w.len; bit++) {
        struct peer *p = open_peer((enum dialogue_mode)(bit % 3));
        stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
        send_bytes(p, stream, w.len);
        size_t total = 0;
        struct bytes_view output;
        while ((output = stub_link_output(p->link, p->now_us)).len > 0 && total < (1u << 20)) {
            stub_link_sent(p->link, output.len, p->now_us);
            total += output.len;
        }
        pass_time(p, 10 * US_PER_S);
        assert_true(stub_link_is_over(p->link));
        stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
        close_peer(p);
        assert_int_equal(metric_get(&p->counters.sessions_open), 0);
    }
}

int main(void)
{
    log_open("test", LOG_ERROR, LOG_TEXT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_is_refused_whatever_it_says_first),
        cmocka_unit_test(garbage_is_refused_at_its_first_bytes_and_a_flood_is_swallowed),
        cmocka_unit_test(who_says_nothing_for_2_s_is_closed),
        cmocka_unit_test(a_peer_that_closes_is_over_at_once),
        cmocka_unit_test(a_ping_is_answered_with_its_bytes),
        cmocka_unit_test(a_silent_link_pings_and_a_dead_one_is_closed),
        cmocka_unit_test(a_gap_in_any_sequence_closes_the_connection),
        cmocka_unit_test(unknown_types_are_skipped_or_reported_and_the_session_goes_on),
        cmocka_unit_test(errors_are_said_once_a_second),
        cmocka_unit_test(a_frame_no_session_can_have_closes_the_connection),
        cmocka_unit_test(a_message_of_more_than_256_kb_closes_the_connection),
        cmocka_unit_test(a_peer_that_reads_nothing_for_5_s_is_dropped),
        cmocka_unit_test(any_flipped_bit_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
