/* stub_resume_test.c - a call outlives its connection: on the shelf, once, and not for ever */
#include "tests/testing.h"

#include "services/inference-stub/session_shelf.h"
#include "services/inference-stub/stub_link.h"

#include <stdio.h>

#define BEGIN_US UINT64_C(1000000)
#define TOKEN    "00112233445566778899aabbccddeeff"
#define NEXT     "ffeeddccbbaa99887766554433221100"
#define GREETING 16000 /* one second */

static int16_t greeting[GREETING];

/* A transceiver that loses its connection to one stub. */
struct world {
    struct stub_behaviour behaviour;
    struct stub_counters counters;
    struct session_shelf shelf;
    struct stub_link *link;
    struct backend_frame_reader *reader;
    uint64_t now_us;
    uint32_t next_out[3]; /* by session */
    uint32_t next_heard[3];
};

static void send_frame(struct world *w, struct backend_frame frame)
{
    uint8_t bytes[BACKEND_FRAME_HEADER_BYTES + 2048];
    frame.sequence = w->next_out[frame.session]++;
    backend_frame_encode_header(&frame, bytes);
    if (frame.payload.len > 0) {
        memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, frame.payload.data, frame.payload.len);
    }
    const size_t len = BACKEND_FRAME_HEADER_BYTES + frame.payload.len;
    const struct bytes_span room = stub_link_reserve(w->link);
    assert_true(room.cap >= len);
    memcpy(room.data, bytes, len);
    stub_link_commit(w->link, len, w->now_us);
}

static void send_text(struct world *w, unsigned type, uint32_t session, const char *text)
{
    send_frame(w, (struct backend_frame){.type = (uint8_t)type,
                                         .flags = BACKEND_FLAG_LAST,
                                         .session = session,
                                         .payload = bytes_view_of_text(text)});
}

/* The next frame of the stub, if there is one. */
static bool hear(struct world *w, struct backend_frame *out)
{
    if (backend_frame_reader_poll(w->reader, out) == BACKEND_FRAME_MORE) {
        const struct bytes_view output = stub_link_output(w->link, w->now_us);
        const struct bytes_span room = backend_frame_reader_reserve(w->reader);
        const size_t len = output.len < room.cap ? output.len : room.cap;
        memcpy(room.data, output.data, len);
        backend_frame_reader_commit(w->reader, len);
        stub_link_sent(w->link, len, w->now_us);
        if (backend_frame_reader_poll(w->reader, out) != BACKEND_FRAME_OK) {
            return false;
        }
    }
    assert_int_equal(out->sequence, w->next_heard[out->session]++);
    return true;
}

static struct backend_frame expect(struct world *w, unsigned type)
{
    struct backend_frame frame;
    do {
        assert_true(hear(w, &frame));
    } while (frame.type != type);
    return frame;
}

static void connect_stub(struct world *w)
{
    w->link = stub_link_create(&w->behaviour, "i", w->now_us);
    w->reader = backend_frame_reader_create();
    memset(w->next_out, 0, sizeof(w->next_out));
    memset(w->next_heard, 0, sizeof(w->next_heard));
    send_text(w, BACKEND_HELLO, 0, "{\"resume\":true}");
    const struct backend_frame hello = expect(w, BACKEND_HELLO);
    struct backend_hello read;
    assert_true(backend_hello_decode(hello.payload, &read));
    assert_true(read.can_resume);
}

static void disconnect(struct world *w)
{
    stub_link_peer_closed(w->link);
    stub_link_shelve(w->link, w->now_us);
    stub_link_destroy(w->link);
    backend_frame_reader_destroy(w->reader);
}

static void open_world(struct world *w, enum dialogue_mode mode)
{
    *w = (struct world){.now_us = BEGIN_US};
    for (size_t i = 0; i < GREETING; i++) {
        greeting[i] = (int16_t)i;
    }
    session_shelf_init(&w->shelf);
    w->behaviour = (struct stub_behaviour){.mode = mode,
                                           .mode_name = "test",
                                           .greeting_16k = {greeting, GREETING},
                                           .greeting_24k = {greeting, GREETING},
                                           .sessions_max = 5,
                                           .shelf = &w->shelf,
                                           .counters = &w->counters};
    connect_stub(w);
    send_text(w, BACKEND_SESSION_START, 1,
              "{\"call_id\":\"c\",\"resume_token\":\"" TOKEN "\",\"in\":[\"pcm16/16000\"],"
              "\"out\":[\"pcm16/16000\"]}");
    expect(w, BACKEND_SESSION_ACCEPT);
}

