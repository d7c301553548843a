/* stub_link_test.c - the backend protocol from the transceiver's end, in virtual time */
#include "tests/testing.h"

#include "common/runtime/log.h"
#include "services/inference-stub/message_outbox.h"
#include "services/inference-stub/stub_link.h"

#include <stdio.h>

#define FRAMES_MAX    4096
#define PAYLOAD_TOTAL (8 << 20)
#define START_JSON                                                                                 \
    "{\"call_id\":\"rtc_1\",\"in\":[\"pcm16/24000\",\"pcm16/16000\"],"                             \
    "\"out\":[\"pcm16/24000\",\"pcm16/16000\"],\"credit_us\":1000000}"

/* A transceiver and the link it talks to; what was read stays until forget(). */
struct peer {
    struct stub_counters counters;
    struct stub_behaviour behaviour;
    struct stub_link *link;
    uint64_t now_us;
    uint32_t sequence[8]; /* of what we send, by handle */
    uint32_t heard_sequence[8];
    struct backend_frame_reader *reader;
    struct backend_frame *frame;
    size_t frame_count;
    uint8_t *payload;
    size_t payload_len;
};

static int16_t greeting[16000];

static struct peer *open_peer(enum dialogue_mode mode)
{
    static struct backend_frame frame[FRAMES_MAX];
    static uint8_t payload[PAYLOAD_TOTAL];
    static struct peer p;
    p = (struct peer){.now_us = 1000, .frame = frame, .payload = payload};
    p.behaviour = (struct stub_behaviour){.mode = mode,
                                          .mode_name = "test",
                                          .tone_hz = 1000,
                                          .greeting_16k = {greeting, 16000},
                                          .greeting_24k = {greeting, 16000},
                                          .sessions_max = 5,
                                          .counters = &p.counters};
    p.link = stub_link_create(&p.behaviour, "0badcafe", p.now_us);
    p.reader = backend_frame_reader_create();
    assert_non_null(p.link);
    assert_non_null(p.reader);
    return &p;
}

static void close_peer(struct peer *p)
{
    stub_link_destroy(p->link);
    backend_frame_reader_destroy(p->reader);
}

static void send_bytes(struct peer *p, const void *bytes, size_t len)
{
    while (len > 0) {
        const struct bytes_span room = stub_link_reserve(p->link);
        assert_true(room.cap > 0);
        const size_t piece = len < room.cap ? len : room.cap;
        memcpy(room.data, bytes, piece);
        stub_link_commit(p->link, piece, p->now_us);
        bytes = (const uint8_t *)bytes + piece;
        len -= piece;
    }
}

static void send_frame(struct peer *p, struct backend_frame frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    frame.sequence = p->sequence[frame.session]++;
    backend_frame_encode_header(&frame, header);
    send_bytes(p, header, sizeof(header));
    send_bytes(p, frame.payload.data, frame.payload.len);
}

static void send_text(struct peer *p, uint8_t type, uint32_t session, const char *json)
{
    send_frame(p, (struct backend_frame){.type = type,
                                         .session = session,
                                         .flags = BACKEND_FLAG_LAST,
                                         .payload = bytes_view_of_text(json)});
}

static void keep_frame(struct peer *p, struct backend_frame frame)
{
    assert_true(p->frame_count < FRAMES_MAX && p->payload_len + frame.payload.len <= PAYLOAD_TOTAL);
    assert_int_equal(frame.sequence, p->heard_sequence[frame.session]++);
    if (frame.payload.len > 0) {
        memcpy(p->payload + p->payload_len, frame.payload.data, frame.payload.len);
    }
    frame.payload.data = p->payload + p->payload_len;
    p->payload_len += frame.payload.len;
    p->frame[p->frame_count++] = frame;
}

