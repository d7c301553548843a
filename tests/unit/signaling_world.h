/* signaling_world.h - the parts of signaling on loopback, a transceiver, and clients, in one thread
 *
 * Real objects everywhere: HTTP over TCP, announcements and requests over NNG. world_turn is the
 * loop of services/signaling/main.c, and the transceiver's turn.
 */
#ifndef EARSHOT_TESTS_SIGNALING_WORLD_H
#define EARSHOT_TESTS_SIGNALING_WORLD_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "common/runtime/message_port.h"
#include "services/signaling/http_site.h"
#include "tests/free_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORLD_INSTANCE    0x5eed0001
#define WORLD_PATIENCE_US (60 * US_PER_S) /* a busy machine is no failure, */
#define WORLD_ANSWER_US   (30 * US_PER_S) /* nor is it a silent transceiver */
#define WORLD_SILENCE_US  (2 * US_PER_S)
#define WORLD_ANSWER      "v=0\r\ns=answer\r\n"
#define WORLD_FRAGMENT    "a=ice-lite\r\na=ice-ufrag:ours\r\n"

static struct {
    struct signaling_config config;
    struct http_server *http;
    struct control_plane *plane;
    struct access_gate *access;
    struct calls_api *calls;
    struct http_site site;
    metric_value is_ready;

    /* The transceiver. */
    struct message_port *pub;
    struct message_port *rep;
    struct control_decoder *decoder;
    struct control_announcement said;
    enum control_refusal refusal; /* of the offers and updates it gets */
    bool is_silent;
    bool is_forgetful; /* knows no call that is asked for */
    bool is_announcing;
    uint64_t announce_us;
    unsigned created; /* sessions, also those that it keeps silent about */
    unsigned ended;
    char ended_reason[32];
    unsigned updated;
    unsigned asked;                       /* whether a call lives */
    struct control_update_session update; /* the last one, without its fragment */

    char answer[16384]; /* of the last request */
} world;

static inline struct key_ring *world_ring(uint8_t key_id)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    struct key_ring *ring = key_ring_from_secret(key_id, secret);
    assert_non_null(ring);
    return ring;
}

static inline void world_open_transceiver(void)
{
    struct fault fault = {0};
    char announce_url[64];
    (void)snprintf(announce_url, sizeof(announce_url), "tcp://127.0.0.1:%u",
                   world.config.control_listen.port);
    world.said = (struct control_announcement){.cluster_id = 1,
                                               .instance_id = WORLD_INSTANCE,
                                               .name = "kit",
                                               .capacity = 10,
                                               .shard_count = 1,
                                               .state = CONTROL_STATE_READY,
                                               .backend_up = true,
                                               .start_time_unix_us = 1};
    assert_true(net_addr_parse("127.0.0.1:4000", &world.said.media_address));
    (void)snprintf(world.said.control_url, sizeof(world.said.control_url), "tcp://127.0.0.1:%u",
                   free_port(SOCK_STREAM));
    world.decoder = control_decoder_create();
    world.pub = message_port_open(MESSAGE_PORT_PUB, &fault);
    world.rep = message_port_open(MESSAGE_PORT_REP, &fault);
    assert_non_null(world.decoder);
    assert_true(message_port_dial(world.pub, announce_url, &fault));
}

