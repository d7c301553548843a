/* stamped_socket.c - see stamped_socket.h */
#include "tests/bench/stamped_socket.h"

#include "common/base/time_us.h"
#include "common/runtime/clock.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

int stamped_socket_open(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const struct sockaddr_in any = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    const int buffer = 8 << 20;
    const bool is_good = fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0 &&
                         setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0 &&
                         setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) == 0;
    assert(is_good);
    return fd;
}

struct net_addr stamped_socket_address(int fd)
{
    struct sockaddr_storage raw;
    socklen_t len = sizeof(raw);
    struct net_addr a;
    const bool is_good =
        getsockname(fd, (struct sockaddr *)&raw, &len) == 0 && net_addr_from_sockaddr(&raw, &a);
    assert(is_good);
    return a;
}

static uint64_t stamp_of(struct msghdr *m, uint64_t unix_offset_us)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof(t));
            return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000 - unix_offset_us;
        }
    }
    return clock_now_us();
}

size_t stamped_socket_take(int fd, uint8_t *out, size_t cap, uint64_t unix_offset_us,
                           uint64_t *at_us)
{
    uint8_t control[128];
    struct iovec vector = {out, cap};
    struct msghdr m = {.msg_iov = &vector,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    const ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT);
    if (got <= 0) {
        return 0;
    }
    *at_us = stamp_of(&m, unix_offset_us);
    return (size_t)got;
}
