/* backend_port_test.c - dialled, greeted, lost and dialled again, over loopback sockets */
#include "tests/unit/backend_port_world.h"

static void without_an_address_nothing_is_dialled(void **state)
{
    (void)state;
    struct world w = {.far_end = {.listener = -1, .link = -1}};
    create_port(&w, NULL);
    for (int i = 0; i < 3; i++) {
        struct pollfd fds[BACKEND_PORT_CONNECTIONS];
        tick_when_due(&w);
        backend_port_want(w.port, fds);
        assert_int_equal(fds[0].fd, -1);
        assert_int_equal(fds[1].fd, -1);
    }
    assert_false(backend_port_is_up(w.port));
    backend_port_flush(w.port, w.now_us);
    const struct backend_frame start = {.type = BACKEND_SESSION_START, .session = ID};
    assert_false(backend_port_send(w.port, &start, w.now_us));
    close_world(&w);
}

static void a_link_is_up_when_both_have_greeted_and_carries_frames(void **state)
{
    (void)state;
    for (int is_unix = 0; is_unix <= 1; is_unix++) {
        struct world w;
        struct backend_frame frame;
        if (is_unix == 1) {
            open_unix_world(&w);
        } else {
            open_world(&w);
        }
        greet_world(&w);
        const struct backend_port_counters *c = backend_port_counters(w.port);
        assert_int_equal(metric_get(&c->is_up), 1);
        assert_int_equal(metric_get(&c->connects), 1);
        start_session(&w);
        backend_port_flush(w.port, w.now_us);
        assert_int_equal(far_end_hear(&w.far_end), BACKEND_SESSION_START);
        far_end_say(&w.far_end, BACKEND_AUDIO_OUT, ID, 0, "abcd");
        struct pollfd fds[BACKEND_PORT_CONNECTIONS];
        backend_port_want(w.port, fds);
        assert_int_equal(fds[0].events, POLLIN); /* nothing waits to be written */
        assert_int_equal(poll(fds, COUNT_OF(fds), PATIENCE_MS), 1);
        backend_port_service(w.port, fds, w.now_us);
        assert_true(backend_port_has_frames(w.port));
        backend_port_want(w.port, fds);
        assert_int_equal(fds[0].events, 0); /* what was read is polled first */
        assert_true(backend_port_poll_frame(w.port, &frame, w.now_us));
        assert_int_equal(frame.session, ID);
        assert_true(bytes_equal(frame.payload, bytes_view_of_text("abcd")));
        assert_false(backend_port_poll_frame(w.port, &frame, w.now_us));
        assert_false(backend_port_has_frames(w.port));
        assert_nothing_is_lost(&w);
        close_world(&w);
    }
}

static void each_refusal_doubles_the_wait_up_to_two_seconds(void **state)
{
    (void)state;
    static const uint64_t wait_ms[] = {100, 200, 400, 800, 1600, 2000, 2000, 2000};
    struct world w = {.far_end = {.listener = -1, .link = -1}};
    const struct net_addr nobody = far_end_free_address(SOCK_STREAM);
    create_port(&w, NULL);
    backend_port_set_addresses(w.port, &nobody, 1);
    for (size_t i = 0; i < COUNT_OF(wait_ms); i++) {
        tick_when_due(&w);
        serve(&w);
        const uint64_t wait_us = backend_port_next_timeout(w.port) - w.now_us;
        assert_in_range(wait_us, wait_ms[i] * 500, wait_ms[i] * 1000);
    }
    assert_nothing_is_lost(&w); /* there was nothing to lose */
    assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), 0);
    close_world(&w);
}

static void a_backend_that_is_not_there_is_one_line_with_its_reason(void **state)
{
    (void)state;
    struct world w = {.far_end = {.listener = -1, .link = -1}};
    struct capture capture;
    const struct net_addr nobody = far_end_free_address(SOCK_STREAM);
    create_port(&w, NULL);
    backend_port_set_addresses(w.port, &nobody, 1);
    capture_begin(&capture);
    for (int i = 0; i < 5; i++) {
        tick_when_due(&w);
        serve(&w);
    }
    capture_end(&capture);
    const char *line = strstr(capture.text, "backend.unreachable");
    assert_non_null(line);
    assert_non_null(strstr(line, "reason=\"connect: Connection refused\""));
    assert_null(strstr(line + 1, "backend.unreachable"));
    close_world(&w);
}

