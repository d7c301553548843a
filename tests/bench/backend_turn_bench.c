/* backend_turn_bench.c - from SPEECH written to FLUSH read, with a backend in C */
#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/transceiver/port/backend_port.h"
#include "tests/bench/samples.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SESSION   0x00000001
#define TURNS     2000
#define WARM_UP   200
#define PAUSE_US  (300) /* the backend sleeps in read when SPEECH comes */
#define GOAL_US   150
#define NS_PER_US 1000.0

/* --- the backend: a thread that reads frames and answers SPEECH with FLUSH -------------------- */

struct backend {
    int listener;
    int link;
    uint32_t sent[2]; /* of the connection, of the session */
    pthread_t thread;
};

static void say(struct backend *b, unsigned type, uint32_t session, const char *payload)
{
    uint8_t bytes[256];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = session,
                                        .sequence = b->sent[session != 0]++,
                                        .utterance = type == BACKEND_FLUSH ? 1 : 0,
                                        .payload = bytes_view_of_text(payload)};
    backend_frame_encode_header(&frame, bytes);
    memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, payload, frame.payload.len);
    const size_t len = BACKEND_FRAME_HEADER_BYTES + frame.payload.len;
    const ssize_t written = send(b->link, bytes, len, MSG_NOSIGNAL);
    assert(written == (ssize_t)len);
    (void)written;
}

static void answer(struct backend *b, const struct backend_frame *frame)
{
    switch (frame->type) {
    case BACKEND_HELLO:
        say(b, BACKEND_HELLO, 0, "{}");
        break;
    case BACKEND_SESSION_START:
        say(b, BACKEND_SESSION_ACCEPT, frame->session, "{}");
        break;
    case BACKEND_SPEECH:
        say(b, BACKEND_FLUSH, frame->session, "");
        break;
    default:
        break;
    }
}

static void *backend_thread(void *context)
{
    struct backend *b = context;
    struct backend_frame_reader *reader = backend_frame_reader_create();
    b->link = accept(b->listener, NULL, NULL);
    const int on = 1;
    (void)setsockopt(b->link, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    for (;;) {
        struct backend_frame frame;
        const struct bytes_span room = backend_frame_reader_reserve(reader);
        const ssize_t got = recv(b->link, room.data, room.cap, 0);
        if (got <= 0) {
            break;
        }
        backend_frame_reader_commit(reader, (size_t)got);
        while (backend_frame_reader_poll(reader, &frame) == BACKEND_FRAME_OK) {
            answer(b, &frame);
        }
    }
    backend_frame_reader_destroy(reader);
    (void)close(b->link);
    return NULL;
}

static void start_backend(struct backend *b, int family, const struct sockaddr *address,
                          socklen_t len)
{
    *b = (struct backend){.listener = socket(family, SOCK_STREAM, 0)};
    const bool good = bind(b->listener, address, len) == 0 && listen(b->listener, 1) == 0 &&
                      pthread_create(&b->thread, NULL, backend_thread, b) == 0;
    assert(good);
    (void)good;
}

/* --- the transceiver's end -------------------------------------------------------------------- */

/* One turn of a loop; the type of the session's frame that came, 0 = none. */
static unsigned turn(struct backend_port *port)
{
    struct pollfd fds[BACKEND_PORT_CONNECTIONS];
    struct backend_frame frame;
    unsigned type = 0;
    backend_port_want(port, fds);
    (void)poll(fds, BACKEND_PORT_CONNECTIONS, 100);
    const uint64_t now_us = clock_now_us();
    backend_port_service(port, fds, now_us);
    while (backend_port_poll_frame(port, &frame, now_us)) {
        type = frame.type;
    }
    if (backend_port_next_timeout(port) <= now_us) {
        backend_port_tick(port, now_us);
    }
    backend_port_flush(port, now_us);
    return type;
}

static void send_frame(struct backend_port *port, unsigned type, const char *payload)
{
    const uint64_t now_us = clock_now_us();
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = SESSION, .payload = bytes_view_of_text(payload)};
    backend_port_send(port, &frame, now_us);
    backend_port_flush(port, now_us);
}

static double now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void measure(struct backend_port *port, const char *figure)
{
    static double turn_us[TURNS];
    backend_port_tick(port, clock_now_us());
    while (!backend_port_is_up(port)) {
        (void)turn(port);
    }
    send_frame(port, BACKEND_SESSION_START, "{}");
    while (turn(port) != BACKEND_SESSION_ACCEPT) {
    }
    for (int i = -WARM_UP; i < TURNS; i++) {
        (void)usleep(PAUSE_US);
        const double begin_ns = now_ns();
        send_frame(port, BACKEND_SPEECH, "{\"state\":\"started\",\"level_dbov\":-31}");
        while (turn(port) != BACKEND_FLUSH) {
        }
        if (i >= 0) {
            turn_us[i] = (now_ns() - begin_ns) / NS_PER_US;
        }
    }
    samples_sort(turn_us, TURNS);
    (void)printf("{\"bench\":\"backend_turn\",\"figure\":\"%s\",\"unit\":\"us\",\"p50\":%.1f,"
                 "\"p90\":%.1f,\"p99\":%.1f,\"goal_p50\":%d,\"turns\":%d}\n",
                 figure, turn_us[TURNS / 2], turn_us[TURNS * 9 / 10], turn_us[TURNS * 99 / 100],
                 GOAL_US, TURNS);
}

static void measure_port(const char *unix_path, const struct net_addr *address, const char *figure,
                         struct backend *backend)
{
    struct random_generator random;
    random_generator_init(&random, 1);
    struct backend_port *port = backend_port_create(&(struct backend_port_config){
        .unix_path = unix_path,
        .stream = {.name = "bench", .instance_id = 1, .session_capacity = 1},
        .random = random_seeded(&random),
    });
    assert(port != NULL);
    if (address != NULL) {
        backend_port_set_addresses(port, address, 1);
    }
    measure(port, figure);
    backend_port_destroy(port);
    (void)pthread_join(backend->thread, NULL);
    (void)close(backend->listener);
}

int main(void)
{
    struct backend backend;
    char folder[] = "/tmp/backend_turn_bench.XXXXXX";
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct sockaddr_storage tcp = {0};
    struct net_addr address;
    socklen_t len = sizeof(tcp);
    log_open("bench", LOG_ERROR, LOG_TEXT);
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s/s", folder);
    start_backend(&backend, AF_UNIX, (const struct sockaddr *)&un, sizeof(un));
    measure_port(un.sun_path, NULL, "speech_to_flush_unix", &backend);
    (void)unlink(un.sun_path);
    (void)rmdir(folder);
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    start_backend(&backend, AF_INET, (const struct sockaddr *)&any, sizeof(any));
    (void)getsockname(backend.listener, (struct sockaddr *)&tcp, &len);
    if (!net_addr_from_sockaddr(&tcp, &address)) {
        return 1;
    }
    measure_port(NULL, &address, "speech_to_flush_tcp", &backend);
    return 0;
}
