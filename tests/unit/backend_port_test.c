/* backend_port_test.c - dialled, greeted, lost and dialled again, over loopback sockets */
#include "tests/testing.h"

#include "services/transceiver/port/backend_port.h"
#include "tests/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_MS 5000
#define BEGIN_US    UINT64_C(1000000)
#define ID          0x00000001

struct world {
    struct random_generator random;
    struct backend_port *port;
    uint64_t now_us; /* the test's own: nothing here waits for a real second */
    int listener;
    int far_end; /* -1: nobody has connected */
    struct net_addr address;
    char unix_path[64];
};

static struct net_addr address_of(int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    struct net_addr address;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &len), 0);
    assert_true(net_addr_from_sockaddr(&bound, &address));
    return address;
}

static int listen_on_tcp(int backlog)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET};
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* An address where nobody listens. */
static struct net_addr closed_address(void)
{
    const int fd = listen_on_tcp(1);
    const struct net_addr address = address_of(fd);
    (void)close(fd);
    return address;
}

static void create_port(struct world *w, const char *unix_path)
{
    random_generator_init(&w->random, 31);
    w->now_us = BEGIN_US;
    w->far_end = -1;
    w->port = backend_port_create(&(struct backend_port_config){
        .unix_path = unix_path,
        .stream = {.name = "tester", .instance_id = 1, .session_capacity = 4},
        .random = random_seeded(&w->random),
    });
    assert_non_null(w->port);
}

static void open_world(struct world *w)
{
    *w = (struct world){.listener = listen_on_tcp(8)};
    w->address = address_of(w->listener);
    create_port(w, NULL);
    backend_port_set_addresses(w->port, &w->address, 1);
}

static void open_unix_world(struct world *w)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/backend_port_test.XXXXXX";
    *w = (struct world){.listener = socket(AF_UNIX, SOCK_STREAM, 0)};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(w->unix_path, sizeof(w->unix_path), "%s/s", folder);
    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", w->unix_path);
    assert_int_equal(bind(w->listener, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(w->listener, 8), 0);
    create_port(w, w->unix_path);
}

static void close_world(struct world *w)
{
    backend_port_destroy(w->port);
    (void)close(w->listener);
    if (w->far_end >= 0) {
        (void)close(w->far_end);
    }
    if (w->unix_path[0] != '\0') {
        (void)unlink(w->unix_path);
        *strrchr(w->unix_path, '/') = '\0';
        (void)rmdir(w->unix_path);
    }
}

static void tick_when_due(struct world *w)
{
    w->now_us = time_later(w->now_us, backend_port_next_timeout(w->port));
    backend_port_tick(w->port, w->now_us);
    assert_true(backend_port_next_timeout(w->port) > w->now_us);
}

/* One turn of a loop, when the socket has something to say. */
static void serve(struct world *w)
{
    struct pollfd fd = {0};
    struct backend_frame frame;
    backend_port_want(w->port, &fd.fd, &fd.events);
    assert_true(fd.fd >= 0);
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    backend_port_service(w->port, fd.revents, w->now_us);
    while (backend_port_poll_frame(w->port, &frame, w->now_us)) {
    }
    backend_port_flush(w->port, w->now_us);
}

static void far_end_says(const struct world *w, unsigned type, uint32_t session, uint32_t sequence,
                         const char *payload)
{
    uint8_t bytes[512];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = session,
                                        .sequence = sequence,
                                        .payload = bytes_view_of_text(payload)};
    backend_frame_encode_header(&frame, bytes);
    memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, payload, frame.payload.len);
    const size_t len = BACKEND_FRAME_HEADER_BYTES + frame.payload.len;
    assert_int_equal(send(w->far_end, bytes, len, MSG_NOSIGNAL), len);
}

/* The type of the next frame that arrives at the far end; 0 when the link was closed. */
static unsigned far_end_hears(const struct world *w)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    uint8_t payload[1024];
    struct pollfd fd = {.fd = w->far_end, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
    if (recv(w->far_end, header, sizeof(header), MSG_WAITALL) != sizeof(header)) {
        return 0;
    }
    const size_t len = (size_t)(header[0] | header[1] << 8) - BACKEND_FRAME_LENGTH_MIN;
    assert_in_range(len, 0, sizeof(payload));
    assert_true(len == 0 || recv(w->far_end, payload, len, MSG_WAITALL) == (ssize_t)len);
    return header[5];
}