/* Reads what the link writes, at most len_max bytes. */
static void hear_some(struct peer *p, size_t len_max)
{
    while (len_max > 0) {
        const struct bytes_view output = stub_link_output(p->link, p->now_us);
        const struct bytes_span room = backend_frame_reader_reserve(p->reader);
        size_t len = output.len < len_max ? output.len : len_max;
        len = len < room.cap ? len : room.cap;
        if (len == 0) {
            return;
        }
        memcpy(room.data, output.data, len);
        backend_frame_reader_commit(p->reader, len);
        stub_link_sent(p->link, len, p->now_us);
        len_max -= len;
        struct backend_frame frame;
        enum backend_frame_result result;
        while ((result = backend_frame_reader_poll(p->reader, &frame)) == BACKEND_FRAME_OK) {
            keep_frame(p, frame);
        }
        assert_int_equal(result, BACKEND_FRAME_MORE);
    }
}

static void hear(struct peer *p)
{
    hear_some(p, SIZE_MAX);
}

static void forget(struct peer *p)
{
    p->frame_count = 0;
    p->payload_len = 0;
}

static const struct backend_frame *heard(const struct peer *p, uint8_t type)
{
    for (size_t i = 0; i < p->frame_count; i++) {
        if (p->frame[i].type == type) {
            return &p->frame[i];
        }
    }
    return NULL;
}

static size_t heard_count(const struct peer *p, uint8_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        count += p->frame[i].type == type;
    }
    return count;
}

static bool says(const struct backend_frame *frame, const char *text)
{
    return frame != NULL &&
           memmem(frame->payload.data, frame->payload.len, text, strlen(text)) != NULL;
}

static void pass_time(struct peer *p, uint64_t us)
{
    const uint64_t end_us = p->now_us + us;
    while (!stub_link_is_over(p->link) && stub_link_next_timeout(p->link) <= end_us) {
        p->now_us = time_later(p->now_us, stub_link_next_timeout(p->link));
        stub_link_tick(p->link, p->now_us);
        assert_true(stub_link_next_timeout(p->link) > p->now_us);
    }
    p->now_us = end_us;
}

static struct peer *greet(enum dialogue_mode mode)
{
    struct peer *p = open_peer(mode);
    send_text(p, BACKEND_HELLO, 0, "{\"versions\":[1]}");
    hear(p);
    assert_int_equal(p->frame_count, 1);
    assert_true(says(heard(p, BACKEND_HELLO), "\"versions\":[1]"));
    assert_true(says(heard(p, BACKEND_HELLO), "0badcafe"));
    forget(p);
    return p;
}

static struct peer *start(enum dialogue_mode mode)
{
    struct peer *p = greet(mode);
    send_text(p, BACKEND_SESSION_START, 1, START_JSON);
    hear(p);
    assert_non_null(heard(p, BACKEND_SESSION_ACCEPT));
    forget(p);
    return p;
}

static struct backend_frame audio_frame(uint32_t session, uint8_t rate_khz)
{
    static const uint8_t pcm[960] = {1, 2, 3};
    return (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                  .session = session,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = rate_khz,
                                  .channels = 1,
                                  .payload = {pcm, rate_khz * 40u}};
}

/* The link said code in one last ERROR, waits for it to be read, and goes. */
static void assert_failed(struct peer *p, enum stub_close_reason reason, const char *code)
{
    assert_false(stub_link_is_over(p->link));
    hear(p);
    const struct backend_frame *error = &p->frame[p->frame_count - 1];
    assert_true(p->frame_count > 0 && error->type == BACKEND_ERROR && says(error, code));
    assert_true(says(error, "\"fatal\":true"));
    assert_int_equal(stub_link_reason(p->link), reason);
    assert_true(stub_link_is_finished(p->link));
    send_bytes(p, "more", 4); /* is read and ignored */
    pass_time(p, 1001 * US_PER_MS);
    assert_true(stub_link_is_over(p->link));
    assert_int_equal(stub_link_reason(p->link), reason);
}

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

/* --- sessions --------------------------------------------------------------------------------- */