static void close_world(struct world *w)
{
    stub_link_destroy(w->link);
    backend_frame_reader_destroy(w->reader);
    session_shelf_clear(&w->shelf);
}

static void send_resume(struct world *w, uint32_t session, const char *token,
                        const struct backend_position *position)
{
    struct backend_resume resume = {.call_id = "c", .next_token = NEXT, .position = *position};
    char text[1024];
    (void)snprintf(resume.token, sizeof(resume.token), "%s", token);
    text[backend_resume_encode(&resume, text, sizeof(text) - 1)] = '\0';
    send_text(w, BACKEND_SESSION_RESUME, session, text);
}

static const struct backend_position at_begin = {.credit_us = 10000000};

static void a_call_goes_on_under_another_handle(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, DIALOGUE_ECHO);
    disconnect(&w);
    assert_int_equal(w.shelf.count, 1);
    w.now_us += 4 * US_PER_S;
    connect_stub(&w);
    send_resume(&w, 2, TOKEN, &at_begin);
    const struct backend_frame accept = expect(&w, BACKEND_SESSION_ACCEPT);
    assert_int_equal(accept.session, 2);
    struct backend_accept read;
    assert_true(backend_accept_decode(accept.payload, &read));
    assert_int_equal(read.in.rate_khz, 16); /* the format of before */
    assert_int_equal(w.shelf.count, 0);
    assert_int_equal(metric_get(&w.counters.sessions_open), 1);
    assert_int_equal(metric_get(&w.counters.sessions[STUB_SESSION_RESUMED]), 1);
    close_world(&w);
}

static void a_token_is_good_once_and_the_next_one_for_the_next_loss(void **state)
{
    (void)state;
    static const char *const token[] = {TOKEN, NEXT};
    struct world w;
    open_world(&w, DIALOGUE_ECHO);
    for (size_t i = 0; i < COUNT_OF(token); i++) {
        disconnect(&w);
        connect_stub(&w);
        send_resume(&w, 1, token[i], &at_begin);
        expect(&w, BACKEND_SESSION_ACCEPT);
        send_resume(&w, 2, token[i], &at_begin);
        struct backend_reject reject;
        const struct backend_frame frame = expect(&w, BACKEND_SESSION_REJECT);
        assert_true(backend_reject_decode(frame.payload, &reject));
        assert_string_equal(reject.code, "no_session");
        w.next_out[2] = w.next_heard[2] = 0;
    }
    close_world(&w);
}

/* The transceiver did not hear the ACCEPT: it has the token of before. A frame says that it did. */
static void the_old_token_is_good_until_the_accept_was_heard(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, DIALOGUE_ECHO);
    for (int breaks = 0; breaks < 3; breaks++) {
        disconnect(&w);
        connect_stub(&w);
        send_resume(&w, 1, TOKEN, &at_begin);
        expect(&w, BACKEND_SESSION_ACCEPT);
    }
    send_text(&w, BACKEND_CONNECTED, 1, "{}");
    disconnect(&w);
    connect_stub(&w);
    send_resume(&w, 1, TOKEN, &at_begin);
    expect(&w, BACKEND_SESSION_REJECT);
    send_resume(&w, 2, NEXT, &at_begin);
    expect(&w, BACKEND_SESSION_ACCEPT);
    close_world(&w);
}

static void a_call_is_kept_for_ten_seconds(void **state)
{
    (void)state;
    for (int is_late = 0; is_late <= 1; is_late++) {
        struct world w;
        open_world(&w, DIALOGUE_ECHO);
        disconnect(&w);
        w.now_us += SESSION_SHELF_US - (is_late == 0);
        connect_stub(&w);
        send_resume(&w, 1, TOKEN, &at_begin);
        expect(&w, is_late == 0 ? BACKEND_SESSION_ACCEPT : BACKEND_SESSION_REJECT);
        close_world(&w);
    }
}

