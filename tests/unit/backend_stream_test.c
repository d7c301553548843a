/* backend_stream_test.c - greeting, numbering, heartbeat, and a backend that does not read */
#include "tests/testing.h"

#include "services/transceiver/port/backend_stream.h"

#include <stdio.h>
#include <stdlib.h>

#define BEGIN_US UINT64_C(50000000)
#define SESSIONS 4
#define ID(slot) ((uint32_t)(slot) << 8 | 1u)

/* The far end: numbers what it says, and keeps what it hears. */
struct world {
    struct backend_stream_counters counters;
    struct backend_stream *stream;
    uint64_t now_us;
    uint32_t next_out[SESSIONS + 1]; /* by slot + 1; 0 is the connection */
    struct backend_frame_reader *heard;
};

static void open_world(struct world *w)
{
    const struct backend_stream_config config = {
        .name = "tester", .instance_id = 0x1234, .session_capacity = SESSIONS};
    *w = (struct world){.now_us = BEGIN_US, .heard = backend_frame_reader_create()};
    w->stream = backend_stream_create(&config, &w->counters, BEGIN_US);
    assert_non_null(w->stream);
}

static void close_world(struct world *w)
{
    backend_stream_destroy(w->stream);
    backend_frame_reader_destroy(w->heard);
}

static void feed(struct world *w, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const struct bytes_span room = backend_stream_reserve(w->stream);
        const size_t part = len < room.cap ? len : room.cap;
        memcpy(room.data, data, part);
        backend_stream_commit(w->stream, part, w->now_us);
        data += part;
        len -= part;
    }
}

static size_t encode(const struct backend_frame *frame, uint8_t *out)
{
    backend_frame_encode_header(frame, out);
    if (frame->payload.len > 0) {
        memcpy(out + BACKEND_FRAME_HEADER_BYTES, frame->payload.data, frame->payload.len);
    }
    return BACKEND_FRAME_HEADER_BYTES + frame->payload.len;
}

/* The backend says a frame with the next number of its session. */
static void say(struct world *w, unsigned type, uint32_t session, const char *payload)
{
    uint8_t bytes[4096];
    const struct backend_frame frame = {
        .type = (uint8_t)type,
        .session = session,
        .sequence = w->next_out[session == 0 ? 0 : (session >> 8) + 1]++,
        .payload = bytes_view_of_text(payload),
    };
    feed(w, bytes, encode(&frame, bytes));
}

static bool poll_frame(struct world *w, struct backend_frame *out)
{
    return backend_stream_poll_frame(w->stream, out, w->now_us);
}

/* Lets the stream act on what it has, and expects no frame of a session. */
static void settle(struct world *w)
{
    struct backend_frame frame;
    assert_false(poll_frame(w, &frame));
}

/* The far end reads everything that waits for it. */
static void read_output(struct world *w)
{
    const struct bytes_view output = backend_stream_output(w->stream);
    const struct bytes_span room = backend_frame_reader_reserve(w->heard);
    const size_t len = output.len < room.cap ? output.len : room.cap;
    memcpy(room.data, output.data, len);
    backend_frame_reader_commit(w->heard, len);
    backend_stream_sent(w->stream, len, w->now_us);
}

static struct backend_frame expect_heard(struct world *w, unsigned type, uint32_t session,
                                         uint32_t sequence)
{
    struct backend_frame frame;
    enum backend_frame_result result = backend_frame_reader_poll(w->heard, &frame);
    if (result == BACKEND_FRAME_MORE) {
        read_output(w);
        result = backend_frame_reader_poll(w->heard, &frame);
    }
    assert_int_equal(result, BACKEND_FRAME_OK);
    assert_int_equal(frame.type, type);
    assert_int_equal(frame.session, session);
    assert_int_equal(frame.sequence, sequence);
    return frame;
}

static void assert_silent(struct world *w)
{
    struct backend_frame frame;
    read_output(w);
    assert_int_equal(backend_frame_reader_poll(w->heard, &frame), BACKEND_FRAME_MORE);
}