static void the_accepted_rate_is_the_first_in_common(void **state)
{
    (void)state;
    static const struct {
        enum dialogue_mode mode;
        const char *json;
        const char *answer;
    } cases[] = {
        {DIALOGUE_ECHO, START_JSON, "\"in\":\"pcm16/24000\",\"out\":\"pcm16/24000\""},
        {DIALOGUE_PARROT, START_JSON, "\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\""},
        {DIALOGUE_PARROT, "{}", "\"out\":\"pcm16/24000\""},
        {DIALOGUE_PARROT, "{\"in\":[\"pcm16/24000\"]}", "\"in\":\"pcm16/24000\""},
        {DIALOGUE_TONE,
         "{\"in\":[\"opus/48000\",\"pcm16/48000\",\"pcm16/16000\"],"
         "\"out\":[\"pcm16/24000\",\"pcm16/16000\"]}",
         "\"in\":\"pcm16/16000\""},
        {DIALOGUE_ECHO, "{\"in\":[\"pcm16/16000\"]}", "\"code\":\"codec\""},
        {DIALOGUE_ECHO, "{\"in\":[\"pcmu/8000\"],\"out\":[\"pcmu/8000\"]}", "\"code\":\"codec\""},
        {DIALOGUE_ECHO, "{\"in\":[],\"out\":[]}", "\"code\":\"codec\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer *p = greet(cases[i].mode);
        send_text(p, BACKEND_SESSION_START, 3, cases[i].json);
        hear(p);
        assert_true(says(&p->frame[0], cases[i].answer));
        const bool is_rejected = heard(p, BACKEND_SESSION_REJECT) != NULL;
        assert_int_equal(stub_link_session_count(p->link), is_rejected ? 0 : 1);
        close_peer(p);
    }
}

static void a_start_may_come_in_chunks_but_not_for_ever(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    const struct bytes_view json = bytes_view_of_text(START_JSON);
    for (size_t i = 0; i < json.len; i++) {
        send_frame(p, (struct backend_frame){.type = BACKEND_SESSION_START,
                                             .session = 1,
                                             .flags = i + 1 == json.len ? BACKEND_FLAG_LAST : 0,
                                             .payload = {json.data + i, 1}});
    }
    hear(p);
    assert_non_null(heard(p, BACKEND_SESSION_ACCEPT));
    send_frame(p, (struct backend_frame){.type = BACKEND_SESSION_START,
                                         .session = 2,
                                         .payload = bytes_view_of_text("{")});
    for (int i = 0; i < 7; i++) {
        send_text(p, BACKEND_PONG, 0, "12345678");
        hear(p);
        pass_time(p, 800 * US_PER_MS);
    }
    hear(p);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "timeout"));
    assert_int_equal(stub_link_session_count(p->link), 1);
    close_peer(p);
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

static void an_end_is_answered_last_and_frees_the_handle(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_TONE);
    send_text(p, BACKEND_SESSION_END, 1, "{\"reason\":\"hangup\"}");
    hear(p);
    assert_int_equal(p->frame[p->frame_count - 1].type, BACKEND_SESSION_ENDED);
    assert_int_equal(stub_link_session_count(p->link), 0);
    assert_int_equal(metric_get(&p->counters.sessions_open), 0);
    p->sequence[1] = 0;
    p->heard_sequence[1] = 0;
    send_text(p, BACKEND_SESSION_START, 1, START_JSON);
    hear(p);
    assert_int_equal(stub_link_session_count(p->link), 1);
    close_peer(p);
}

static void sessions_beyond_the_maximum_and_while_draining_are_rejected(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    for (uint32_t session = 1; session <= 6; session++) {
        send_text(p, BACKEND_SESSION_START, session, START_JSON);
    }
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_SESSION_ACCEPT), 5);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "overload"));
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "\"retry_elsewhere\":true"));
    send_frame(p, audio_frame(6, 24)); /* sent before the reject was read */
    send_text(p, BACKEND_SESSION_END, 1, "{}");
    stub_link_go_away(p->link, 10 * US_PER_S);
    p->behaviour.is_draining = true;
    forget(p);
    send_text(p, BACKEND_SESSION_START, 7, START_JSON);
    hear(p);
    assert_true(says(heard(p, BACKEND_GOAWAY), "\"deadline_ms\":10000"));
    assert_non_null(heard(p, BACKEND_SESSION_REJECT));
    assert_int_equal(stub_link_session_count(p->link), 4);
    close_peer(p);
}

