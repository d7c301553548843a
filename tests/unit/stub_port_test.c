/* stub_port_test.c - the stub's sockets on loopback: greeting, bounds, drain */
#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "services/inference-stub/stub_port.h"
#include "tests/far_end.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#define START_JSON                                                                                 \
    "{\"call_id\":\"rtc_1\",\"in\":[\"pcm16/16000\"],\"out\":[\"pcm16/16000\"],"                   \
    "\"credit_us\":1000000}"

/* A port in a thread of its own; far_end is the transceiver that dials it. */
struct port_world {
    struct stub_config config;
    struct stub_counters counters;
    struct stub_behaviour behaviour;
    struct stub_port *port;
    metric_value beat;
    int signals[2]; /* a pipe in the place of a signalfd */
    pthread_t thread;
};

static void *run(void *context)
{
    struct port_world *w = context;
    stub_port_run(w->port, &w->beat);
    return NULL;
}

static void open_port(struct port_world *w)
{
    struct fault fault = {0};
    log_open("test", LOG_ERROR, LOG_TEXT);
    *w = (struct port_world){
        .config = {.listen = far_end_free_address(SOCK_STREAM),
                   .connections_max = 2,
                   .drain_timeout_us = 30 * US_PER_S},
        .behaviour = {.mode = DIALOGUE_ECHO, .mode_name = "echo", .sessions_max = 4}};
    w->behaviour.counters = &w->counters;
    assert_int_equal(pipe2(w->signals, O_CLOEXEC | O_NONBLOCK), 0);
    w->port = stub_port_open(&w->config, &w->behaviour, w->signals[0], &fault);
    if (w->port == NULL) {
        fail_msg("%s", fault.text);
    }
    assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
}

static void raise_sigterm(const struct port_world *w)
{
    const struct signalfd_siginfo info = {.ssi_signo = SIGTERM};
    assert_int_equal(write(w->signals[1], &info, sizeof(info)), sizeof(info));
}

/* After the port has ended by itself, or was told to. */
static void close_port(struct port_world *w)
{
    (void)pthread_join(w->thread, NULL);
    stub_port_close(w->port);
    (void)close(w->signals[0]);
    (void)close(w->signals[1]);
}

static void dial(const struct port_world *w, struct far_end *f)
{
    struct sockaddr_storage to;
    const socklen_t len = net_addr_to_sockaddr(&w->config.listen, &to);
    *f = (struct far_end){.listener = -1, .link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(f->link, (struct sockaddr *)&to, len), 0);
}

static void greet(struct far_end *f)
{
    far_end_say(f, BACKEND_HELLO, 0, 0, "{\"versions\":[1],\"name\":\"tester\"}");
    assert_int_equal(far_end_hear(f), BACKEND_HELLO);
}

/* The next frame that is no PING: those come when they will. */
static unsigned hear(struct far_end *f)
{
    unsigned type = far_end_hear(f);
    while (type == BACKEND_PING) {
        type = far_end_hear(f);
    }
    return type;
}

static void wait_for(const metric_value *metric, uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (metric_get(metric) != value) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
}

static void a_transceiver_is_greeted_and_gone_when_it_hangs_up(void **state)
{
    struct port_world w;
    struct far_end f;
    (void)state;
    open_port(&w);
    dial(&w, &f);
    greet(&f);
    assert_int_equal(metric_get(&w.counters.connections_open), 1);
    far_end_hang_up(&f);
    wait_for(&w.counters.connections_open, 0);
    assert_int_equal(metric_get(&w.counters.closed[STUB_CLOSE_PEER]), 1);
    raise_sigterm(&w);
    close_port(&w);
}