static void assert_holds(const struct backend_frame *frame, const char *what)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "%.*s", (int)frame->payload.len,
                   (const char *)frame->payload.data);
    if (strstr(text, what) == NULL) {
        fail_msg("%s is not in %s", what, text);
    }
}

/* Failed for `code`, said so, and is quiet for good. */
static void assert_failed(struct world *w, const char *code, uint32_t sequence_of_error)
{
    struct backend_frame frame;
    assert_non_null(backend_stream_failure(w->stream));
    assert_string_equal(backend_stream_failure(w->stream), code);
    assert_false(backend_stream_is_up(w->stream));
    assert_false(backend_stream_is_greeted(w->stream));
    frame = expect_heard(w, BACKEND_ERROR, 0, sequence_of_error);
    assert_holds(&frame, code);
    assert_holds(&frame, "\"fatal\":true");
    assert_true(backend_stream_next_timeout(w->stream) == TIME_NEVER);
    say(w, BACKEND_PING, 0, "12345678");
    assert_false(poll_frame(w, &frame));
    backend_stream_tick(w->stream, TIME_NEVER - 1);
    assert_silent(w);
}

static void greet(struct world *w)
{
    expect_heard(w, BACKEND_HELLO, 0, 0);
    say(w, BACKEND_HELLO, 0, "{\"name\":\"far end\"}");
    settle(w);
    assert_true(backend_stream_is_up(w->stream));
}

static void start(struct world *w, uint32_t session)
{
    const struct backend_frame frame = {.type = BACKEND_SESSION_START, .session = session};
    w->next_out[(session >> 8) + 1] = 0;
    backend_stream_send(w->stream, &frame);
}

static void send_frame(struct world *w, unsigned type, uint32_t session, size_t payload_bytes)
{
    static const uint8_t payload[BACKEND_FRAME_PAYLOAD_MAX];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = session,
                                        .payload = bytes_view_of(payload, payload_bytes)};
    backend_stream_send(w->stream, &frame);
}

/* --- greeting --------------------------------------------------------------------------------- */

static void hello_comes_first_and_nothing_before_the_answer(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    assert_false(backend_stream_is_up(w.stream));
    assert_string_equal(backend_stream_peer_name(w.stream), "");
    start(&w, ID(0)); /* too early: dropped */
    send_frame(&w, BACKEND_AUDIO_IN, ID(0), 10);
    const struct backend_frame hello = expect_heard(&w, BACKEND_HELLO, 0, 0);
    assert_holds(&hello, "\"name\":\"tester\"");
    assert_holds(&hello, "\"instance\":\"00001234\"");
    assert_holds(&hello, "\"max_sessions\":4");
    assert_silent(&w);
    say(&w, BACKEND_HELLO, 0, "{\"name\":\"far end\"}");
    settle(&w);
    assert_true(backend_stream_is_up(w.stream));
    assert_true(backend_stream_is_greeted(w.stream));
    assert_string_equal(backend_stream_peer_name(w.stream), "far end");
    assert_null(backend_stream_failure(w.stream));
    send_frame(&w, BACKEND_AUDIO_IN, ID(0), 10); /* its START was dropped: so is this */
    assert_silent(&w);
    close_world(&w);
}

static void a_wrong_greeting_fails_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        unsigned type;
        uint32_t session;
        const char *payload;
        const char *code;
    } c[] = {
        {BACKEND_PING, 0, "12345678", "bad_frame"},
        {BACKEND_HELLO, ID(1), "{}", "bad_frame"},
        {BACKEND_HELLO, 0, "hello", "bad_frame"},
        {BACKEND_HELLO, 0, "{\"versions\":1}", "bad_frame"},
        {BACKEND_HELLO, 0, "{\"versions\":[2,3]}", "version"},
        {BACKEND_HELLO, 0, "{\"versions\":[]}", "version"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        expect_heard(&w, BACKEND_HELLO, 0, 0);
        say(&w, c[i].type, c[i].session, c[i].payload);
        settle(&w);
        assert_failed(&w, c[i].code, 1);
        close_world(&w);
    }
}