static inline int world_open(void **state)
{
    (void)state;
    char text[512];
    struct fault fault = {0};
    memset(&world, 0, sizeof(world));
    (void)snprintf(
        text, sizeof(text),
        "keys: unused\nauth: off\nlimits: {offers_per_s_per_tenant: 0, "
        "offers_per_s_per_address: 0}\ningress:\n  - {name: a, udp: \"203.0.113.10:3478\"}\n"
        "control_listen: 127.0.0.1:%u\n"
        "http:\n  listen: 127.0.0.1:%u\n  connections_max: 32\n  request_timeout: 60s\n",
        free_port(SOCK_STREAM), free_port(SOCK_STREAM));
    assert_true(signaling_config_parse(bytes_view_of_text(text), "world", &world.config, &fault));
    world.config.answer_timeout_us = WORLD_ANSWER_US;
    world.http = http_server_create(&world.config.http, &fault);
    assert_non_null(world.http);
    world.plane = control_plane_create(world.http, &world.config.control_listen, 1, &fault);
    assert_non_null(world.plane);
    world.access = access_gate_create(&world.config, &fault);
    assert_non_null(world.access);
    struct key_ring *ring = world_ring(0);
    assert_true(auth_set_ring(access_gate_auth(world.access), ring));
    key_ring_destroy(ring);
    world.calls = calls_api_create(world.http, world.plane, access_gate_calls(world.access),
                                   world_ring(0), &world.config);
    assert_non_null(world.calls);
    world.site = (struct http_site){.server = world.http,
                                    .access = world.access,
                                    .calls = world.calls,
                                    .condition = {{"ready_for_all", &world.is_ready}},
                                    .condition_count = 1};
    world_open_transceiver();
    return 0;
}

/* --- the transceiver -------------------------------------------------------------------------- */

static inline void world_announce(void)
{
    static uint8_t message[4096];
    world.said.sequence++;
    const size_t len = control_encode_announcement(
        &world.said, (struct bytes_span){.data = message, .cap = sizeof(message)});
    assert_true(len > 0);
    assert_true(message_port_send(world.pub, bytes_view_of(message, len)));
}

static inline void world_reply(const struct control_request *request)
{
    static uint8_t message[4096];
    struct control_reply reply = {.kind = request->kind, .instance_id = WORLD_INSTANCE};
    memcpy(reply.request_id, request->request_id, sizeof(reply.request_id));
    if (request->kind == CONTROL_CREATE_SESSION) {
        reply.refusal = world.refusal;
        reply.message = bytes_view_of_text("as told");
        reply.answer_sdp = bytes_view_of_text(WORLD_ANSWER);
        world.created += world.refusal == CONTROL_REFUSAL_NONE;
    } else if (request->kind == CONTROL_UPDATE_SESSION) {
        world.update = request->body.update_session;
        world.update.sdpfrag = (struct bytes_view){0}; /* it ends with the request */
        reply.refusal = world.refusal;
        reply.message = bytes_view_of_text("as told");
        reply.ice_generation = 1;
        reply.sdpfrag = bytes_view_of_text(world.update.restarts_ice ? WORLD_FRAGMENT : "");
        world.updated++;
    } else if (request->kind == CONTROL_GET_SESSION) {
        reply.refusal = world.is_forgetful ? CONTROL_NOT_FOUND : CONTROL_REFUSAL_NONE;
        reply.row.state = CONTROL_SESSION_CONNECTED;
        world.asked++;
    } else {
        const struct bytes_view reason = request->body.end_session.reason;
        (void)snprintf(world.ended_reason, sizeof(world.ended_reason), "%.*s", (int)reason.len,
                       (const char *)reason.data);
        reply.refusal = world.ended < world.created ? CONTROL_REFUSAL_NONE : CONTROL_NOT_FOUND;
        world.ended++;
    }
    const size_t len =
        control_encode_reply(&reply, (struct bytes_span){.data = message, .cap = sizeof(message)});
    if (!world.is_silent || request->kind == CONTROL_END_SESSION) {
        assert_true(message_port_send(world.rep, bytes_view_of(message, len)));
    }
}

static inline void world_turn_transceiver(uint64_t now_us)
{
    struct bytes_view message;
    struct control_request request;
    if (world.is_announcing && now_us >= world.announce_us) {
        world.announce_us = now_us + 20 * US_PER_MS;
        world_announce();
    }
    while (message_port_receive(world.rep, &message)) {
        assert_true(control_decode_request(world.decoder, message, &request));
        world_reply(&request);
    }
}

/* --- signaling -------------------------------------------------------------------------------- */