static void a_lost_link_is_told_once_and_dialled_again_soon(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (uint64_t losses = 1; losses <= 3; losses++) {
        greet_world(&w);
        start_session(&w);
        far_end_hang_up(&w.far_end);
        serve(&w);
        assert_false(backend_port_is_up(w.port));
        assert_session_is_lost(&w);
        assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), losses);
        assert_int_equal(metric_get(&backend_port_counters(w.port)->is_up), 0);
        assert_in_range(backend_port_next_timeout(w.port) - w.now_us, 50000, 100000);
    }
    assert_int_equal(metric_get(&backend_port_counters(w.port)->connects), 3);
    close_world(&w);
}

/* Five seconds long: then they are over, and nobody hurries any more. */
static void a_backend_is_dialled_more_often_while_calls_wait_for_it(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet_world(&w);
    start_session(&w);
    far_end_close(&w.far_end);
    w.far_end.listener = -1;
    serve(&w);
    assert_session_is_lost(&w);
    const uint64_t lost_us = w.now_us;
    uint64_t longest_us = 0;
    while (w.now_us < lost_us + 20 * US_PER_S) {
        const uint64_t before_us = w.now_us;
        tick_when_due(&w);
        if (before_us < lost_us + 5 * US_PER_S) {
            assert_in_range(w.now_us - before_us, 0, 500000);
        }
        longest_us = time_later(longest_us, w.now_us - before_us);
        serve(&w);
    }
    assert_in_range(longest_us, 1000000, 2000000);
    close_world(&w);
}

static void a_link_that_breaks_while_writing_is_lost_too(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet_world(&w);
    const struct linger reset = {.l_onoff = 1};
    assert_int_equal(setsockopt(w.far_end.link, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    far_end_hang_up(&w.far_end);
    start_session(&w);
    backend_port_flush(w.port, w.now_us);
    assert_session_is_lost(&w);
    close_world(&w);
}

static void last_words_are_said_before_the_link_is_closed(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    connect_world(&w);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_HELLO);
    far_end_say(&w.far_end, BACKEND_HELLO, 0, 0, "{\"versions\":[9]}");
    serve(&w);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_ERROR);
    assert_int_equal(far_end_hear(&w.far_end), 0);
    assert_nothing_is_lost(&w); /* it never was up */
    close_world(&w);
}

static void what_the_far_end_says_before_it_closes_is_heard(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    greet_world(&w);
    start_session(&w);
    far_end_say(&w.far_end, BACKEND_SESSION_END, ID, 0, "{}");
    far_end_hang_up(&w.far_end);
    bool was_heard = false;
    uint32_t id = 0;
    for (int turn = 0; turn < 5 && !backend_port_poll_lost(w.port, &id); turn++) {
        struct pollfd fds[BACKEND_PORT_CONNECTIONS];
        backend_port_want(w.port, fds);
        assert_int_equal(poll(fds, COUNT_OF(fds), PATIENCE_MS), 1);
        backend_port_service(w.port, fds, w.now_us);
        while (backend_port_poll_frame(w.port, &frame, w.now_us)) {
            was_heard = frame.type == BACKEND_SESSION_END;
        }
    }
    assert_true(was_heard);
    close_world(&w);
}