static void bytes_that_are_no_frame_fail_at_once(void **state)
{
    (void)state;
    static const char *const text[] = {"GET / HTTP/1.1\r\n\r\n", "\x1b\0\0\0\xa1", "\x1c\0\0\0\xa2",
                                       "\x01\0\x01\0\xa1"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct world w;
        open_world(&w);
        greet(&w);
        feed(&w, (const uint8_t *)text[i], 5);
        settle(&w);
        assert_failed(&w, "bad_frame", 1);
        close_world(&w);
    }
}

static void without_an_answer_it_fails_after_two_seconds(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    expect_heard(&w, BACKEND_HELLO, 0, 0);
    assert_true(backend_stream_next_timeout(w.stream) == BEGIN_US + 2 * US_PER_S);
    backend_stream_tick(w.stream, BEGIN_US + 2 * US_PER_S - 1);
    assert_null(backend_stream_failure(w.stream));
    backend_stream_tick(w.stream, BEGIN_US + 2 * US_PER_S);
    assert_failed(&w, "timeout", 1);
    close_world(&w);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void frames_come_out_whole_however_they_are_split(void **state)
{
    (void)state;
    enum { FRAMES = 7 };
    uint8_t bytes[FRAMES * 64];
    size_t len = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct backend_frame frame = {.type = BACKEND_AUDIO_OUT,
                                            .session = ID(2),
                                            .sequence = i,
                                            .utterance = 100 + i,
                                            .payload = bytes_view_of("abcdef", i)};
        len += encode(&frame, bytes + len);
    }
    for (size_t step = 1; step <= len; step++) {
        struct world w;
        struct backend_frame out;
        uint32_t count = 0;
        open_world(&w);
        greet(&w);
        start(&w, ID(2));
        for (size_t at = 0; at < len; at += step) {
            feed(&w, bytes + at, len - at < step ? len - at : step);
            while (poll_frame(&w, &out)) {
                assert_int_equal(out.session, ID(2));
                assert_int_equal(out.utterance, 100 + count);
                assert_int_equal(out.payload.len, count);
                assert_memory_equal(out.payload.data, "abcdef", count);
                count++;
            }
        }
        assert_int_equal(count, FRAMES);
        assert_int_equal(metric_get(&w.counters.frames_received), FRAMES + 1);
        close_world(&w);
    }
}

static void each_session_and_the_connection_have_numbers_of_their_own(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    start(&w, ID(3));
    for (uint32_t i = 1; i < 4; i++) {
        send_frame(&w, BACKEND_AUDIO_IN, ID(0), 8);
        say(&w, BACKEND_AUDIO_OUT, ID(3), "ab");
        assert_true(poll_frame(&w, &out));
        assert_int_equal(out.session, ID(3));
    }
    send_frame(&w, BACKEND_CONNECTED, ID(3), 8);
    say(&w, BACKEND_PING, 0, "12345678");
    settle(&w);
    expect_heard(&w, BACKEND_SESSION_START, ID(0), 0);
    expect_heard(&w, BACKEND_SESSION_START, ID(3), 0);
    for (uint32_t i = 1; i < 4; i++) {
        expect_heard(&w, BACKEND_AUDIO_IN, ID(0), i);
    }
    expect_heard(&w, BACKEND_CONNECTED, ID(3), 1);
    const struct backend_frame pong = expect_heard(&w, BACKEND_PONG, 0, 1);
    assert_int_equal(pong.time_us, w.now_us);
    assert_true(bytes_equal(pong.payload, bytes_view_of_text("12345678")));
    assert_silent(&w);
    assert_int_equal(metric_get(&w.counters.frames_sent), 8);
    close_world(&w);
}