static inline void world_turn(void)
{
    http_server_wait(world.http, clock_now_us() + 2 * US_PER_MS);
    const uint64_t now_us = clock_now_us();
    struct http_event event;
    while (http_server_take(world.http, &event)) {
        switch (event.kind) {
        case HTTP_EVENT_REQUEST:
            http_site_request(&world.site, event.exchange, event.request, now_us);
            break;
        case HTTP_EVENT_END:
            calls_api_end(world.calls, event.exchange, event.is_delivered, now_us);
            break;
        case HTTP_EVENT_READABLE:
            control_plane_readable(world.plane, event.tag, now_us);
            break;
        case HTTP_EVENT_SOCKET_OPEN:
        case HTTP_EVENT_SOCKET_MESSAGE:
        case HTTP_EVENT_SOCKET_END:
            break;
        }
    }
    struct session_outcome outcome;
    while (control_plane_next(world.plane, &outcome, now_us)) {
        calls_api_outcome(world.calls, &outcome, now_us);
    }
    world_turn_transceiver(now_us);
}

#define WORLD_UNTIL(condition)                                                                     \
    do {                                                                                           \
        const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;                            \
        while (!(condition)) {                                                                     \
            assert_true(clock_now_us() < give_up_us);                                              \
            world_turn();                                                                          \
        }                                                                                          \
    } while (0)

static inline int world_close(void **state)
{
    (void)state;
    WORLD_UNTIL(control_plane_next_timeout(world.plane) == TIME_NEVER);
    calls_api_destroy(world.calls);
    access_gate_destroy(world.access);
    control_plane_destroy(world.plane);
    http_server_destroy(world.http);
    message_port_close(world.pub);
    message_port_close(world.rep);
    control_decoder_destroy(world.decoder);
    return 0;
}

/* The transceiver is heard, and goes on announcing itself. */
static inline void world_start_transceiver(void)
{
    struct fault fault = {0};
    assert_true(message_port_listen(world.rep, world.said.control_url, &fault));
    world.is_announcing = true;
    WORLD_UNTIL(fleet_slot_end(control_plane_fleet(world.plane)) == 1);
}

/* Nothing that was heard of it is forgotten before that, and nothing more is said. */
static inline void world_live_until(uint64_t until_us)
{
    size_t slot = 0;
    world.is_announcing = false;
    world.said.sequence++;
    assert_int_equal(fleet_hear(control_plane_fleet(world.plane), &world.said, &slot, until_us),
                     FLEET_UPDATED);
}

/* From the next request on the transceiver says nothing; it is given up before long. */
static inline void world_be_silent(void)
{
    world.is_silent = true;
    world.config.answer_timeout_us = WORLD_SILENCE_US;
}

/* --- clients ---------------------------------------------------------------------------------- */

static inline int world_send(const char *text)
{
    struct sockaddr_storage address;
    const socklen_t len = net_addr_to_sockaddr(&world.config.http.listen, &address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    return fd;
}

/* Sends one request with these lines behind its first, and gives the whole answer. */
static inline const char *world_ask(const char *first_line, const char *lines, const char *body)
{
    char text[8192];
    (void)snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n%s",
                   first_line, lines, body);
    const int fd = world_send(text);
    size_t len = 0;
    ssize_t got = -1;
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    while (got != 0) {
        assert_true(clock_now_us() < give_up_us);
        world_turn();
        got = recv(fd, world.answer + len, sizeof(world.answer) - 1 - len, MSG_DONTWAIT);
        assert_true(got >= 0 || errno == EAGAIN);
        len += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    world.answer[len] = '\0';
    return world.answer;
}

static inline const char *world_offer(const char *sdp)
{
    char lines[128];
    (void)snprintf(lines, sizeof(lines), "Content-Type: application/sdp\r\nContent-Length: %zu\r\n",
                   strlen(sdp));
    return world_ask("POST /v1/realtime/calls", lines, sdp);
}

static inline bool world_answer_is(unsigned status, const char *text)
{
    char start[32];
    (void)snprintf(start, sizeof(start), "HTTP/1.1 %u ", status);
    const bool is_good =
        strncmp(world.answer, start, strlen(start)) == 0 && strstr(world.answer, text) != NULL;
    if (!is_good) {
        print_error("wanted %u with %s, got: %s\n", status, text, world.answer);
    }
    return is_good;
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

#endif
