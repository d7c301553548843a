/*
 * far_end.h - a backend on a loopback socket, that says and hears what a test wants
 *
 * Every wait has an end: a frame that does not come fails the test.
 */
#ifndef EARSHOT_FAR_END_H
#define EARSHOT_FAR_END_H

#include "tests/testing.h"

#include "common/backend_link/backend_frame.h"
#include "common/base/net_addr.h"
#include "tests/free_port.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAR_END_PATIENCE_MS 60000

struct far_end {
    int listener;
    int link;                                   /* -1: nobody has connected */
    uint8_t header[BACKEND_FRAME_HEADER_BYTES]; /* of the frame that was heard last */
    uint8_t payload[4096];
};

static inline struct net_addr far_end_address_of(int socket_fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    struct net_addr address;
    assert_int_equal(getsockname(socket_fd, (struct sockaddr *)&bound, &len), 0);
    assert_true(net_addr_from_sockaddr(&bound, &address));
    return address;
}

/* type: SOCK_STREAM or SOCK_DGRAM. A free port of 127.0.0.1. */
static inline int far_end_bind(int type)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET};
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
    return fd;
}

/* An address where nobody is, at this moment. */
static inline struct net_addr far_end_free_address(int type)
{
    struct net_addr address;
    assert_true(net_addr_parse("127.0.0.1:0", &address));
    address.port = free_port(type);
    return address;
}

static inline void far_end_listen(struct far_end *f)
{
    *f = (struct far_end){.listener = far_end_bind(SOCK_STREAM), .link = -1};
    assert_int_equal(listen(f->listener, 8), 0);
}

static inline void far_end_accept(struct far_end *f)
{
    struct pollfd fd = {.fd = f->listener, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, FAR_END_PATIENCE_MS), 1);
    f->link = accept(f->listener, NULL, NULL);
    assert_true(f->link >= 0);
}

static inline void far_end_hang_up(struct far_end *f)
{
    if (f->link >= 0) {
        (void)close(f->link);
    }
    f->link = -1;
}

static inline void far_end_close(struct far_end *f)
{
    far_end_hang_up(f);
    (void)close(f->listener);
}

static inline void far_end_say(const struct far_end *f, unsigned type, uint32_t session,
                               uint32_t sequence, const char *payload)
{
    uint8_t bytes[BACKEND_FRAME_HEADER_BYTES + 512];
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = session,
                                        .sequence = sequence,
                                        .payload = bytes_view_of_text(payload)};
    backend_frame_encode_header(&frame, bytes);
    memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, payload, frame.payload.len);
    const size_t len = BACKEND_FRAME_HEADER_BYTES + frame.payload.len;
    assert_int_equal(send(f->link, bytes, len, MSG_NOSIGNAL), len);
}

/* The type of the next frame, 0 when the link was closed. Its payload ends with a NUL. */
static inline unsigned far_end_hear(struct far_end *f)
{
    struct pollfd fd = {.fd = f->link, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, FAR_END_PATIENCE_MS), 1);
    if (recv(f->link, f->header, sizeof(f->header), MSG_WAITALL) != sizeof(f->header)) {
        return 0;
    }
    const size_t len = (size_t)(f->header[0] | f->header[1] << 8) - BACKEND_FRAME_LENGTH_MIN;
    assert_in_range(len, 0, sizeof(f->payload) - 1);
    assert_true(len == 0 || recv(f->link, f->payload, len, MSG_WAITALL) == (ssize_t)len);
    f->payload[len] = '\0';
    return f->header[5];
}

#endif
