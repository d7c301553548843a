/* packet_batch.c - see packet_batch.h */
#include "services/relay/packet_batch.h"

#include "common/base/time_us.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* Room for SO_RXQ_OVFL and SO_TIMESTAMPNS. Only the first slot has it: both are wanted once a
 * batch, and the others are spared the copying. */
struct first_control {
    _Alignas(struct cmsghdr)
        uint8_t bytes[CMSG_SPACE(sizeof(uint32_t)) + CMSG_SPACE(sizeof(struct timespec))];
};

struct receive_slots {
    uint8_t bytes[PACKET_BATCH][PACKET_HEADROOM + PACKET_BYTES];
    struct mmsghdr header[PACKET_BATCH];
    struct iovec vector[PACKET_BATCH];
    struct sockaddr_storage from[PACKET_BATCH];
    struct first_control control;
};

bool receive_batch_init(struct receive_batch *b)
{
    *b = (struct receive_batch){0};
    b->slots = calloc(1, sizeof(*b->slots));
    if (b->slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < PACKET_BATCH; i++) {
        struct receive_slots *s = b->slots;
        s->vector[i] = (struct iovec){s->bytes[i] + PACKET_HEADROOM, PACKET_BYTES};
        s->header[i].msg_hdr =
            (struct msghdr){.msg_name = &s->from[i], .msg_iov = &s->vector[i], .msg_iovlen = 1};
    }
    return true;
}

void receive_batch_free(struct receive_batch *b)
{
    free(b->slots);
    b->slots = NULL;
}

static void read_control(struct receive_batch *b, struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (c->cmsg_type == SO_RXQ_OVFL) {
            memcpy(&b->dropped_total, CMSG_DATA(c), sizeof(b->dropped_total));
        } else if (c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof(at));
            b->first_unix_us = (uint64_t)at.tv_sec * US_PER_S + (uint64_t)at.tv_nsec / 1000;
        }
    }
}

size_t receive_batch_take(struct receive_batch *b, int fd)
{
    struct receive_slots *s = b->slots;
    for (size_t i = 0; i < PACKET_BATCH; i++) {
        s->header[i].msg_hdr.msg_namelen = sizeof(s->from[i]);
    }
    s->header[0].msg_hdr.msg_control = &s->control;
    s->header[0].msg_hdr.msg_controllen = sizeof(s->control);
    const int count = recvmmsg(fd, s->header, PACKET_BATCH, MSG_DONTWAIT, NULL);
    b->count = 0;
    b->dropped_total = 0;
    b->first_unix_us = 0;
    if (count <= 0) {
        return 0;
    }
    read_control(b, &s->header[0].msg_hdr);
    for (int i = 0; i < count; i++) {
        struct received_packet *packet = &b->packet[b->count];
        packet->data = s->vector[i].iov_base;
        packet->len = s->header[i].msg_len;
        b->count += net_addr_from_sockaddr(&s->from[i], &packet->from);
    }
    return b->count;
}

void send_batch_add(struct send_batch *b, struct bytes_view bytes, const struct net_addr *to,
                    unsigned tag)
{
    assert(b->count < PACKET_BATCH);
    b->packet[b->count++] = (struct sending_packet){.bytes = bytes, .to = *to, .tag = tag};
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

void send_batch_flush(struct send_batch *b, int fd)
{
    struct mmsghdr header[PACKET_BATCH];
    struct iovec vector[PACKET_BATCH];
    struct sockaddr_storage to[PACKET_BATCH];
    for (size_t i = 0; i < b->count; i++) {
        const struct sending_packet *packet = &b->packet[i];
        /* sendmmsg takes a writable pointer and does not write. */
        vector[i] = (struct iovec){(void *)(uintptr_t)packet->bytes.data, packet->bytes.len};
        header[i] =
            (struct mmsghdr){.msg_hdr = {.msg_name = &to[i],
                                         .msg_namelen = net_addr_to_sockaddr(&packet->to, &to[i]),
                                         .msg_iov = &vector[i],
                                         .msg_iovlen = 1}};
    }
    for (size_t next = 0; next < b->count; next++) {
        const size_t sent = send_some(fd, header + next, b->count - next);
        for (size_t i = 0; i < sent; i++) {
            b->packet[next + i].is_sent = true;
        }
        next += sent; /* and over the one that was refused, if any is left */
    }
}