static void what_has_ended_or_has_no_token_is_not_kept(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, DIALOGUE_ECHO);
    send_text(&w, BACKEND_SESSION_END, 1, "{}");
    send_text(&w, BACKEND_SESSION_START, 2, "{}");
    disconnect(&w);
    assert_int_equal(w.shelf.count, 0);
    assert_int_equal(metric_get(&w.counters.sessions_open), 0);
    connect_stub(&w);
    send_resume(&w, 1, "", &at_begin);
    expect(&w, BACKEND_SESSION_REJECT);
    close_world(&w);
}

/* A parrot still has its words: what did not arrive is said again, from where it belongs. */
static void what_was_lost_on_the_way_is_said_again(void **state)
{
    (void)state;
    static const struct backend_position position = {
        .utterance = 1, .received_us = 300000, .received_total_us = 300000, .credit_us = 10000000};
    struct world w;
    struct backend_frame frame;
    open_world(&w, DIALOGUE_PARROT);
    send_text(&w, BACKEND_CONNECTED, 1, "{}");
    while (hear(&w, &frame)) {
        assert_int_equal(frame.time_us, 0); /* append */
    }
    disconnect(&w);
    connect_stub(&w);
    send_resume(&w, 1, TOKEN, &position);
    size_t next = GREETING * 3 / 10;
    while (next < GREETING) {
        frame = expect(&w, BACKEND_AUDIO_OUT);
        assert_int_equal(frame.utterance, 1);
        assert_int_equal(frame.time_us, next * 1000 / 16);
        for (size_t i = 0; i < frame.payload.len; i += 2) {
            const int sample = frame.payload.data[i] | frame.payload.data[i + 1] << 8;
            assert_int_equal(sample, greeting[next++]);
        }
    }
    assert_int_equal(next, GREETING);
    assert_int_equal(frame.flags, BACKEND_FLAG_LAST);
    assert_false(hear(&w, &frame));
    close_world(&w);
}

static void send_late_audio(struct world *w, uint64_t time_us)
{
    static const uint8_t pcm[640];
    send_frame(w, (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                         .flags = BACKEND_AUDIO_LATE,
                                         .session = 1,
                                         .time_us = time_us,
                                         .codec = BACKEND_CODEC_PCM16,
                                         .rate_khz = 16,
                                         .channels = 1,
                                         .duration_2500us = 8,
                                         .payload = bytes_view_of(pcm, sizeof(pcm))});
}

/* An echo leaves out what is late, and counts it: so it tells what was heard. */
static void what_is_repeated_is_heard_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, DIALOGUE_ECHO);
    send_late_audio(&w, 0);
    send_late_audio(&w, 20000);
    disconnect(&w);
    connect_stub(&w);
    send_resume(&w, 1, TOKEN, &at_begin);
    send_late_audio(&w, 0);
    send_late_audio(&w, 20000);
    assert_int_equal(metric_get(&w.counters.echo_dropped_samples), 2 * 320);
    send_late_audio(&w, 40000);
    assert_int_equal(metric_get(&w.counters.echo_dropped_samples), 3 * 320);
    close_world(&w);
}

static void a_parrot_that_takes_over_a_call_does_not_greet_again(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w, DIALOGUE_PARROT);
    send_text(&w, BACKEND_SESSION_START, 2, "{\"restarted\":true}");
    expect(&w, BACKEND_SESSION_ACCEPT);
    send_text(&w, BACKEND_CONNECTED, 2, "{}");
    assert_false(hear(&w, &frame));
    send_text(&w, BACKEND_CONNECTED, 1, "{}");
    assert_int_equal(expect(&w, BACKEND_AUDIO_OUT).session, 1);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_goes_on_under_another_handle),
        cmocka_unit_test(the_old_token_is_good_until_the_accept_was_heard),
        cmocka_unit_test(a_token_is_good_once_and_the_next_one_for_the_next_loss),
        cmocka_unit_test(a_call_is_kept_for_ten_seconds),
        cmocka_unit_test(what_has_ended_or_has_no_token_is_not_kept),
        cmocka_unit_test(what_was_lost_on_the_way_is_said_again),
        cmocka_unit_test(what_is_repeated_is_heard_once),
        cmocka_unit_test(a_parrot_that_takes_over_a_call_does_not_greet_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