/* Its calls go on there, and new ones elsewhere. */
static void a_backend_that_goes_away_keeps_its_calls_and_another_is_dialled(void **state)
{
    (void)state;
    struct world w;
    struct far_end old;
    open_world(&w);
    greet_world(&w);
    start_session(&w);
    far_end_say(&w.far_end, BACKEND_GOAWAY, 0, 1, "{\"deadline_ms\":60000}");
    serve(&w);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_SESSION_START);
    assert_false(backend_port_is_up(w.port));
    assert_int_equal(metric_get(&backend_port_counters(w.port)->is_up), 0);
    assert_int_equal(metric_get(&backend_port_counters(w.port)->go_aways), 1);
    assert_nothing_is_lost(&w);
    old = w.far_end;
    w.far_end.link = -1;
    greet_world(&w);
    const struct backend_frame audio = {.type = BACKEND_AUDIO_IN, .session = ID};
    backend_port_send(w.port, &audio, w.now_us);
    backend_port_flush(w.port, w.now_us);
    assert_int_equal(far_end_hear(&old), BACKEND_AUDIO_IN);
    assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), 0);
    (void)close(old.link);
    serve(&w);
    assert_session_is_lost(&w);
    assert_true(backend_port_is_up(w.port));
    close_world(&w);
}

/* One that leaves is kept, the newest: calls of the one before go on elsewhere, and new ones find a
 * backend. */
static void a_second_backend_that_goes_away_takes_the_place_of_the_first(void **state)
{
    (void)state;
    for (int has_calls = 0; has_calls <= 1; has_calls++) {
        struct world w;
        open_world(&w);
        greet_world(&w);
        start_session(&w);
        far_end_say(&w.far_end, BACKEND_GOAWAY, 0, 1, "{}");
        serve(&w);
        struct far_end first = w.far_end;
        greet_world(&w);
        struct far_end second = w.far_end;
        const struct backend_frame start = {.type = BACKEND_SESSION_START, .session = ID + 0x100};
        if (has_calls == 1) {
            assert_true(backend_port_send(w.port, &start, w.now_us));
        }
        far_end_say(&w.far_end, BACKEND_GOAWAY, 0, 1, "{}");
        serve(&w);
        assert_session_is_lost(&w);
        backend_port_flush(w.port, w.now_us);
        greet_world(&w);
        assert_int_equal(metric_get(&backend_port_counters(w.port)->go_aways), 2);
        assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), 1);
        const struct backend_frame audio = {.type = BACKEND_AUDIO_IN, .session = ID + 0x100};
        assert_int_equal(backend_port_send(w.port, &audio, w.now_us), has_calls == 1);
        (void)close(first.link);
        (void)close(second.link);
        close_world(&w);
    }
}

static void a_backend_that_goes_away_without_calls_is_left_at_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet_world(&w);
    far_end_say(&w.far_end, BACKEND_GOAWAY, 0, 1, "{}");
    serve(&w);
    assert_int_equal(far_end_hear(&w.far_end), 0);
    assert_nothing_is_lost(&w);
    assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), 0);
    close_world(&w);
}

static void a_frame_that_its_session_refuses_breaks_the_connection(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    struct pollfd fds[BACKEND_PORT_CONNECTIONS];
    open_world(&w);
    greet_world(&w);
    start_session(&w);
    far_end_say(&w.far_end, BACKEND_SESSION_ACCEPT, ID, 0, "yes");
    backend_port_want(w.port, fds);
    fds[0].events = POLLIN;
    assert_int_equal(poll(fds, 1, PATIENCE_MS), 1);
    backend_port_service(w.port, fds, w.now_us);
    assert_true(backend_port_poll_frame(w.port, &frame, w.now_us));
    backend_port_refuse(w.port, &frame, w.now_us);
    backend_port_flush(w.port, w.now_us);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_ERROR);
    assert_session_is_lost(&w);
    close_world(&w);
}

static void a_backend_that_never_greets_is_left_after_two_seconds(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    connect_world(&w);
    const uint64_t connected_us = w.now_us;
    assert_true(backend_port_next_timeout(w.port) == connected_us + 2000000);
    tick_when_due(&w);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_HELLO);
    assert_int_equal(far_end_hear(&w.far_end), BACKEND_ERROR);
    assert_int_equal(far_end_hear(&w.far_end), 0);
    close_world(&w);
}