static void a_gap_or_a_repeat_in_the_numbers_fails(void **state)
{
    (void)state;
    static const struct {
        uint32_t session;
        int step;
    } c[] = {{0, 1}, {0, -1}, {ID(1), 1}, {ID(1), -1}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        struct backend_frame out;
        open_world(&w);
        greet(&w);
        start(&w, ID(1));
        say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
        assert_true(poll_frame(&w, &out));
        expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
        w.next_out[c[i].session == 0 ? 0 : 2] += (uint32_t)c[i].step;
        say(&w, BACKEND_PONG, c[i].session, "");
        settle(&w);
        assert_failed(&w, "sequence", 1);
        close_world(&w);
    }
}

static void frames_of_nobodys_sessions_are_ignored_in_both_directions(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    static const uint32_t unknown[] = {ID(1) + 1, ID(0), ID(SESSIONS), 0x00ffff01, 0xffffffff, 1};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        uint8_t bytes[64];
        const struct backend_frame frame = {
            .type = BACKEND_AUDIO_OUT, .session = unknown[i], .sequence = 77};
        feed(&w, bytes, encode(&frame, bytes));
        send_frame(&w, BACKEND_AUDIO_IN, unknown[i], 8);
    }
    settle(&w);
    assert_null(backend_stream_failure(w.stream));
    assert_silent(&w);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    close_world(&w);
}

static void a_slot_that_is_used_again_begins_anew_and_its_old_id_is_nobody(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    send_frame(&w, BACKEND_AUDIO_IN, ID(1), 8);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    const uint32_t old_number = w.next_out[2];
    start(&w, ID(1) + 1);
    send_frame(&w, BACKEND_SESSION_END, ID(1), 0); /* the old one has nothing more to say */
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_AUDIO_IN, ID(1), 1);
    expect_heard(&w, BACKEND_SESSION_START, ID(1) + 1, 0);
    assert_silent(&w);
    say(&w, BACKEND_SESSION_ACCEPT, ID(1) + 1, "{}");
    assert_true(poll_frame(&w, &out));
    assert_int_equal(out.session, ID(1) + 1);
    w.next_out[2] = old_number;
    say(&w, BACKEND_SESSION_ENDED, ID(1), "{}");
    settle(&w);
    assert_null(backend_stream_failure(w.stream));
    close_world(&w);
}

static void unknown_types_are_skipped(void **state)
{
    (void)state;
    static const unsigned type[] = {BACKEND_HELLO, BACKEND_PONG, 0x06, 0x7f, 0x80, 0xff};
    struct world w;
    open_world(&w);
    greet(&w);
    for (size_t i = 0; i < COUNT_OF(type); i++) {
        say(&w, type[i], 0, "whatever");
    }
    settle(&w);
    assert_true(backend_stream_is_up(w.stream));
    assert_silent(&w);
    close_world(&w);
}

static void going_away_takes_no_new_calls_and_lets_the_others_go_on(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame out;
    open_world(&w);
    greet(&w);
    start(&w, ID(1));
    say(&w, BACKEND_GOAWAY, 0, "{}");
    settle(&w);
    assert_false(backend_stream_is_up(w.stream));
    assert_true(backend_stream_is_greeted(w.stream));
    assert_null(backend_stream_failure(w.stream));
    send_frame(&w, BACKEND_AUDIO_IN, ID(1), 8);
    expect_heard(&w, BACKEND_SESSION_START, ID(1), 0);
    expect_heard(&w, BACKEND_AUDIO_IN, ID(1), 1);
    say(&w, BACKEND_AUDIO_OUT, ID(1), "ab");
    assert_true(poll_frame(&w, &out));
    close_world(&w);
}

