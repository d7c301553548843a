/* load_socket.c - see load_socket.h */
#include "tests/bench/load_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <unistd.h>

struct control {
    _Alignas(struct cmsghdr) uint8_t bytes[LOAD_CONTROL_BYTES];
};

struct load_socket {
    int fd;
    bool accepts_trains;
    struct load_datagram datagram[LOAD_BATCH];
    struct mmsghdr header[LOAD_BATCH];
    struct iovec vector[LOAD_BATCH];
    struct sockaddr_in peer[LOAD_BATCH];
    struct control control[LOAD_BATCH];
    union {
        uint8_t slot[LOAD_BATCH][LOAD_SLOT_BYTES];
        uint8_t train[LOAD_TRAINS][LOAD_TRAIN_BYTES];
    } room;
};

static void set_option(int fd, int level, int option, int value)
{
    const int result = setsockopt(fd, level, option, &value, sizeof(value));
    assert(result == 0);
}

static void ask_for_buffer(int fd, int forced_option, int option, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, forced_option, &bytes, sizeof(bytes)) != 0) {
        set_option(fd, SOL_SOCKET, option, bytes);
    }
}

struct load_socket *load_socket_open(uint32_t ip, uint16_t port, int buffer_bytes)
{
    struct load_socket *s = calloc(1, sizeof(*s));
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ip};
    assert(s != NULL);
    s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert(s->fd >= 0);
    ask_for_buffer(s->fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
    ask_for_buffer(s->fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
    if (ip == htonl(INADDR_ANY)) {
        set_option(s->fd, IPPROTO_IP, IP_PKTINFO, 1);
    }
    const int result = bind(s->fd, (const struct sockaddr *)&address, sizeof(address));
    assert(result == 0);
    return s;
}

void load_socket_close(struct load_socket *s)
{
    if (s != NULL) {
        (void)close(s->fd);
        free(s);
    }
}

int load_socket_fd(const struct load_socket *s)
{
    return s->fd;
}

void load_socket_accept_trains(struct load_socket *s, bool accepts)
{
    set_option(s->fd, SOL_UDP, UDP_GRO, accepts);
    s->accepts_trains = accepts;
}

static void read_control(struct msghdr *header, struct load_datagram *datagram)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            datagram->local_ip = info.ipi_addr.s_addr;
        } else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int segment_bytes = 0;
            memcpy(&segment_bytes, CMSG_DATA(c), sizeof(segment_bytes));
            datagram->segment_bytes = (size_t)segment_bytes;
        }
    }
}

size_t load_socket_take(struct load_socket *s, struct load_datagram **out)
{
    const size_t cap = s->accepts_trains ? LOAD_TRAINS : LOAD_BATCH;
    for (size_t i = 0; i < cap; i++) {
        s->vector[i] = s->accepts_trains ? (struct iovec){s->room.train[i], LOAD_TRAIN_BYTES}
                                         : (struct iovec){s->room.slot[i], LOAD_SLOT_BYTES};
        s->header[i].msg_hdr = (struct msghdr){.msg_name = &s->peer[i],
                                               .msg_namelen = sizeof(s->peer[i]),
                                               .msg_iov = &s->vector[i],
                                               .msg_iovlen = 1,
                                               .msg_control = &s->control[i],
                                               .msg_controllen = sizeof(s->control[i])};
    }
    const int got = recvmmsg(s->fd, s->header, (unsigned)cap, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++) {
        const size_t len = s->header[i].msg_len;
        s->datagram[i] = (struct load_datagram){
            .data = s->vector[i].iov_base, .len = len, .segment_bytes = len, .peer = s->peer[i]};
        read_control(&s->header[i].msg_hdr, &s->datagram[i]);
    }
    *out = s->datagram;
    return got > 0 ? (size_t)got : 0;
}

static void write_control(struct msghdr *header, struct control *control, int level, int type,
                          const void *value, size_t len)
{
    header->msg_control = control;
    header->msg_controllen = CMSG_SPACE(len);
    struct cmsghdr *c = CMSG_FIRSTHDR(header);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), value, len);
}

size_t load_socket_send(struct load_socket *s, const struct load_datagram *datagram, size_t count)
{
    assert(count <= LOAD_BATCH);
    for (size_t i = 0; i < count; i++) {
        const struct load_datagram *d = &datagram[i];
        struct msghdr *header = &s->header[i].msg_hdr;
        s->vector[i] = (struct iovec){d->data, d->len};
        s->peer[i] = d->peer;
        *header = (struct msghdr){.msg_name = &s->peer[i],
                                  .msg_namelen = sizeof(s->peer[i]),
                                  .msg_iov = &s->vector[i],
                                  .msg_iovlen = 1};
        if (d->segment_bytes < d->len) {
            const uint16_t segment_bytes = (uint16_t)d->segment_bytes;
            write_control(header, &s->control[i], SOL_UDP, UDP_SEGMENT, &segment_bytes,
                          sizeof(segment_bytes));
        } else if (d->local_ip != 0) {
            const struct in_pktinfo source = {.ipi_spec_dst.s_addr = d->local_ip};
            write_control(header, &s->control[i], IPPROTO_IP, IP_PKTINFO, &source, sizeof(source));
        }
    }
    const int sent = sendmmsg(s->fd, s->header, (unsigned)count, MSG_DONTWAIT);
    assert(sent >= 0 || errno == EAGAIN || errno == ENOBUFS);
    return sent > 0 ? (size_t)sent : 0;
}
