/* socket_world.h - a WebSocket client in bytes, for http_world.h */
#ifndef EARSHOT_TESTS_SOCKET_WORLD_H
#define EARSHOT_TESTS_SOCKET_WORLD_H

#include "tests/unit/http_world.h"

#include "services/signaling/http_upgrade.h"

#include <stdlib.h>

#define SOCKET_MESSAGE_BYTES_MAX 3000
#define SOCKET_HEAD                                                                                \
    "GET /socket?a=b HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"                   \
    "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"                                          \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
/* RFC 6455 s.1.3: the answer to that key. */
#define SOCKET_ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

enum { FIN = 0x80, CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

struct frame {
    unsigned first;
    size_t len;
    uint8_t *data; /* into world_frame.bytes */
};

static struct {
    uint8_t bytes[400 * 1024];
    size_t len;
    size_t taken;
} inbox;

static inline void socket_judge(void *context, const struct http_upgrade *upgrade,
                                struct http_judgement *out)
{
    assert_ptr_equal(context, &world);
    assert_true(bytes_equal(upgrade->path, bytes_view_of_text("/socket")));
    assert_true(bytes_equal(upgrade->query, bytes_view_of_text("a=b")));
    if (upgrade->authorization.len > 0) {
        out->refusal = http_response_error(401, "invalid_api_key", upgrade->authorization);
        return;
    }
    out->is_accepted = true;
    out->tag = 77;
    out->message_bytes_max = SOCKET_MESSAGE_BYTES_MAX;
    if (upgrade->subprotocols.len > 0) {
        out->subprotocol = HTTP_SOCKET_REALTIME;
    }
}

static inline int socket_open_world(void **state)
{
    (void)world_open(state);
    http_server_destroy(world.http);
    struct http_server_config config = world.config;
    config.judge = socket_judge;
    config.judge_context = &world;
    world_open_with(&config);
    memset(&inbox, 0, sizeof(inbox));
    return 0;
}

/* --- the client ------------------------------------------------------------------------------- */

static inline int socket_connect_with(const char *fields)
{
    const int fd = world_connect(SOCKET_HEAD);
    world_send(fd, fields);
    world_send(fd, "\r\n");
    (void)world_read(fd, "\r\n\r\n");
    assert_true(world_answer_has(101, SOCKET_ACCEPT));
    WORLD_UNTIL(world.opened > 0);
    inbox.len = 0;
    inbox.taken = 0;
    return fd;
}

static inline int socket_connect(void)
{
    return socket_connect_with("");
}

/* RFC 6455 s.5.2; the mask of a client is its own choice. */
static inline void socket_send(int fd, unsigned first, const void *data, size_t len)
{
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    uint8_t *frame = malloc(len + 14);
    size_t at = 0;
    assert_non_null(frame);
    frame[at++] = (uint8_t)first;
    if (len < 126) {
        frame[at++] = (uint8_t)(0x80 | len);
    } else if (len < 65536) {
        frame[at++] = 0x80 | 126;
        frame[at++] = (uint8_t)(len >> 8);
        frame[at++] = (uint8_t)len;
    } else {
        frame[at++] = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8) {
            frame[at++] = (uint8_t)((uint64_t)len >> shift);
        }
    }
    memcpy(frame + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < len; i++) {
        frame[at + i] = ((const uint8_t *)data)[i] ^ mask[i % 4];
    }
    size_t sent = 0;
    while (sent < at + len) {
        const ssize_t n = send(fd, frame + sent, at + len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        if (n < 0 && errno != EAGAIN) {
            break; /* the server has closed meanwhile */
        }
        world_turn();
    }
    free(frame);
}

static inline void socket_send_text(int fd, const char *text)
{
    socket_send(fd, FIN | TEXT, text, strlen(text));
}

static inline bool inbox_frame(struct frame *out)
{
    const uint8_t *p = inbox.bytes + inbox.taken;
    const size_t len = inbox.len - inbox.taken;
    size_t head = 2;
    if (len < 2) {
        return false;
    }
    out->len = p[1];
    if (p[1] == 126 && len >= 4) {
        out->len = (size_t)p[2] << 8 | p[3];
        head = 4;
    } else if (p[1] == 127 && len >= 10) {
        out->len = (size_t)p[6] << 24 | (size_t)p[7] << 16 | (size_t)p[8] << 8 | p[9];
        head = 10;
    } else if (p[1] >= 126) {
        return false;
    }
    if (len < head + out->len) {
        return false;
    }
    out->first = p[0];
    out->data = inbox.bytes + inbox.taken + head;
    inbox.taken += head + out->len;
    return true;
}

/* The next frame; first is 0 at the end of the connection. */
static inline struct frame socket_read(int fd)
{
    struct frame frame = {0};
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    ssize_t got = -1;
    if (inbox.taken == inbox.len) {
        inbox.taken = 0;
        inbox.len = 0;
    }
    while (!inbox_frame(&frame) && got != 0) {
        assert_true(clock_now_us() < give_up_us);
        world_turn();
        got = recv(fd, inbox.bytes + inbox.len, sizeof(inbox.bytes) - inbox.len, MSG_DONTWAIT);
        assert_true(got >= 0 || errno == EAGAIN);
        inbox.len += got > 0 ? (size_t)got : 0;
    }
    return frame;
}

static inline void socket_expect(int fd, unsigned first, const char *text)
{
    const struct frame frame = socket_read(fd);
    assert_int_equal(frame.first, first);
    assert_int_equal(frame.len, strlen(text));
    assert_memory_equal(frame.data, text, frame.len);
}

/* The server closes with this code, and after our answer the connection ends. */
static inline void socket_expect_close(int fd, unsigned code)
{
    struct frame frame = socket_read(fd);
    while (frame.first == (FIN | PING)) {
        frame = socket_read(fd);
    }
    assert_int_equal(frame.first, FIN | CLOSE);
    assert_true(frame.len >= 2);
    assert_int_equal(frame.data[0] << 8 | frame.data[1], code);
    socket_send(fd, FIN | CLOSE, frame.data, 2);
    assert_int_equal(socket_read(fd).first, 0);
    WORLD_UNTIL(world.closed == 1);
    (void)close(fd);
}

#define SOCKET_TEST(name) cmocka_unit_test_setup_teardown(name, socket_open_world, world_close)

#endif