static void an_error_of_the_backend_ends_the_stream_if_it_is_fatal(void **state)
{
    (void)state;
    static const struct {
        const char *payload;
        const char *failure; /* NULL: it goes on */
    } c[] = {
        {"{\"code\":\"overload\",\"fatal\":true}", "overload"},
        {"{\"fatal\":true}", "internal"},
        {"{\"code\":\"codec\"}", NULL},
        {"nonsense", "bad_frame"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        greet(&w);
        say(&w, BACKEND_ERROR, 0, c[i].payload);
        settle(&w);
        const char *failure = backend_stream_failure(w.stream);
        assert_int_equal(failure == NULL, c[i].failure == NULL);
        if (failure != NULL) {
            assert_string_equal(failure, c[i].failure);
        }
        assert_silent(&w); /* an ERROR is not answered with an ERROR */
        close_world(&w);
    }
}

/* --- heartbeat -------------------------------------------------------------------------------- */

static void the_smaller_heartbeat_counts_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *hello;
        uint64_t heartbeat_us;
    } c[] = {
        {"{}", 1000000},
        {"{\"heartbeat_ms\":1001}", 1000000},
        {"{\"heartbeat_ms\":4294967295}", 1000000},
        {"{\"heartbeat_ms\":300}", 300000},
        {"{\"heartbeat_ms\":50}", 50000},
        {"{\"heartbeat_ms\":49}", 50000},
        {"{\"heartbeat_ms\":0}", 50000},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w);
        expect_heard(&w, BACKEND_HELLO, 0, 0);
        say(&w, BACKEND_HELLO, 0, c[i].hello);
        settle(&w);
        const uint64_t due_us = BEGIN_US + c[i].heartbeat_us;
        assert_true(backend_stream_next_timeout(w.stream) == due_us);
        backend_stream_tick(w.stream, due_us - 1);
        assert_silent(&w);
        w.now_us = due_us;
        backend_stream_tick(w.stream, due_us);
        assert_true(backend_stream_next_timeout(w.stream) > due_us);
        assert_int_equal(expect_heard(&w, BACKEND_PING, 0, 1).payload.len, 8);
        close_world(&w);
    }
}

static void three_heartbeats_without_a_word_are_the_end(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    uint32_t pings = 0;
    while (w.now_us < BEGIN_US + 10 * US_PER_S) { /* any word will do */
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        expect_heard(&w, BACKEND_PING, 0, ++pings);
        say(&w, BACKEND_PONG, 0, "12345678");
        settle(&w);
    }
    const uint64_t last_us = w.now_us;
    while (backend_stream_next_timeout(w.stream) < last_us + 3 * US_PER_S) {
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        expect_heard(&w, BACKEND_PING, 0, ++pings);
        assert_null(backend_stream_failure(w.stream));
    }
    backend_stream_tick(w.stream, last_us + 3 * US_PER_S - 1);
    assert_null(backend_stream_failure(w.stream));
    backend_stream_tick(w.stream, last_us + 3 * US_PER_S);
    assert_failed(&w, "timeout", pings + 1);
    close_world(&w);
}

/* --- a backend that does not read ------------------------------------------------------------- */

static size_t waiting(const struct world *w)
{
    return backend_stream_output(w->stream).len;
}

static void voice_and_new_calls_are_dropped_first_and_counted(void **state)
{
    (void)state;
    const size_t cap = 2 * BACKEND_FRAME_BYTES_MAX + SESSIONS * 25 * (32 + 960);
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    uint64_t sent = 0;
    while (metric_get(&w.counters.audio_dropped) == 0) {
        send_frame(&w, BACKEND_AUDIO_IN, ID(0), 960);
        sent++;
        assert_true(sent < 1000);
    }
    assert_in_range(waiting(&w), cap / 4 * 3 + 1, cap / 4 * 3 + 992);
    const size_t before = waiting(&w);
    start(&w, ID(1));
    send_frame(&w, BACKEND_SESSION_END, ID(1), 0); /* nobody: its START was dropped */
    assert_int_equal(waiting(&w), before);
    send_frame(&w, BACKEND_PLAYBACK, ID(0), 100); /* what steers still passes */
    assert_int_equal(waiting(&w), before + 132);
    assert_null(backend_stream_failure(w.stream));
    read_output(&w); /* it reads again */
    while (waiting(&w) > cap / 4 * 3) {
        read_output(&w);
    }
    const uint64_t dropped = metric_get(&w.counters.audio_dropped);
    send_frame(&w, BACKEND_AUDIO_IN, ID(0), 960);
    assert_int_equal(metric_get(&w.counters.audio_dropped), dropped);
    close_world(&w);
}