static void garbage_ends_a_connection_and_no_other(void **state)
{
    static const char garbage[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n-----------";
    struct port_world w;
    struct far_end good;
    struct far_end bad;
    (void)state;
    open_port(&w);
    dial(&w, &good);
    greet(&good);
    dial(&w, &bad);
    assert_int_equal(send(bad.link, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
    wait_for(&w.counters.closed[STUB_CLOSE_BAD_FRAME], 1);
    far_end_hang_up(&bad);
    far_end_say(&good, BACKEND_PING, 0, 1, "12345678");
    assert_int_equal(hear(&good), BACKEND_PONG);
    far_end_hang_up(&good);
    wait_for(&w.counters.connections_open, 0);
    raise_sigterm(&w);
    close_port(&w);
}

static void one_connection_above_the_bound_is_closed_until_one_is_free(void **state)
{
    struct port_world w;
    struct far_end f[3];
    (void)state;
    open_port(&w);
    for (size_t i = 0; i < 2; i++) {
        dial(&w, &f[i]);
        greet(&f[i]);
    }
    dial(&w, &f[2]);
    assert_int_equal(hear(&f[2]), 0);
    assert_int_equal(metric_get(&w.counters.connections_refused), 1);
    far_end_hang_up(&f[2]);
    far_end_hang_up(&f[0]);
    wait_for(&w.counters.connections_open, 1);
    dial(&w, &f[0]);
    greet(&f[0]);
    assert_int_equal(metric_get(&w.counters.connections_accepted), 3);
    far_end_hang_up(&f[0]);
    far_end_hang_up(&f[1]);
    raise_sigterm(&w);
    close_port(&w);
}

static void sigterm_lets_a_session_end_and_refuses_new_connections(void **state)
{
    struct port_world w;
    struct far_end f;
    (void)state;
    open_port(&w);
    dial(&w, &f);
    greet(&f);
    const struct backend_frame frame = {.type = BACKEND_SESSION_START,
                                        .flags = BACKEND_FLAG_LAST,
                                        .session = 1,
                                        .payload = bytes_view_of_text(START_JSON)};
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    backend_frame_encode_header(&frame, header);
    assert_int_equal(send(f.link, header, sizeof(header), MSG_NOSIGNAL), sizeof(header));
    assert_int_equal(send(f.link, frame.payload.data, frame.payload.len, MSG_NOSIGNAL),
                     frame.payload.len);
    assert_int_equal(hear(&f), BACKEND_SESSION_ACCEPT);
    raise_sigterm(&w);
    assert_int_equal(hear(&f), BACKEND_GOAWAY);
    struct sockaddr_storage to;
    const socklen_t len = net_addr_to_sockaddr(&w.config.listen, &to);
    const int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(late, (struct sockaddr *)&to, len), -1);
    (void)close(late);
    far_end_say(&f, BACKEND_SESSION_END, 1, 1, "{}");
    assert_int_equal(hear(&f), BACKEND_SESSION_ENDED);
    close_port(&w); /* the last session has ended: no second signal */
    far_end_hang_up(&f);
}

static void the_loop_beats_without_a_connection(void **state)
{
    struct port_world w;
    (void)state;
    open_port(&w);
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (metric_get(&w.beat) == 0) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
    raise_sigterm(&w);
    close_port(&w);
}

static void an_address_that_is_taken_is_a_fault(void **state)
{
    struct port_world w;
    struct fault fault = {0};
    char address[NET_ADDR_TEXT_CAP];
    (void)state;
    open_port(&w);
    assert_null(stub_port_open(&w.config, &w.behaviour, w.signals[0], &fault));
    assert_non_null(
        strstr(fault.text, net_addr_format(&w.config.listen, address, sizeof(address))));
    assert_non_null(strstr(fault.text, "(another backend runs there? change listen)"));
    raise_sigterm(&w);
    close_port(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transceiver_is_greeted_and_gone_when_it_hangs_up),
        cmocka_unit_test(garbage_ends_a_connection_and_no_other),
        cmocka_unit_test(one_connection_above_the_bound_is_closed_until_one_is_free),
        cmocka_unit_test(sigterm_lets_a_session_end_and_refuses_new_connections),
        cmocka_unit_test(the_loop_beats_without_a_connection),
        cmocka_unit_test(an_address_that_is_taken_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
