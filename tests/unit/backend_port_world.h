/* backend_port_world.h - a port, and its far end on a loopback socket */
#ifndef EARSHOT_BACKEND_PORT_WORLD_H
#define EARSHOT_BACKEND_PORT_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/port/backend_port.h"
#include "tests/capture.h"
#include "tests/far_end.h"

#include <stdlib.h>
#include <sys/un.h>

#define PATIENCE_MS 5000
#define BEGIN_US    UINT64_C(1000000)
#define ID          0x00000001

struct world {
    struct random_generator random;
    struct backend_port *port;
    uint64_t now_us; /* the test's own: nothing here waits for a real second */
    struct far_end far_end;
    struct net_addr address; /* of it */
    char unix_path[64];
};

static inline void create_port(struct world *w, const char *unix_path)
{
    random_generator_init(&w->random, 31);
    w->now_us = BEGIN_US;
    w->port = backend_port_create(&(struct backend_port_config){
        .unix_path = unix_path,
        .stream = {.name = "tester", .instance_id = 1, .session_capacity = 4},
        .random = random_seeded(&w->random),
    });
    assert_non_null(w->port);
}

static inline void open_world(struct world *w)
{
    *w = (struct world){0};
    far_end_listen(&w->far_end);
    w->address = far_end_address_of(w->far_end.listener);
    create_port(w, NULL);
    backend_port_set_addresses(w->port, &w->address, 1);
}

static inline void open_unix_world(struct world *w)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/backend_port_test.XXXXXX";
    *w = (struct world){.far_end = {.listener = socket(AF_UNIX, SOCK_STREAM, 0), .link = -1}};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(w->unix_path, sizeof(w->unix_path), "%s/s", folder);
    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", w->unix_path);
    assert_int_equal(bind(w->far_end.listener, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(w->far_end.listener, 8), 0);
    create_port(w, w->unix_path);
}

static inline void close_world(struct world *w)
{
    backend_port_destroy(w->port);
    far_end_close(&w->far_end);
    if (w->unix_path[0] != '\0') {
        (void)unlink(w->unix_path);
        *strrchr(w->unix_path, '/') = '\0';
        (void)rmdir(w->unix_path);
    }
}

static inline void tick_when_due(struct world *w)
{
    w->now_us = time_later(w->now_us, backend_port_next_timeout(w->port));
    backend_port_tick(w->port, w->now_us);
    assert_true(backend_port_next_timeout(w->port) > w->now_us);
}

/* One turn of a loop, when the socket has something to say. */
static inline void serve(struct world *w)
{
    struct pollfd fds[BACKEND_PORT_CONNECTIONS];
    struct backend_frame frame;
    backend_port_want(w->port, fds);
    assert_true(fds[0].fd >= 0 || fds[1].fd >= 0);
    assert_in_range(poll(fds, COUNT_OF(fds), PATIENCE_MS), 1, 2);
    backend_port_service(w->port, fds, w->now_us);
    while (backend_port_poll_frame(w->port, &frame, w->now_us)) {
    }
    backend_port_flush(w->port, w->now_us);
}

static inline void start_session(struct world *w)
{
    const struct backend_frame start = {.type = BACKEND_SESSION_START, .session = ID};
    backend_port_send(w->port, &start, w->now_us);
}

/* The only session is told that its connection broke, once. */
static inline void assert_session_is_lost(struct world *w)
{
    uint32_t id = 0;
    assert_true(backend_port_poll_lost(w->port, &id));
    assert_int_equal(id, ID);
    assert_false(backend_port_poll_lost(w->port, &id));
}

static inline void assert_nothing_is_lost(struct world *w)
{
    uint32_t id = 0;
    assert_false(backend_port_poll_lost(w->port, &id));
}

/* It was dialled. */
static inline void finish_connect(struct world *w)
{
    far_end_accept(&w->far_end);
    serve(w);
    assert_false(backend_port_is_up(w->port));
}

static inline void finish_greeting(struct world *w)
{
    finish_connect(w);
    assert_int_equal(far_end_hear(&w->far_end), BACKEND_HELLO);
    far_end_say(&w->far_end, BACKEND_HELLO, 0, 0, "{\"name\":\"far end\"}");
    serve(w);
    assert_true(backend_port_is_up(w->port));
}

/* Dials and connects; nobody has greeted. */
static inline void connect_world(struct world *w)
{
    tick_when_due(w);
    finish_connect(w);
}

static inline void greet_world(struct world *w)
{
    tick_when_due(w);
    finish_greeting(w);
}

#endif