/* Dials and connects; nobody has greeted. */
static void connect_world(struct world *w)
{
    tick_when_due(w);
    w->far_end = accept(w->listener, NULL, NULL);
    assert_true(w->far_end >= 0);
    serve(w);
    assert_false(backend_port_is_up(w->port));
}

static void greet_world(struct world *w)
{
    connect_world(w);
    assert_int_equal(far_end_hears(w), BACKEND_HELLO);
    far_end_says(w, BACKEND_HELLO, 0, 0, "{\"name\":\"far end\"}");
    serve(w);
    assert_true(backend_port_is_up(w->port));
}

static void without_an_address_nothing_is_dialled(void **state)
{
    (void)state;
    struct world w = {.listener = -1};
    create_port(&w, NULL);
    for (int i = 0; i < 3; i++) {
        int fd = 0;
        short events = 0;
        tick_when_due(&w);
        backend_port_want(w.port, &fd, &events);
        assert_int_equal(fd, -1);
    }
    assert_false(backend_port_is_up(w.port));
    backend_port_flush(w.port, w.now_us);
    backend_port_send(w.port, &(struct backend_frame){.session = ID});
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
        backend_port_send(w.port,
                          &(struct backend_frame){.type = BACKEND_SESSION_START, .session = ID});
        backend_port_flush(w.port, w.now_us);
        assert_int_equal(far_end_hears(&w), BACKEND_SESSION_START);
        far_end_says(&w, BACKEND_AUDIO_OUT, ID, 0, "abcd");
        struct pollfd fd = {.fd = -1};
        backend_port_want(w.port, &fd.fd, &fd.events);
        assert_int_equal(fd.events, POLLIN); /* nothing waits to be written */
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        backend_port_service(w.port, fd.revents, w.now_us);
        assert_true(backend_port_poll_frame(w.port, &frame, w.now_us));
        assert_int_equal(frame.session, ID);
        assert_true(bytes_equal(frame.payload, bytes_view_of_text("abcd")));
        assert_false(backend_port_poll_frame(w.port, &frame, w.now_us));
        assert_false(backend_port_poll_lost(w.port));
        close_world(&w);
    }
}

static void each_refusal_doubles_the_wait_up_to_two_seconds(void **state)
{
    (void)state;
    static const uint64_t wait_ms[] = {100, 200, 400, 800, 1600, 2000, 2000, 2000};
    struct world w = {.listener = -1};
    const struct net_addr nobody = closed_address();
    create_port(&w, NULL);
    backend_port_set_addresses(w.port, &nobody, 1);
    for (size_t i = 0; i < COUNT_OF(wait_ms); i++) {
        tick_when_due(&w);
        serve(&w);
        const uint64_t wait_us = backend_port_next_timeout(w.port) - w.now_us;
        assert_in_range(wait_us, wait_ms[i] * 500, wait_ms[i] * 1000);
    }
    assert_false(backend_port_poll_lost(w.port)); /* there was nothing to lose */
    assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), 0);
    close_world(&w);
}

static void a_backend_that_is_not_there_is_one_line_with_its_reason(void **state)
{
    (void)state;
    struct world w = {.listener = -1};
    struct capture capture;
    const struct net_addr nobody = closed_address();
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
        (void)close(w.far_end);
        w.far_end = -1;
        serve(&w);
        assert_false(backend_port_is_up(w.port));
        assert_true(backend_port_poll_lost(w.port));
        assert_false(backend_port_poll_lost(w.port));
        assert_int_equal(metric_get(&backend_port_counters(w.port)->losses), losses);
        assert_int_equal(metric_get(&backend_port_counters(w.port)->is_up), 0);
        assert_in_range(backend_port_next_timeout(w.port) - w.now_us, 50000, 100000);
    }
    assert_int_equal(metric_get(&backend_port_counters(w.port)->connects), 3);
    close_world(&w);
}