/* A listener whose queue is full lets a connect hang. */
static void a_connect_that_hangs_is_given_up_after_two_seconds(void **state)
{
    (void)state;
    enum { FILLERS = 8 };
    struct world w = {.far_end = {.listener = far_end_bind(SOCK_STREAM), .link = -1}};
    struct sockaddr_storage address;
    int filler[FILLERS];
    assert_int_equal(listen(w.far_end.listener, 0), 0);
    w.address = far_end_address_of(w.far_end.listener);
    const socklen_t len = net_addr_to_sockaddr(&w.address, &address);
    for (int i = 0; i < FILLERS; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filler[i], (struct sockaddr *)&address, len);
    }
    create_port(&w, NULL);
    backend_port_set_addresses(w.port, &w.address, 1);
    tick_when_due(&w);
    const uint64_t dialled_us = w.now_us;
    struct pollfd fds[BACKEND_PORT_CONNECTIONS];
    backend_port_want(w.port, fds);
    assert_int_equal(fds[0].events, POLLOUT);
    assert_int_equal(poll(fds, 1, 50), 0);
    assert_true(backend_port_next_timeout(w.port) == dialled_us + 2000000);
    backend_port_tick(w.port, dialled_us + 1999999);
    backend_port_want(w.port, fds);
    assert_true(fds[0].fd >= 0);
    tick_when_due(&w);
    backend_port_want(w.port, fds);
    assert_int_equal(fds[0].fd, -1);
    for (int i = 0; i < FILLERS; i++) {
        (void)close(filler[i]);
    }
    close_world(&w);
}

static void every_address_gets_its_turn(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct net_addr list[3] = {far_end_free_address(SOCK_STREAM), far_end_free_address(SOCK_STREAM),
                               w.address};
    backend_port_set_addresses(w.port, list, COUNT_OF(list));
    struct pollfd incoming = {.fd = w.far_end.listener, .events = POLLIN};
    int dials = 0;
    while (poll(&incoming, 1, 0) == 0) {
        tick_when_due(&w);
        serve(&w);
        assert_in_range(++dials, 1, 3);
    }
    close_world(&w);
}

static void addresses_beyond_the_bound_are_left_out(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    struct net_addr list[BACKEND_PORT_ADDRESSES_MAX + 1];
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        list[i] = far_end_free_address(SOCK_STREAM);
    }
    list[BACKEND_PORT_ADDRESSES_MAX] = w.address;
    backend_port_set_addresses(w.port, list, COUNT_OF(list));
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        tick_when_due(&w);
        serve(&w);
    }
    struct pollfd incoming = {.fd = w.far_end.listener, .events = POLLIN};
    assert_int_equal(poll(&incoming, 1, 0), 0);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_address_nothing_is_dialled),
        cmocka_unit_test(a_link_is_up_when_both_have_greeted_and_carries_frames),
        cmocka_unit_test(each_refusal_doubles_the_wait_up_to_two_seconds),
        cmocka_unit_test(a_backend_that_is_not_there_is_one_line_with_its_reason),
        cmocka_unit_test(a_lost_link_is_told_once_and_dialled_again_soon),
        cmocka_unit_test(a_backend_is_dialled_more_often_while_calls_wait_for_it),
        cmocka_unit_test(a_link_that_breaks_while_writing_is_lost_too),
        cmocka_unit_test(last_words_are_said_before_the_link_is_closed),
        cmocka_unit_test(what_the_far_end_says_before_it_closes_is_heard),
        cmocka_unit_test(a_backend_that_goes_away_keeps_its_calls_and_another_is_dialled),
        cmocka_unit_test(a_second_backend_that_goes_away_takes_the_place_of_the_first),
        cmocka_unit_test(a_backend_that_goes_away_without_calls_is_left_at_once),
        cmocka_unit_test(a_frame_that_its_session_refuses_breaks_the_connection),
        cmocka_unit_test(a_backend_that_never_greets_is_left_after_two_seconds),
        cmocka_unit_test(a_connect_that_hangs_is_given_up_after_two_seconds),
        cmocka_unit_test(every_address_gets_its_turn),
        cmocka_unit_test(addresses_beyond_the_bound_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