static void a_resume_is_rejected(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    send_text(p, BACKEND_SESSION_RESUME, 1, "{}");
    hear(p);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "no_session"));
    assert_int_equal(stub_link_session_count(p->link), 0);
    close_peer(p);
}

static void sessions_end_by_the_thousand_without_a_trace(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    for (int i = 0; i < 3000; i++) {
        p->sequence[1] = 0;
        p->heard_sequence[1] = 0;
        send_text(p, BACKEND_SESSION_START, 1, START_JSON);
        send_frame(p, audio_frame(1, 24));
        send_text(p, BACKEND_SESSION_END, 1, "{}");
        hear(p);
        forget(p);
    }
    assert_int_equal(stub_link_session_count(p->link), 0);
    assert_int_equal(metric_get(&p->counters.sessions[STUB_SESSION_ACCEPTED]), 3000);
    close_peer(p);
}

/* --- media and events ------------------------------------------------------------------------- */

static void an_echo_comes_back_byte_for_byte(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    const struct backend_frame in = audio_frame(1, 24);
    send_frame(p, in);
    hear(p);
    const struct backend_frame *out = heard(p, BACKEND_AUDIO_OUT);
    assert_true(out != NULL && bytes_equal(out->payload, in.payload));
    assert_int_equal(out->utterance, 1);
    assert_int_equal(out->codec, BACKEND_CODEC_PCM16);
    assert_int_equal(out->rate_khz, 24);
    assert_int_equal(out->channels, 1);
    assert_int_equal(out->flags, 0);
    assert_int_equal(out->time_us, 0);
    close_peer(p);
}

static void a_silence_frame_is_as_long_as_it_says(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    send_frame(p, (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                         .session = 1,
                                         .flags = BACKEND_AUDIO_SILENCE,
                                         .duration_2500us = 9});
    hear(p);
    size_t bytes = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        bytes += p->frame[i].payload.len;
    }
    assert_int_equal(bytes, 9 * 60 * 2);
    close_peer(p);
}

static void credit_opens_the_tone_and_playback_is_understood(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_TONE);
    uint8_t credit[8];
    struct byte_writer w;
    byte_writer_init(&w, credit, sizeof(credit));
    byte_writer_u64_le(&w, 1500000);
    send_text(p, BACKEND_SESSION_START, 1, "{\"credit_us\":500000}");
    hear(p);
    assert_int_equal(p->payload_len - p->frame[0].payload.len, 24000);
    forget(p);
    send_frame(p, (struct backend_frame){
                      .type = BACKEND_CREDIT, .session = 1, .payload = {credit, sizeof(credit)}});
    hear(p);
    assert_int_equal(p->payload_len, 48000);
    assert_int_equal(p->frame[0].utterance, 1);
    forget(p);
    send_text(p, BACKEND_PLAYBACK, 1, "{\"utterance\":1,\"state\":\"done\"}");
    memset(credit, 0xff, sizeof(credit) - 1);
    send_frame(p, (struct backend_frame){
                      .type = BACKEND_CREDIT, .session = 1, .payload = {credit, sizeof(credit)}});
    hear_some(p, 100000);
    assert_int_equal(p->frame[0].utterance, 2);
    close_peer(p);
}

static void a_parrot_greets_when_connected(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_PARROT);
    send_text(p, BACKEND_CONNECTED, 1, "{\"transport\":\"udp\",\"setup_ms\":5}");
    hear(p);
    assert_int_equal(p->frame_count, 10);
    assert_int_equal(p->payload_len, 2 * 16000);
    assert_int_equal(p->frame[8].flags, 0);
    assert_int_equal(p->frame[9].flags, BACKEND_FLAG_LAST);
    assert_int_equal(p->frame[9].rate_khz, 16);
    close_peer(p);
}