static void a_link_that_breaks_while_writing_is_lost_too(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet_world(&w);
    const struct linger reset = {.l_onoff = 1};
    assert_int_equal(setsockopt(w.far_end, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    (void)close(w.far_end);
    w.far_end = -1;
    backend_port_send(w.port,
                      &(struct backend_frame){.type = BACKEND_SESSION_START, .session = ID});
    backend_port_flush(w.port, w.now_us);
    assert_true(backend_port_poll_lost(w.port));
    close_world(&w);
}

static void last_words_are_said_before_the_link_is_closed(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    connect_world(&w);
    assert_int_equal(far_end_hears(&w), BACKEND_HELLO);
    far_end_says(&w, BACKEND_HELLO, 0, 0, "{\"versions\":[9]}");
    serve(&w);
    assert_int_equal(far_end_hears(&w), BACKEND_ERROR);
    assert_int_equal(far_end_hears(&w), 0);
    assert_false(backend_port_poll_lost(w.port)); /* it never was up */
    close_world(&w);
}

static void what_the_far_end_says_before_it_closes_is_heard(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    greet_world(&w);
    backend_port_send(w.port,
                      &(struct backend_frame){.type = BACKEND_SESSION_START, .session = ID});
    far_end_says(&w, BACKEND_SESSION_END, ID, 0, "{}");
    (void)close(w.far_end);
    w.far_end = -1;
    bool was_heard = false;
    for (int turn = 0; turn < 5 && !backend_port_poll_lost(w.port); turn++) {
        struct pollfd fd = {0};
        backend_port_want(w.port, &fd.fd, &fd.events);
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        backend_port_service(w.port, fd.revents, w.now_us);
        while (backend_port_poll_frame(w.port, &frame, w.now_us)) {
            was_heard = frame.type == BACKEND_SESSION_END;
        }
    }
    assert_true(was_heard);
    close_world(&w);
}

static void a_backend_that_goes_away_is_down_but_not_lost(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    greet_world(&w);
    far_end_says(&w, BACKEND_GOAWAY, 0, 1, "{}");
    serve(&w);
    assert_false(backend_port_is_up(w.port));
    assert_int_equal(metric_get(&backend_port_counters(w.port)->is_up), 0);
    assert_false(backend_port_poll_lost(w.port));
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
    assert_int_equal(far_end_hears(&w), BACKEND_HELLO);
    assert_int_equal(far_end_hears(&w), BACKEND_ERROR);
    assert_int_equal(far_end_hears(&w), 0);
    close_world(&w);
}

/* A listener whose queue is full lets a connect hang. */
static void a_connect_that_hangs_is_given_up_after_two_seconds(void **state)
{
    (void)state;
    enum { FILLERS = 8 };
    struct world w = {.listener = listen_on_tcp(0)};
    struct sockaddr_storage address;
    int filler[FILLERS];
    w.address = address_of(w.listener);
    const socklen_t len = net_addr_to_sockaddr(&w.address, &address);
    for (int i = 0; i < FILLERS; i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filler[i], (struct sockaddr *)&address, len);
    }
    create_port(&w, NULL);
    backend_port_set_addresses(w.port, &w.address, 1);
    tick_when_due(&w);
    const uint64_t dialled_us = w.now_us;
    struct pollfd fd = {0};
    backend_port_want(w.port, &fd.fd, &fd.events);
    assert_int_equal(fd.events, POLLIN | POLLOUT);
    assert_int_equal(poll(&fd, 1, 50), 0);
    assert_true(backend_port_next_timeout(w.port) == dialled_us + 2000000);
    backend_port_tick(w.port, dialled_us + 1999999);
    backend_port_want(w.port, &fd.fd, &fd.events);
    assert_true(fd.fd >= 0);
    tick_when_due(&w);
    backend_port_want(w.port, &fd.fd, &fd.events);
    assert_int_equal(fd.fd, -1);
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
    struct net_addr list[3] = {closed_address(), closed_address(), w.address};
    backend_port_set_addresses(w.port, list, COUNT_OF(list));
    struct pollfd incoming = {.fd = w.listener, .events = POLLIN};
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
        list[i] = closed_address();
    }
    list[BACKEND_PORT_ADDRESSES_MAX] = w.address;
    backend_port_set_addresses(w.port, list, COUNT_OF(list));
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        tick_when_due(&w);
        serve(&w);
    }
    struct pollfd incoming = {.fd = w.listener, .events = POLLIN};
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
        cmocka_unit_test(a_link_that_breaks_while_writing_is_lost_too),
        cmocka_unit_test(last_words_are_said_before_the_link_is_closed),
        cmocka_unit_test(what_the_far_end_says_before_it_closes_is_heard),
        cmocka_unit_test(a_backend_that_goes_away_is_down_but_not_lost),
        cmocka_unit_test(a_backend_that_never_greets_is_left_after_two_seconds),
        cmocka_unit_test(a_connect_that_hangs_is_given_up_after_two_seconds),
        cmocka_unit_test(every_address_gets_its_turn),
        cmocka_unit_test(addresses_beyond_the_bound_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
