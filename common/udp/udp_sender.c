/* udp_sender.c - see udp_sender.h */
#include "common/udp/udp_sender.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Messages of one system call. */
#define BATCH 64

struct udp_sender {
    int fd;
    struct udp_sender_counters counters;
    struct mmsghdr header[BATCH];
    struct iovec vector[BATCH];
    struct sockaddr_storage to[BATCH];
};

struct udp_sender *udp_sender_create(int fd, bool want_trains)
{
    (void)want_trains;
    struct udp_sender *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->fd = fd;
    return s;
}

void udp_sender_destroy(struct udp_sender *s)
{
    free(s);
}

const struct udp_sender_counters *udp_sender_counters(const struct udp_sender *s)
{
    return &s->counters;
}

/* How many of these the kernel took; it stops at the first that it refuses. */
static size_t send_some(int fd, struct mmsghdr *header, size_t count)
{
    int sent = 0;
    do {
        sent = sendmmsg(fd, header, (unsigned)count, MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent > 0 ? (size_t)sent : 0;
}

static void send_singly(struct udp_sender *s, struct udp_packet *packet, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* sendmmsg takes a writable pointer and does not write. */
        s->vector[i] = (struct iovec){(void *)(uintptr_t)packet[i].bytes.data, packet[i].bytes.len};
        s->header[i] = (struct mmsghdr){
            .msg_hdr = {.msg_name = &s->to[i],
                        .msg_namelen = net_addr_to_sockaddr(&packet[i].to, &s->to[i]),
                        .msg_iov = &s->vector[i],
                        .msg_iovlen = 1}};
        packet[i].is_sent = false;
    }
    for (size_t next = 0; next < count; next++) {
        const size_t sent = send_some(s->fd, s->header + next, count - next);
        for (size_t i = 0; i < sent; i++) {
            packet[next + i].is_sent = true;
        }
        metric_add(&s->counters.singles, sent);
        next += sent; /* and over the one that was refused, if any is left */
        metric_add(&s->counters.refused, next < count);
    }
}

void udp_sender_flush(struct udp_sender *s, struct udp_packet *packet, size_t count)
{
    while (count > 0) {
        const size_t batch = count < BATCH ? count : BATCH;
        send_singly(s, packet, batch);
        packet += batch;
        count -= batch;
    }
}