/* The stream is stuck with audio of two sessions; what is urgent waits behind LINK_OUTPUT_BYTES at
 * most. */
static void urgent_frames_overtake_audio_and_sessions_take_turns(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_TONE);
    send_text(p, BACKEND_SESSION_START, 1, "{\"credit_us\":3600000000}");
    send_text(p, BACKEND_SESSION_START, 2, "{\"credit_us\":3600000000}");
    (void)stub_link_output(p->link, p->now_us);
    send_text(p, BACKEND_PING, 0, "12345678");
    send_frame(p, audio_frame(1, 16));
    hear_some(p, 2 * LINK_OUTPUT_BYTES);
    size_t bytes[3] = {0};
    size_t at_pong = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        const struct backend_frame *frame = &p->frame[i];
        at_pong = frame->type == BACKEND_PONG ? i : at_pong;
        bytes[frame->session] += frame->type == BACKEND_AUDIO_OUT ? frame->payload.len : 0;
        if (frame->type == BACKEND_AUDIO_OUT) {
            assert_in_range(bytes[1] + 4800 - bytes[2], 0, 9600);
        }
    }
    assert_in_range(at_pong, 1, LINK_OUTPUT_BYTES / 4832 + 3);
    assert_int_equal(p->frame[at_pong + 1].type, BACKEND_ERROR);
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

static void events_are_answered_with_an_error_event(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_PARROT);
    send_text(p, BACKEND_EVENT, 1, "{\"type\":\"session.update\",\"event_id\":\"e1\"}");
    hear(p);
    const struct backend_frame *answer = heard(p, BACKEND_EVENT);
    assert_true(says(answer, "\"type\":\"error\"") && says(answer, "\"event_id\":\"e1\""));
    assert_int_equal(answer->flags, BACKEND_FLAG_LAST);
    forget(p);
    for (int i = 0; i < OUTBOX_MESSAGES + 2; i++) { /* nobody reads the answers */
        send_text(p, BACKEND_EVENT, 1, "{}");
    }
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_EVENT), OUTBOX_MESSAGES);
    assert_int_equal(metric_get(&p->counters.events_dropped), 2);
    close_peer(p);
}

static void a_call_without_an_event_channel_gets_no_events(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_PARROT);
    send_text(p, BACKEND_SESSION_START, 1, "{\"events\":false}");
    hear(p);
    forget(p);
    send_text(p, BACKEND_EVENT, 1, "{}");
    hear(p);
    assert_int_equal(p->frame_count, 0);
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
        cmocka_unit_test(the_accepted_rate_is_the_first_in_common),
        cmocka_unit_test(a_start_may_come_in_chunks_but_not_for_ever),
        cmocka_unit_test(a_message_of_more_than_256_kb_closes_the_connection),
        cmocka_unit_test(an_end_is_answered_last_and_frees_the_handle),
        cmocka_unit_test(sessions_beyond_the_maximum_and_while_draining_are_rejected),
        cmocka_unit_test(a_resume_is_rejected),
        cmocka_unit_test(sessions_end_by_the_thousand_without_a_trace),
        cmocka_unit_test(an_echo_comes_back_byte_for_byte),
        cmocka_unit_test(a_silence_frame_is_as_long_as_it_says),
        cmocka_unit_test(credit_opens_the_tone_and_playback_is_understood),
        cmocka_unit_test(a_parrot_greets_when_connected),
        cmocka_unit_test(urgent_frames_overtake_audio_and_sessions_take_turns),
        cmocka_unit_test(a_peer_that_reads_nothing_for_5_s_is_dropped),
        cmocka_unit_test(events_are_answered_with_an_error_event),
        cmocka_unit_test(a_call_without_an_event_channel_gets_no_events),
        cmocka_unit_test(any_flipped_bit_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