static void when_nothing_fits_any_more_the_stream_fails(void **state)
{
    (void)state;
    const size_t cap = 2 * BACKEND_FRAME_BYTES_MAX + SESSIONS * 25 * (32 + 960);
    for (size_t over = 0; over <= 1; over++) {
        struct world w;
        open_world(&w);
        greet(&w);
        start(&w, ID(0));
        while (cap - waiting(&w) > 60000) {
            send_frame(&w, BACKEND_PLAYBACK, ID(0), 10000);
        }
        send_frame(&w, BACKEND_PLAYBACK, ID(0), cap - waiting(&w) - 32 + over);
        if (over == 0) {
            assert_int_equal(waiting(&w), cap);
            assert_null(backend_stream_failure(w.stream));
        } else {
            assert_string_equal(backend_stream_failure(w.stream), "overload");
        }
        close_world(&w);
    }
}

/* The far end takes odd pieces: room that was read is used again, in order. */
static void output_that_is_taken_in_pieces_stays_in_order(void **state)
{
    (void)state;
    struct world w;
    uint8_t byte = 0;
    uint8_t *all = malloc(1u << 20);
    size_t all_len = 0;
    size_t at = 0;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    for (int i = 0; i < 600; i++) {
        uint8_t payload[960];
        memset(payload, byte++, sizeof(payload));
        const struct backend_frame frame = {.type = BACKEND_AUDIO_IN,
                                            .session = ID(0),
                                            .payload = bytes_view_of(payload, sizeof(payload))};
        backend_stream_send(w.stream, &frame);
        const struct bytes_view output = backend_stream_output(w.stream);
        const size_t take = output.len < 977 ? output.len : 977;
        memcpy(all + all_len, output.data, take);
        all_len += take;
        backend_stream_sent(w.stream, take, w.now_us);
    }
    struct backend_frame frame;
    size_t frame_bytes = 0;
    for (uint32_t number = 0; backend_frame_decode(bytes_view_of(all + at, all_len - at), &frame,
                                                   &frame_bytes) == BACKEND_FRAME_OK;
         number++) {
        assert_int_equal(frame.sequence, number);
        assert_true(number == 0 || frame.payload.data[959] == (uint8_t)(number - 1));
        at += frame_bytes;
    }
    assert_true(at > 580 * 992);
    assert_int_equal(metric_get(&w.counters.audio_dropped), 0);
    free(all);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_comes_first_and_nothing_before_the_answer),
        cmocka_unit_test(a_wrong_greeting_fails_with_its_reason),
        cmocka_unit_test(bytes_that_are_no_frame_fail_at_once),
        cmocka_unit_test(without_an_answer_it_fails_after_two_seconds),
        cmocka_unit_test(frames_come_out_whole_however_they_are_split),
        cmocka_unit_test(each_session_and_the_connection_have_numbers_of_their_own),
        cmocka_unit_test(a_gap_or_a_repeat_in_the_numbers_fails),
        cmocka_unit_test(frames_of_nobodys_sessions_are_ignored_in_both_directions),
        cmocka_unit_test(a_slot_that_is_used_again_begins_anew_and_its_old_id_is_nobody),
        cmocka_unit_test(unknown_types_are_skipped),
        cmocka_unit_test(going_away_takes_no_new_calls_and_lets_the_others_go_on),
        cmocka_unit_test(an_error_of_the_backend_ends_the_stream_if_it_is_fatal),
        cmocka_unit_test(the_smaller_heartbeat_counts_within_its_bounds),
        cmocka_unit_test(three_heartbeats_without_a_word_are_the_end),
        cmocka_unit_test(voice_and_new_calls_are_dropped_first_and_counted),
        cmocka_unit_test(when_nothing_fits_any_more_the_stream_fails),
        cmocka_unit_test(output_that_is_taken_in_pieces_stays_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
