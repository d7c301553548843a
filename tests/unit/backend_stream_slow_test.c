/* backend_stream_slow_test.c - a backend that reads slowly, or nothing */
#include "tests/unit/backend_stream_world.h"

static void accept(struct world *w, uint32_t session)
{
    struct backend_frame frame;
    start(w, session);
    expect_heard(w, BACKEND_SESSION_START, session, 0);
    say(w, BACKEND_SESSION_ACCEPT, session, "{}");
    assert_true(poll_frame(w, &frame));
}

static void send_audio(struct world *w, uint32_t session, uint16_t flags)
{
    static const uint8_t payload[960];
    const struct backend_frame frame = {.type = BACKEND_AUDIO_IN,
                                        .flags = flags,
                                        .session = session,
                                        .payload = bytes_view_of(payload, sizeof(payload))};
    backend_stream_send(w->stream, &frame, w->now_us);
}

/* It goes on saying PING, and reads nothing. */
static void a_backend_that_reads_nothing_for_five_seconds_is_dead(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    const uint64_t dead_us = BEGIN_US + 5 * US_PER_S;
    while (backend_stream_next_timeout(w.stream) < dead_us) {
        w.now_us = backend_stream_next_timeout(w.stream);
        backend_stream_tick(w.stream, w.now_us);
        say(&w, BACKEND_PONG, 0, "");
        settle(&w);
        assert_null(backend_stream_failure(w.stream));
    }
    assert_true(backend_stream_next_timeout(w.stream) == dead_us);
    w.now_us = dead_us;
    backend_stream_tick(w.stream, w.now_us);
    assert_failed(&w, "timeout", 1);
    close_world(&w);
}

static void a_backend_that_reads_slowly_lives(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    accept(&w, ID(0));
    for (int i = 0; i < 1000; i++) {
        struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
        w.now_us += 20 * US_PER_MS;
        send_audio(&w, ID(0), 0);
        if (i % 50 == 0) {
            (void)backend_stream_gather(w.stream, piece, w.now_us);
            backend_stream_sent(w.stream, 10, w.now_us);
        }
        say(&w, BACKEND_PONG, 0, "");
        settle(&w);
        if (backend_stream_next_timeout(w.stream) <= w.now_us) {
            backend_stream_tick(w.stream, w.now_us);
        }
        assert_null(backend_stream_failure(w.stream));
    }
    assert_in_range(metric_get(&w.counters.audio_dropped), 900, 1000);
    close_world(&w);
}

/* What was held while there was no ACCEPT is late on purpose; the first frame in time ends that. */
static void late_audio_behind_an_accept_is_a_replay_and_waits(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    accept(&w, ID(0));
    send_audio(&w, ID(0), BACKEND_AUDIO_LATE);
    send_audio(&w, ID(0), BACKEND_AUDIO_LATE | BACKEND_AUDIO_CONCEALED);
    send_audio(&w, ID(0), 0);
    send_audio(&w, ID(0), BACKEND_AUDIO_LATE);
    w.now_us += 600 * US_PER_MS;
    assert_int_equal(expect_heard(&w, BACKEND_AUDIO_IN, ID(0), 1).flags, BACKEND_AUDIO_LATE);
    expect_heard(&w, BACKEND_AUDIO_IN, ID(0), 2);
    assert_silent(&w);
    assert_int_equal(metric_get(&w.counters.audio_dropped), 2);
    close_world(&w);
}

static void late_audio_without_an_accept_is_none(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    expect_heard(&w, BACKEND_SESSION_START, ID(0), 0);
    send_audio(&w, ID(0), BACKEND_AUDIO_LATE);
    w.now_us += 600 * US_PER_MS;
    assert_silent(&w);
    close_world(&w);
}

static void when_what_steers_has_no_room_the_stream_fails(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    uint32_t sent = 0;
    while (backend_stream_failure(w.stream) == NULL) {
        send_frame(&w, BACKEND_PLAYBACK, ID(0), 16000);
        assert_in_range(++sent, 1, 100);
    }
    assert_string_equal(backend_stream_failure(w.stream), "overload");
    close_world(&w);
}

static void a_session_that_has_no_room_to_start_has_no_handle(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    while (metric_get(&w.counters.messages_dropped) == 0) {
        send_frame(&w, BACKEND_EVENT, ID(0), 16000);
    }
    static const uint8_t json[16000];
    const struct backend_frame start_frame = {.type = BACKEND_SESSION_START,
                                              .session = ID(1),
                                              .payload = bytes_view_of(json, sizeof(json))};
    assert_false(backend_stream_send(w.stream, &start_frame, w.now_us));
    assert_false(backend_stream_has_session(w.stream, ID(1)));
    assert_true(backend_stream_is_up(w.stream));
    close_world(&w);
}

static void messages_that_a_broken_connection_keeps_count_as_dropped(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet(&w);
    start(&w, ID(0));
    expect_heard(&w, BACKEND_SESSION_START, ID(0), 0);
    for (int i = 0; i < 3; i++) {
        send_frame(&w, BACKEND_EVENT, ID(0), 100);
    }
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    (void)backend_stream_gather(w.stream, piece, w.now_us);
    backend_stream_sent(w.stream, 20, w.now_us); /* and a part of the first message */
    assert_int_equal(metric_get(&w.counters.messages_dropped), 0);
    backend_stream_destroy(w.stream);
    w.stream = NULL;
    assert_int_equal(metric_get(&w.counters.messages_dropped), 3);
    close_world(&w);
}

/* The backend has a part of its START: it is told that no more comes. */
static void half_a_start_is_taken_back(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    static const uint8_t json[16000];
    open_world(&w);
    greet(&w);
    const struct backend_frame chunk = {.type = BACKEND_SESSION_START,
                                        .session = ID(1),
                                        .payload = bytes_view_of(json, sizeof(json))};
    assert_true(backend_stream_send(w.stream, &chunk, w.now_us));
    int chunks = 1;
    while (backend_stream_send(w.stream, &chunk, w.now_us)) {
        assert_in_range(++chunks, 2, 200);
    }
    assert_null(backend_stream_failure(w.stream));
    for (int i = 0; i < chunks; i++) {
        frame = expect_heard(&w, BACKEND_SESSION_START, ID(1), (uint32_t)i);
    }
    frame = expect_heard(&w, BACKEND_SESSION_END, ID(1), (uint32_t)chunks);
    assert_int_equal(frame.payload.len, 2);
    assert_false(backend_stream_send(w.stream, &chunk, w.now_us)); /* its ENDED is missing */
    say(&w, BACKEND_SESSION_ENDED, ID(1), "{}");
    settle(&w);
    assert_true(backend_stream_send(w.stream, &chunk, w.now_us));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backend_that_reads_nothing_for_five_seconds_is_dead),
        cmocka_unit_test(a_backend_that_reads_slowly_lives),
        cmocka_unit_test(late_audio_behind_an_accept_is_a_replay_and_waits),
        cmocka_unit_test(late_audio_without_an_accept_is_none),
        cmocka_unit_test(when_what_steers_has_no_room_the_stream_fails),
        cmocka_unit_test(a_session_that_has_no_room_to_start_has_no_handle),
        cmocka_unit_test(messages_that_a_broken_connection_keeps_count_as_dropped),
        cmocka_unit_test(half_a_start_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
